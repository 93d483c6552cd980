/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "nl/nl-conn.h"

#include <errno.h>
#include <linux/genetlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "nl/nl-kernel.h"
#include "util.h"

/* Largest reply in bytes.  The kernel sizes the datagrams of a dump by the
 * reader's buffer, up to 32 kB, but makes them as large as the largest message
 * needs.  A message about a link with many alternative names has 64 kB of
 * them, the maximum of an attribute; this is room for several such attributes.
 * Unused pages take no memory. */
#define NL_REPLY_SIZE (256 * 1024)

/* Length of the kept explanation of an error. */
#define NL_EXT_ERROR_SIZE 128

struct nl_conn {
    struct mnl_socket *sock;
    uint32_t next_seq;
    bool interrupted;           /* The last dump was. */
    bool dumping;               /* The answer to a dump is incomplete. */
    int reply_error;            /* First error of the reply function. */
    char ext_error[NL_EXT_ERROR_SIZE];
    void *buf;                  /* NL_REPLY_SIZE bytes. */
};

static int
nl_socket_open(int protocol, struct mnl_socket **sockp)
{
    struct mnl_socket *sock = mnl_socket_open2(protocol, SOCK_CLOEXEC);

    if (!sock) {
        return errno;
    }
    if (mnl_socket_bind(sock, 0, MNL_SOCKET_AUTOPID) < 0) {
        int error = errno;

        mnl_socket_close(sock);
        return error;
    }
    *sockp = sock;
    return 0;
}

int
nl_conn_open(int protocol, struct nl_conn **connp)
{
    struct mnl_socket *sock = NULL;
    int error = nl_socket_open(protocol, &sock);

    *connp = NULL;
    if (error) {
        return error;
    }

    /* Explanations of errors are useful, but a kernel without them works,
     * too. */
    int on = 1;
    mnl_socket_setsockopt(sock, NETLINK_EXT_ACK, &on, sizeof on);

    struct nl_conn *conn = xzalloc(sizeof *conn);
    conn->sock = sock;
    conn->buf = xmalloc(NL_REPLY_SIZE);
    conn->next_seq = 1;
    *connp = conn;
    return 0;
}

void
nl_conn_close(struct nl_conn *conn)
{
    if (conn) {
        mnl_socket_close(conn->sock);
        free(conn->buf);
        free(conn);
    }
}

const char *
nl_conn_ext_error(const struct nl_conn *conn)
{
    return conn->ext_error;
}

/* Stores the explanation in error message 'nlh', if there is one. */
static void
nl_conn_take_ext_error(struct nl_conn *conn, const struct nlmsghdr *nlh)
{
    const struct nlmsgerr *err = mnl_nlmsg_get_payload(nlh);
    size_t offset = sizeof *err;

    if (!(nlh->nlmsg_flags & NLM_F_ACK_TLVS)) {
        return;
    }
    if (!(nlh->nlmsg_flags & NLM_F_CAPPED)) {
        if (err->msg.nlmsg_len < sizeof err->msg) {
            return;
        }
        offset += MNL_ALIGN(err->msg.nlmsg_len - sizeof err->msg);
    }
    if (offset >= mnl_nlmsg_get_payload_len(nlh)) {
        return;
    }

    static const struct nl_attr_policy policy[] = {
        [NLMSGERR_ATTR_MSG] = { .type = MNL_TYPE_NUL_STRING },
    };
    const struct nlattr *attrs[ARRAY_SIZE(policy)];
    if (!nl_attrs_parse((const char *) err + offset,
                        mnl_nlmsg_get_payload_len(nlh) - offset,
                        policy, attrs, ARRAY_SIZE(policy))
        && attrs[NLMSGERR_ATTR_MSG]) {
        ovs_strlcpy(conn->ext_error,
                    mnl_attr_get_str(attrs[NLMSGERR_ATTR_MSG]),
                    sizeof conn->ext_error);
    }
}

/* Processes the 'n' bytes of one datagram of the answer to the last request.
 * Sets '*done' at the end of the answer. */
