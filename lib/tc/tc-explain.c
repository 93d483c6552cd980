/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "tc/tc-explain.h"

#include <linux/netlink.h>

#include "netlink.h"
#include "nl/nl-conn.h"
#include "openvswitch/ofpbuf.h"
#include "ovs-thread.h"
#include "sset.h"
#include "tc/tc-transact.h"
#include "util.h"

static struct ovs_mutex mutex = OVS_MUTEX_INITIALIZER;
static struct sset texts OVS_GUARDED_BY(mutex) = SSET_INITIALIZER(&texts);

/* Returns a string equal to 'text' that stays for ever, or NULL if 'text' is
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

int
kdp_tc_explain(const struct kdp_tc_request *request, const char **why)
{
    struct nl_conn *conn;
    struct ofpbuf msg;
    int error;

    *why = NULL;
    error = nl_conn_open(NETLINK_ROUTE, &conn);
    if (error) {
        /* What was known before is not wrong. */
        return request->error;
    }
    ofpbuf_init(&msg, 0);
    kdp_tc_request_put(request, &msg);
    nl_msg_nlmsghdr(&msg)->nlmsg_len = msg.size;
    nl_msg_nlmsghdr(&msg)->nlmsg_flags |= NLM_F_ACK;
    error = nl_conn_transact(conn, nl_msg_nlmsghdr(&msg), NULL, NULL);
    if (error) {
        *why = keep(nl_conn_ext_error(conn));
    }
    ofpbuf_uninit(&msg);
    nl_conn_close(conn);
    return error;
}
