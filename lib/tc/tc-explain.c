/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "tc/tc-explain.h"

#include <linux/pkt_cls.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "netlink.h"
#include "nl/nl-conn.h"
#include "openvswitch/ofpbuf.h"
#include "ovs-thread.h"
#include "ovs/compat-util.h"
#include "sset.h"
#include "tc/tc-transact.h"
#include "util.h"

static struct ovs_mutex mutex = OVS_MUTEX_INITIALIZER;
static struct sset texts OVS_GUARDED_BY(mutex) = SSET_INITIALIZER(&texts);

/* Returns a string equal to 'text' that is never freed, or NULL if 'text' is
 * empty or there are too many. */
static const char *
keep(const char *text)
{
    const char *kept = NULL;

    ovs_mutex_lock(&mutex);
    if (*text) {
        kept = sset_find(&texts, text) ? sset_find(&texts, text)->name : NULL;
        if (!kept && sset_count(&texts) < KDP_TC_MAX_TEXTS) {
            kept = sset_add(&texts, text)->name;
        }
    }
    ovs_mutex_unlock(&mutex);
    return kept;
}

/* Returns the flags of the rule that 'msg' adds, at any alignment, or NULL if
 * it has none. */
static const void *
flags_of(const struct ofpbuf *msg)
{
    const struct nlattr *options = nl_attr_find(
        msg, NLMSG_HDRLEN + sizeof(struct tcmsg), TCA_OPTIONS);
    const struct nlattr *flags
        = options ? nl_attr_find_nested(options, TCA_FLOWER_FLAGS) : NULL;

    return (flags && nl_attr_get_size(flags) == sizeof(uint32_t)
            ? nl_attr_get(flags) : NULL);
}

/* Sends 'request' by itself.  Stores the kernel's reason, or NULL, in '*why',
 * and returns the kernel's error, or 'unsent' if there is no socket. */
static int
add_alone(const struct kdp_tc_request *request, bool verbose, int unsent,
          const char **why)
{
    struct nl_conn *conn;
    struct ofpbuf msg;
    int error;

    *why = NULL;
    if (nl_conn_open(NETLINK_ROUTE, &conn)) {
        return unsent;
    }
    ofpbuf_init(&msg, 0);
    kdp_tc_request_put(request, &msg);
    nl_msg_nlmsghdr(&msg)->nlmsg_len = msg.size;
    nl_msg_nlmsghdr(&msg)->nlmsg_flags |= NLM_F_ACK;
    if (verbose) {
        void *p = CONST_CAST(void *, flags_of(&msg));
        uint32_t flags;

        memcpy(&flags, p, sizeof flags);
        flags |= OVS_COMPAT_TCA_CLS_FLAGS_VERBOSE;
        memcpy(p, &flags, sizeof flags);
    }
    error = nl_conn_transact(conn, nl_msg_nlmsghdr(&msg), NULL, NULL);
    if (error || verbose) {
        *why = keep(nl_conn_ext_error(conn));
    }
    ofpbuf_uninit(&msg);
    nl_conn_close(conn);
    return error;
}

int
kdp_tc_explain(const struct kdp_tc_request *request, const char **why)
{
    /* Without a socket, the earlier error stands. */
    return add_alone(request, false, request->error, why);
}

int
kdp_tc_add_verbosely(const struct kdp_tc_request *request, bool *sent,
                     const char **why)
{
    int error = add_alone(request, true, -1, why);

    *sent = error >= 0;
    return *sent ? error : 0;
}

bool
kdp_tc_may_be_skipped(const struct kdp_tc_request *request)
{
    const void *p = flags_of(request->rule);
    uint32_t flags;

    if (!p) {
        return false;
    }
    memcpy(&flags, p, sizeof flags);
    return !(flags & (TCA_CLS_FLAGS_SKIP_HW | TCA_CLS_FLAGS_SKIP_SW));
}
