/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "nl/ovs-genl.h"

#include <errno.h>
#include <linux/genetlink.h>
#include <stdlib.h>
#include <string.h>

#include "openvswitch/vlog.h"
#include "odp-netlink.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(ovs_genl);

/* Requests without a list of ids or options: headers and a few attributes. */
#define OVS_REQUEST_SIZE 512

/* Room beside the variable part of a larger request. */
#define OVS_REQUEST_FIXED 256

int
ovs_genl_open(struct ovs_genl *genl)
{
    int error;

    memset(genl, 0, sizeof *genl);
    error = nl_conn_open(NETLINK_GENERIC, &genl->conn);
    if (error) {
        return error;
    }
    error = genl_family_lookup(genl->conn, OVS_DATAPATH_FAMILY,
                               OVS_DATAPATH_MCGROUP, &genl->datapath);
    if (!error) {
        error = genl_family_lookup(genl->conn, OVS_VPORT_FAMILY,
                                   OVS_VPORT_MCGROUP, &genl->vport);
    }
    if (!error) {
        error = genl_family_lookup(genl->conn, OVS_PACKET_FAMILY, NULL,
                                   &genl->packet);
    }
    if (!error) {
        error = genl_family_lookup(genl->conn, OVS_FLOW_FAMILY, NULL,
                                   &genl->flow);
    }
    if (error) {
        ovs_genl_close(genl);
    }
    return error;
}

void
ovs_genl_close(struct ovs_genl *genl)
{
    nl_conn_close(genl->conn);
    genl->conn = NULL;
}

static struct nlmsghdr *
ovs_msg_init(void *buf, const struct genl_family *family, uint8_t cmd,
             uint8_t version, uint16_t flags, int dp_ifindex)
{
    struct nlmsghdr *nlh = genl_msg_init(buf, family->id, cmd, version, flags);
    struct ovs_header *ovs = mnl_nlmsg_put_extra_header(nlh, sizeof *ovs);

    ovs->dp_ifindex = dp_ifindex;
    return nlh;
}

/* Checks the headers of 'nlh' and parses its attributes. */
static int
ovs_msg_parse(const struct nlmsghdr *nlh, const struct nl_attr_policy policy[],
              const struct nlattr *attrs[], size_t n, uint8_t *cmd,
              int *dp_ifindex)
{
    const size_t headers = (MNL_ALIGN(sizeof(struct genlmsghdr))
                            + MNL_ALIGN(sizeof(struct ovs_header)));

    if (mnl_nlmsg_get_payload_len(nlh) < headers) {
        return EINVAL;
    }

    const struct genlmsghdr *genl = mnl_nlmsg_get_payload(nlh);
    const struct ovs_header *ovs
        = mnl_nlmsg_get_payload_offset(nlh, sizeof *genl);
    *cmd = genl->cmd;
    *dp_ifindex = ovs->dp_ifindex;
    return nl_attrs_parse(mnl_nlmsg_get_payload_offset(nlh, headers),
                          mnl_nlmsg_get_payload_len(nlh) - headers,
                          policy, attrs, n);
}

int
ovs_datapath_parse(const struct nlmsghdr *nlh, struct ovs_datapath *dp)
{
    static const struct nl_attr_policy policy[] = {
        [OVS_DP_ATTR_NAME] = { .type = MNL_TYPE_NUL_STRING,
                               .required = true },
        [OVS_DP_ATTR_USER_FEATURES] = { .type = MNL_TYPE_U32 },
    };
    const struct nlattr *attrs[ARRAY_SIZE(policy)];
    uint8_t cmd;
    int error;

    memset(dp, 0, sizeof *dp);
    error = ovs_msg_parse(nlh, policy, attrs, ARRAY_SIZE(policy), &cmd,
                          &dp->ifindex);
    if (!error) {
        ovs_strlcpy(dp->name, mnl_attr_get_str(attrs[OVS_DP_ATTR_NAME]),
                    sizeof dp->name);
        if (attrs[OVS_DP_ATTR_USER_FEATURES]) {
            dp->user_features
                = mnl_attr_get_u32(attrs[OVS_DP_ATTR_USER_FEATURES]);
        }
    }
    return error;
}

static int
ovs_datapath_reply(const struct nlmsghdr *nlh, void *dp)
{
    return ovs_datapath_parse(nlh, dp);
}

/* Sends the request 'nlh' about a datapath, and stores the answer in '*dp'. */
static int
ovs_datapath_transact(struct ovs_genl *genl, struct nlmsghdr *nlh,
                      struct ovs_datapath *dp)
{
    int error;

