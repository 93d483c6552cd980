/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "nl/ovs-stats.h"

#include <errno.h>
#include <linux/genetlink.h>
#include <string.h>

#include "openvswitch/vlog.h"
#include "ovs/compat-util.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(ovs_stats);

/* Headers and a name. */
#define OVS_STATS_REQUEST_SIZE 128

static const struct nl_attr_policy counters_policy[] = {
    [OVS_VPORT_ATTR_NAME] = { .type = MNL_TYPE_NUL_STRING, .min_len = 2,
                              .required = true },
    [OVS_VPORT_ATTR_STATS] = { .type = MNL_TYPE_UNSPEC,
                               .min_len = sizeof(struct ovs_vport_stats) },
    [OVS_COMPAT_VPORT_ATTR_UPCALL_STATS] = { .type = MNL_TYPE_NESTED },
};

/* Parses the counters of upcalls, 'nested', which may be NULL.  Returns 0, or
 * EINVAL if they are malformed.  Not with nl_attrs_parse(), as one of them has
 * attribute number 0, which elsewhere means "unspecified". */
static int
upcall_counters_parse(const struct nlattr *nested,
                      struct ovs_vport_counters *counters)
{
    const struct nlattr *attr;

    counters->upcall_packets = UINT64_MAX;
    counters->upcall_errors = UINT64_MAX;
    if (!nested) {
        return 0;
    }
    mnl_attr_for_each_nested (attr, nested) {
        uint64_t *counter;

        switch (mnl_attr_get_type(attr)) {
        case OVS_COMPAT_VPORT_UPCALL_ATTR_SUCCESS:
            counter = &counters->upcall_packets;
            break;
        case OVS_COMPAT_VPORT_UPCALL_ATTR_FAIL:
            counter = &counters->upcall_errors;
            break;
        default:
            continue;
        }
        if (mnl_attr_get_payload_len(attr) < sizeof *counter) {
            return EINVAL;
        }
        memcpy(counter, mnl_attr_get_payload(attr), sizeof *counter);
    }
    return 0;
}

int
ovs_vport_counters_parse(const struct nlmsghdr *nlh,
                         struct ovs_vport_counters *counters)
{
    const size_t headers = (MNL_ALIGN(sizeof(struct genlmsghdr))
                            + MNL_ALIGN(sizeof(struct ovs_header)));
    const struct nlattr *attrs[ARRAY_SIZE(counters_policy)];
    const struct ovs_header *ovs;
    const char *name;

    if (mnl_nlmsg_get_payload_len(nlh) < headers
        || nl_attrs_parse(mnl_nlmsg_get_payload_offset(nlh, headers),
                          mnl_nlmsg_get_payload_len(nlh) - headers,
                          counters_policy, attrs, ARRAY_SIZE(attrs))) {
        return EINVAL;
    }
    name = mnl_attr_get_str(attrs[OVS_VPORT_ATTR_NAME]);
    if (!name[0] || strlen(name) >= sizeof counters->name) {
        return EINVAL;
    }
    if (!attrs[OVS_VPORT_ATTR_STATS]) {
        return ENODATA;
    }

    ovs = mnl_nlmsg_get_payload_offset(nlh,
                                       MNL_ALIGN(sizeof(struct genlmsghdr)));
    memset(counters, 0, sizeof *counters);
    counters->dp_ifindex = ovs->dp_ifindex;
    ovs_strzcpy(counters->name, name, sizeof counters->name);
    memcpy(&counters->stats,
           mnl_attr_get_payload(attrs[OVS_VPORT_ATTR_STATS]),
           sizeof counters->stats);
    return upcall_counters_parse(attrs[OVS_COMPAT_VPORT_ATTR_UPCALL_STATS],
                                 counters);
}

static struct nlmsghdr *
counters_request(void *buf, struct ovs_genl *genl, uint16_t flags,
                 int dp_ifindex)
{
    struct nlmsghdr *nlh = genl_msg_init(buf, genl->vport.id,
                                         OVS_VPORT_CMD_GET, OVS_VPORT_VERSION,
                                         flags);
    struct ovs_header *ovs = mnl_nlmsg_put_extra_header(nlh, sizeof *ovs);

    ovs->dp_ifindex = dp_ifindex;
    return nlh;
}

static int
counters_get_reply(const struct nlmsghdr *nlh, void *counters)
{
    return ovs_vport_counters_parse(nlh, counters);
}

int
ovs_vport_counters_get(struct ovs_genl *genl, const char *name,
                       struct ovs_vport_counters *counters)
{
    char buf[OVS_STATS_REQUEST_SIZE]
        __attribute__((aligned(NLMSG_ALIGNTO)));
    struct nlmsghdr *nlh = counters_request(buf, genl, NLM_F_ACK, 0);

    if (strlen(name) >= sizeof counters->name) {
        return ENODEV;
    }
    mnl_attr_put_strz(nlh, OVS_VPORT_ATTR_NAME, name);
    return nl_conn_transact(genl->conn, nlh, counters_get_reply, counters);
}

struct counters_dump {
    ovs_vport_counters_func *cb;
    void *aux;
};

static int
counters_dump_reply(const struct nlmsghdr *nlh, void *dump_)
{
    static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(1, 5);
    struct counters_dump *dump = dump_;
    struct ovs_vport_counters counters;
    int error = ovs_vport_counters_parse(nlh, &counters);

    if (!error) {
        dump->cb(&counters, dump->aux);
    } else if (error != ENODATA) {
        VLOG_WARN_RL(&rl, "skipping malformed vport in dump of statistics");
    }
    return 0;
}

int
ovs_vport_counters_dump(struct ovs_genl *genl, int dp_ifindex,
                        ovs_vport_counters_func *cb, void *aux)
{
    char buf[OVS_STATS_REQUEST_SIZE]
        __attribute__((aligned(NLMSG_ALIGNTO)));
    struct nlmsghdr *nlh = counters_request(buf, genl, NLM_F_DUMP,
                                            dp_ifindex);
    struct counters_dump dump = { .cb = cb, .aux = aux };

    return nl_conn_transact(genl->conn, nlh, counters_dump_reply, &dump);
}