static int
nl_conn_take(struct nl_conn *conn, size_t n, bool dump,
             nl_reply_func *reply, void *aux, bool *done)
{
    const struct nlmsghdr *nlh = conn->buf;
    int left = n;

    for (; mnl_nlmsg_ok(nlh, left); nlh = mnl_nlmsg_next(nlh, &left)) {
        if (nlh->nlmsg_seq != conn->next_seq - 1) {
            continue;
        }
        conn->interrupted |= (nlh->nlmsg_flags & NLM_F_DUMP_INTR) != 0;
        if (nlh->nlmsg_type == NLMSG_ERROR) {
            const struct nlmsgerr *err = mnl_nlmsg_get_payload(nlh);

            if (mnl_nlmsg_get_payload_len(nlh) < sizeof *err) {
                return EBADMSG;
            }
            nl_conn_take_ext_error(conn, nlh);
            *done = true;
            return err->error ? -err->error : conn->reply_error;
        } else if (nlh->nlmsg_type == NLMSG_DONE) {
            const int *status = mnl_nlmsg_get_payload(nlh);

            *done = true;
            if (mnl_nlmsg_get_payload_len(nlh) >= sizeof *status
                && *status < 0) {
                return -*status;
            }
            return conn->reply_error;
        } else if (nlh->nlmsg_type >= NLMSG_MIN_TYPE) {
            if (reply && !conn->reply_error) {
                conn->reply_error = reply(nlh, aux);
            }
        }
    }
    return dump || left == 0 ? 0 : EBADMSG;
}

/* Sends 'request' with a new sequence number. */
static int
nl_conn_send(struct nl_conn *conn, struct nlmsghdr *request)
{
    ovs_assert(!conn->dumping);
    conn->ext_error[0] = '\0';
    conn->interrupted = false;
    conn->reply_error = 0;
    request->nlmsg_seq = conn->next_seq++;
    return (mnl_socket_sendto(conn->sock, request, request->nlmsg_len) < 0
            ? errno : 0);
}

/* Receives one datagram of the answer to the last request.  Returns 0 or a
 * positive errno value; the answer is over if it is not 0, or if '*done' is
 * set. */
static int
nl_conn_receive(struct nl_conn *conn, bool dump, nl_reply_func *reply,
                void *aux, bool *done)
{
    ssize_t n;

    do {
        n = nl_kernel_recv(conn->sock, conn->buf, NL_REPLY_SIZE);
    } while (n < 0 && errno == EINTR);
    if (n < 0) {
        *done = true;
        return errno == ENOSPC ? EMSGSIZE : errno;
    }

    int error = nl_conn_take(conn, n, dump, reply, aux, done);
    *done |= error != 0;
    return error || !*done ? error : conn->interrupted ? EINTR : 0;
}

int
nl_conn_transact(struct nl_conn *conn, struct nlmsghdr *request,
                 nl_reply_func *reply, void *aux)
{
    bool dump = (request->nlmsg_flags & NLM_F_DUMP) == NLM_F_DUMP;
    bool done = false;
    int error;

    if (!dump) {
        /* The acknowledgement marks the end of the answer. */
        request->nlmsg_flags |= NLM_F_ACK;
    }
    error = nl_conn_send(conn, request);
    while (!done && !error) {
        error = nl_conn_receive(conn, dump, reply, aux, &done);
    }
    return error;
}

int
nl_conn_start_dump(struct nl_conn *conn, struct nlmsghdr *request)
{
    int error = nl_conn_send(conn, request);

    conn->dumping = !error;
    return error;
}

int
nl_conn_continue_dump(struct nl_conn *conn, nl_reply_func *reply, void *aux)
{
    bool done = false;
    int error;

    ovs_assert(conn->dumping);
    error = nl_conn_receive(conn, true, reply, aux, &done);
    conn->dumping = !done;
    return done ? error : EINPROGRESS;
}

int
nl_attrs_parse(const void *payload, size_t len,
               const struct nl_attr_policy policy[],
               const struct nlattr *attrs[], size_t n)
{
    const struct nlattr *nla = payload;
    size_t left = len;

    memset(attrs, 0, n * sizeof *attrs);
    while (left >= sizeof *nla) {
        if (nla->nla_len < sizeof *nla || nla->nla_len > left) {
            return EINVAL;
        }

        uint16_t type = mnl_attr_get_type(nla);
        if (type < n && type > 0) {
            const struct nl_attr_policy *p = &policy[type];

            if (mnl_attr_get_payload_len(nla) < p->min_len
                || (p->type != MNL_TYPE_UNSPEC
                    && mnl_attr_validate(nla, p->type) < 0)) {
                return EINVAL;
            }
            attrs[type] = nla;
        }

        size_t step = MNL_ALIGN(nla->nla_len);
        if (step >= left) {
            left = 0;
            break;
        }
        left -= step;
        nla = (const struct nlattr *) ((const char *) nla + step);
    }
    if (left) {
        return EINVAL;
    }
    for (size_t i = 0; i < n; i++) {
        if (policy[i].required && !attrs[i]) {
            return EINVAL;
        }
    }
    return 0;
}