    memset(dp, 0, sizeof *dp);
    error = nl_conn_transact(genl->conn, nlh, ovs_datapath_reply, dp);

    /* An acknowledgement without an answer is an error. */
    return !error && !dp->ifindex ? EPROTO : error;
}

int
ovs_datapath_get(struct ovs_genl *genl, const char *name,
                 struct ovs_datapath *dp)
{
    char buf[OVS_REQUEST_SIZE] __attribute__((aligned(NLMSG_ALIGNTO)));
    struct nlmsghdr *nlh = ovs_msg_init(buf, &genl->datapath, OVS_DP_CMD_GET,
                                        OVS_DATAPATH_VERSION, NLM_F_ACK, 0);

    mnl_attr_put_strz(nlh, OVS_DP_ATTR_NAME, name);
    return ovs_datapath_transact(genl, nlh, dp);
}

int
ovs_datapath_set_features(struct ovs_genl *genl, int ifindex,
                          uint32_t user_features, const uint32_t pids[],
                          size_t n_pids, struct ovs_datapath *dp)
{
    void *buf = xmalloc(OVS_REQUEST_FIXED + n_pids * sizeof *pids);
    struct nlmsghdr *nlh = ovs_msg_init(buf, &genl->datapath, OVS_DP_CMD_SET,
                                        OVS_DATAPATH_VERSION, NLM_F_ECHO,
                                        ifindex);

    mnl_attr_put_u32(nlh, OVS_DP_ATTR_USER_FEATURES, user_features);
    if (n_pids) {
        mnl_attr_put(nlh, OVS_DP_ATTR_PER_CPU_PIDS, n_pids * sizeof *pids,
                     pids);
    }
    int error = (dp ? ovs_datapath_transact(genl, nlh, dp)
                 : nl_conn_transact(genl->conn, nlh, NULL, NULL));
    free(buf);
    return error;
}

int
ovs_flow_flush(struct ovs_genl *genl, int ifindex)
{
    char buf[OVS_REQUEST_SIZE] __attribute__((aligned(NLMSG_ALIGNTO)));
    struct nlmsghdr *nlh = ovs_msg_init(buf, &genl->flow, OVS_FLOW_CMD_DEL,
                                        OVS_FLOW_VERSION, NLM_F_ACK, ifindex);

    return nl_conn_transact(genl->conn, nlh, NULL, NULL);
}

int
ovs_vport_parse(const struct nlmsghdr *nlh, struct ovs_vport *vport)
{
    static const struct nl_attr_policy policy[] = {
        [OVS_VPORT_ATTR_PORT_NO] = { .type = MNL_TYPE_U32, .required = true },
        [OVS_VPORT_ATTR_TYPE] = { .type = MNL_TYPE_U32, .required = true },
        [OVS_VPORT_ATTR_NAME] = { .type = MNL_TYPE_NUL_STRING,
                                  .required = true },
        [OVS_VPORT_ATTR_UPCALL_PID] = { .type = MNL_TYPE_UNSPEC },
        [OVS_VPORT_ATTR_IFINDEX] = { .type = MNL_TYPE_U32 },
        [OVS_VPORT_ATTR_NETNSID] = { .type = MNL_TYPE_U32 },
    };
    const struct nlattr *attrs[ARRAY_SIZE(policy)];
    const struct nlattr *pids;
    int error;

    memset(vport, 0, sizeof *vport);
    error = ovs_msg_parse(nlh, policy, attrs, ARRAY_SIZE(policy), &vport->cmd,
                          &vport->dp_ifindex);
    if (error) {
        return error;
    }
    vport->port_no = mnl_attr_get_u32(attrs[OVS_VPORT_ATTR_PORT_NO]);
    vport->type = mnl_attr_get_u32(attrs[OVS_VPORT_ATTR_TYPE]);
    ovs_strlcpy(vport->name, mnl_attr_get_str(attrs[OVS_VPORT_ATTR_NAME]),
                sizeof vport->name);
    if (attrs[OVS_VPORT_ATTR_IFINDEX]) {
        vport->ifindex = mnl_attr_get_u32(attrs[OVS_VPORT_ATTR_IFINDEX]);
    }
    vport->nsid = (attrs[OVS_VPORT_ATTR_NETNSID]
                   ? MAX((int32_t) mnl_attr_get_u32(
                             attrs[OVS_VPORT_ATTR_NETNSID]), NL_NSID_NONE)
                   : OVS_VPORT_LOCAL);

    pids = attrs[OVS_VPORT_ATTR_UPCALL_PID];
    if (pids) {
        vport->n_pids = mnl_attr_get_payload_len(pids) / sizeof vport->pid;
        if (vport->n_pids) {
            memcpy(&vport->pid, mnl_attr_get_payload(pids),
                   sizeof vport->pid);
        }
    }
    return 0;
}