struct nlmsghdr *
genl_msg_init(void *buf, uint16_t family, uint8_t cmd, uint8_t version,
              uint16_t flags)
{
    struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
    struct genlmsghdr *genl;

    nlh->nlmsg_type = family;
    nlh->nlmsg_flags = NLM_F_REQUEST | flags;
    genl = mnl_nlmsg_put_extra_header(nlh, sizeof *genl);
    genl->cmd = cmd;
    genl->version = version;
    return nlh;
}

struct genl_lookup {
    const char *mcgroup;
    struct genl_family *family;
};

static void
genl_lookup_mcgroup(const struct nlattr *groups, struct genl_lookup *lookup)
{
    static const struct nl_attr_policy policy[] = {
        [CTRL_ATTR_MCAST_GRP_NAME] = { .type = MNL_TYPE_NUL_STRING,
                                       .required = true },
        [CTRL_ATTR_MCAST_GRP_ID] = { .type = MNL_TYPE_U32,
                                     .required = true },
    };
    const struct nlattr *group;

    mnl_attr_for_each_nested(group, groups) {
        const struct nlattr *attrs[ARRAY_SIZE(policy)];

        if (!nl_attrs_parse(mnl_attr_get_payload(group),
                            mnl_attr_get_payload_len(group),
                            policy, attrs, ARRAY_SIZE(policy))
            && !strcmp(mnl_attr_get_str(attrs[CTRL_ATTR_MCAST_GRP_NAME]),
                       lookup->mcgroup)) {
            lookup->family->mcgroup
                = mnl_attr_get_u32(attrs[CTRL_ATTR_MCAST_GRP_ID]);
        }
    }
}

static int
genl_lookup_reply(const struct nlmsghdr *nlh, void *lookup_)
{
    static const struct nl_attr_policy policy[] = {
        [CTRL_ATTR_FAMILY_ID] = { .type = MNL_TYPE_U16, .required = true },
        [CTRL_ATTR_MCAST_GROUPS] = { .type = MNL_TYPE_NESTED },
    };
    const struct nlattr *attrs[ARRAY_SIZE(policy)];
    struct genl_lookup *lookup = lookup_;

    if (mnl_nlmsg_get_payload_len(nlh) < sizeof(struct genlmsghdr)
        || nl_attrs_parse(mnl_nlmsg_get_payload_offset(
                              nlh, sizeof(struct genlmsghdr)),
                          mnl_nlmsg_get_payload_len(nlh)
                          - sizeof(struct genlmsghdr),
                          policy, attrs, ARRAY_SIZE(policy))) {
        return EBADMSG;
    }
    lookup->family->id = mnl_attr_get_u16(attrs[CTRL_ATTR_FAMILY_ID]);
    if (lookup->mcgroup && attrs[CTRL_ATTR_MCAST_GROUPS]) {
        genl_lookup_mcgroup(attrs[CTRL_ATTR_MCAST_GROUPS], lookup);
    }
    return 0;
}

int
genl_family_lookup(struct nl_conn *conn, const char *name,
                   const char *mcgroup, struct genl_family *family)
{
    struct genl_lookup lookup = { .mcgroup = mcgroup, .family = family };
    char buf[256] __attribute__((aligned(NLMSG_ALIGNTO)));
    struct nlmsghdr *nlh;

    memset(family, 0, sizeof *family);
    nlh = genl_msg_init(buf, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, 1, NLM_F_ACK);
    mnl_attr_put_strz(nlh, CTRL_ATTR_FAMILY_NAME, name);

    int error = nl_conn_transact(conn, nlh, genl_lookup_reply, &lookup);
    if (!error && (!family->id || (mcgroup && !family->mcgroup))) {
        error = ENOENT;
    }
    return error;
}