static int
ovs_vport_reply(const struct nlmsghdr *nlh, void *vport)
{
    return ovs_vport_parse(nlh, vport);
}

struct ovs_vport_pids {
    uint32_t *pids;
    size_t max, n;
};

static int
ovs_vport_pids_reply(const struct nlmsghdr *nlh, void *reply_)
{
    static const struct nl_attr_policy policy[] = {
        [OVS_VPORT_ATTR_UPCALL_PID] = { .type = MNL_TYPE_UNSPEC,
                                        .required = true },
    };
    const struct nlattr *attrs[ARRAY_SIZE(policy)];
    struct ovs_vport_pids *reply = reply_;
    int error, dp_ifindex;
    uint8_t cmd;

    error = ovs_msg_parse(nlh, policy, attrs, ARRAY_SIZE(policy), &cmd,
                          &dp_ifindex);
    if (!error) {
        const struct nlattr *pids = attrs[OVS_VPORT_ATTR_UPCALL_PID];
        size_t n = mnl_attr_get_payload_len(pids) / sizeof *reply->pids;

        if (n > reply->max) {
            return E2BIG;
        }
        memcpy(reply->pids, mnl_attr_get_payload(pids),
               n * sizeof *reply->pids);
        reply->n = n;
    }
    return error;
}

int
ovs_vport_new(struct ovs_genl *genl, struct ovs_vport *vport,
              const uint32_t pids[], size_t n_pids,
              const void *options, size_t options_len)
{
    void *buf = xmalloc(OVS_REQUEST_FIXED + n_pids * sizeof *pids
                        + options_len);
    struct nlmsghdr *nlh = ovs_msg_init(buf, &genl->vport, OVS_VPORT_CMD_NEW,
                                        OVS_VPORT_VERSION, NLM_F_ECHO,
                                        vport->dp_ifindex);

    if (vport->port_no != UINT32_MAX) {
        mnl_attr_put_u32(nlh, OVS_VPORT_ATTR_PORT_NO, vport->port_no);
    }
    mnl_attr_put_u32(nlh, OVS_VPORT_ATTR_TYPE, vport->type);
    mnl_attr_put_strz(nlh, OVS_VPORT_ATTR_NAME, vport->name);
    mnl_attr_put(nlh, OVS_VPORT_ATTR_UPCALL_PID, n_pids * sizeof *pids, pids);
    if (options_len) {
        mnl_attr_put(nlh, OVS_VPORT_ATTR_OPTIONS | NLA_F_NESTED, options_len,
                     options);
    }

    struct ovs_vport reply = { .port_no = UINT32_MAX };
    int error = nl_conn_transact(genl->conn, nlh, ovs_vport_reply, &reply);
    if (error) {
        VLOG_DBG("dp%d: adding vport %s failed: %s%s%s", vport->dp_ifindex,
                 vport->name, ovs_strerror(error),
                 nl_conn_ext_error(genl->conn)[0] ? ": " : "",
                 nl_conn_ext_error(genl->conn));
    } else {
        *vport = reply;
    }
    free(buf);
    return error;
}

static int
ovs_vport_get__(struct ovs_genl *genl, struct nlmsghdr *nlh,
                struct ovs_vport *vport)
{
    int error;

    vport->cmd = OVS_VPORT_CMD_UNSPEC;
    error = nl_conn_transact(genl->conn, nlh, ovs_vport_reply, vport);

    /* An acknowledgement without an answer is an error. */
    return !error && vport->cmd == OVS_VPORT_CMD_UNSPEC ? EPROTO : error;
}

int
ovs_vport_get_by_number(struct ovs_genl *genl, int dp_ifindex,
                        uint32_t port_no, struct ovs_vport *vport)
{
    char buf[OVS_REQUEST_SIZE] __attribute__((aligned(NLMSG_ALIGNTO)));
    struct nlmsghdr *nlh = ovs_msg_init(buf, &genl->vport, OVS_VPORT_CMD_GET,
                                        OVS_VPORT_VERSION, NLM_F_ACK,
                                        dp_ifindex);

    mnl_attr_put_u32(nlh, OVS_VPORT_ATTR_PORT_NO, port_no);
    return ovs_vport_get__(genl, nlh, vport);
}

int
ovs_vport_get_by_name(struct ovs_genl *genl, int dp_ifindex, const char *name,
                      struct ovs_vport *vport)
{
    char buf[OVS_REQUEST_SIZE] __attribute__((aligned(NLMSG_ALIGNTO)));
    struct nlmsghdr *nlh = ovs_msg_init(buf, &genl->vport, OVS_VPORT_CMD_GET,
                                        OVS_VPORT_VERSION, NLM_F_ACK,
                                        dp_ifindex);

    /* Stock Open vSwitch lets the kernel refuse a name that is too long. */
    if (!mnl_attr_put_strz_check(nlh, sizeof buf, OVS_VPORT_ATTR_NAME, name)) {
        return ERANGE;
    }
    return ovs_vport_get__(genl, nlh, vport);
}

int
ovs_vport_get_pids(struct ovs_genl *genl, int dp_ifindex, uint32_t port_no,
                   uint32_t pids[], size_t max, size_t *n)
{
    char buf[OVS_REQUEST_SIZE] __attribute__((aligned(NLMSG_ALIGNTO)));
    struct nlmsghdr *nlh = ovs_msg_init(buf, &genl->vport, OVS_VPORT_CMD_GET,
                                        OVS_VPORT_VERSION, NLM_F_ACK,
                                        dp_ifindex);
    struct ovs_vport_pids reply = { .pids = pids, .max = max };
    int error;

    mnl_attr_put_u32(nlh, OVS_VPORT_ATTR_PORT_NO, port_no);
    error = nl_conn_transact(genl->conn, nlh, ovs_vport_pids_reply, &reply);
    *n = error ? 0 : reply.n;
    return error;
}

int
ovs_vport_set_pids(struct ovs_genl *genl, int dp_ifindex, uint32_t port_no,
                   const uint32_t pids[], size_t n)
{
    void *buf = xmalloc(OVS_REQUEST_FIXED + n * sizeof *pids);
    struct nlmsghdr *nlh = ovs_msg_init(buf, &genl->vport, OVS_VPORT_CMD_SET,
                                        OVS_VPORT_VERSION, NLM_F_ACK,
                                        dp_ifindex);

    mnl_attr_put_u32(nlh, OVS_VPORT_ATTR_PORT_NO, port_no);
    mnl_attr_put(nlh, OVS_VPORT_ATTR_UPCALL_PID, n * sizeof *pids, pids);
    int error = nl_conn_transact(genl->conn, nlh, NULL, NULL);
    free(buf);
    return error;
}

int
ovs_vport_del(struct ovs_genl *genl, int dp_ifindex, uint32_t port_no)
{
    char buf[OVS_REQUEST_SIZE] __attribute__((aligned(NLMSG_ALIGNTO)));
    struct nlmsghdr *nlh = ovs_msg_init(buf, &genl->vport, OVS_VPORT_CMD_DEL,
                                        OVS_VPORT_VERSION, NLM_F_ACK,
                                        dp_ifindex);

    mnl_attr_put_u32(nlh, OVS_VPORT_ATTR_PORT_NO, port_no);
    return nl_conn_transact(genl->conn, nlh, NULL, NULL);
}

struct ovs_vport_dump {
    ovs_vport_func *cb;
    void *aux;
};

static int
ovs_vport_dump_reply(const struct nlmsghdr *nlh, void *dump_)
{
    static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(1, 5);
    struct ovs_vport_dump *dump = dump_;
    struct ovs_vport vport;

    if (ovs_vport_parse(nlh, &vport)) {
        VLOG_WARN_RL(&rl, "skipping malformed vport in dump");
        return 0;
    }
    return dump->cb(&vport, dump->aux);
}

int
ovs_vport_dump(struct ovs_genl *genl, int dp_ifindex, ovs_vport_func *cb,
               void *aux)
{
    char buf[OVS_REQUEST_SIZE] __attribute__((aligned(NLMSG_ALIGNTO)));
    struct nlmsghdr *nlh = ovs_msg_init(buf, &genl->vport, OVS_VPORT_CMD_GET,
                                        OVS_VPORT_VERSION, NLM_F_DUMP,
                                        dp_ifindex);
    struct ovs_vport_dump dump = { .cb = cb, .aux = aux };

    return nl_conn_transact(genl->conn, nlh, ovs_vport_dump_reply, &dump);
}
