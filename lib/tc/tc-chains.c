/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "tc/tc-chains.h"

#include <errno.h>
#include <stdlib.h>

#include "link/link-qdisc.h"
#include "netdev-linux/links.h"
#include "netdev-provider.h"
#include "netlink-socket.h"
#include "openvswitch/ofpbuf.h"
#include "openvswitch/vlog.h"
#include "ovs/compat-offload.h"
#include "tc/tc-transact.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(kdp_tc_chains);

/* Names of rules. */
struct names {
    struct kdp_tc_id *ids;
    size_t n, allocated;
};

static void
add(struct names *names, const struct kdp_tc_id *id)
{
    if (names->n == names->allocated) {
        names->ids = x2nrealloc(names->ids, &names->allocated,
                                sizeof *names->ids);
    }
    names->ids[names->n++] = *id;
}

/* Deletes the rules 'names', and frees the names.  Returns the number of
 * names.  If a rule is left, stores the error in '*error' unless that is
 * set. */
static size_t
delete_rules(struct names *names, int *error)
{
    struct kdp_tc_request *requests = xcalloc(names->n + 1, sizeof *requests);
    struct kdp_tc_request **sent = xcalloc(names->n + 1, sizeof *sent);
    size_t n = 0;

    for (size_t i = 0; i < names->n; i++) {
        requests[i].type = KDP_TC_DEL;
        requests[i].id = names->ids[i];
        sent[i] = &requests[i];
    }
    kdp_tc_transact(sent, names->n);
    for (size_t i = 0; i < names->n; i++) {
        n += !requests[i].error;
        if (!*error && requests[i].error != ENOENT) {
            *error = requests[i].error;
        }
    }
    free(sent);
    free(requests);
    free(names->ids);
    return n;
}

int
kdp_tc_delete_chains(const struct tcf_id *place, size_t *n)
{
    struct names parents = { .n = 0 }, children = { .n = 0 };
    struct kdp_tc_rule rule;
    struct ofpbuf buffer;
    struct nl_dump dump;
    int error;

    kdp_tc_dump_start(place, &dump);
    ofpbuf_init(&buffer, NL_DUMP_BUFSIZE);
    while (kdp_tc_dump_next(&dump, &buffer, &rule)) {
        if (rule.jumps) {
            add(&parents, &rule.id);
        } else if (rule.id.chain) {
            add(&children, &rule.id);
        }
    }
    ofpbuf_uninit(&buffer);
    error = kdp_tc_dump_done(&dump);
    *n = delete_rules(&parents, &error);
    *n += delete_rules(&children, &error);
    return error;
}

size_t
kdp_tc_delete_chains_of(struct netdev *netdev, int ifindex)
{
    struct tcf_id place = kdp_tc_place(netdev, ifindex);
    size_t n;
    int error = kdp_tc_delete_chains(&place, &n);

    if (error) {
        VLOG_WARN("%s: deleting rules of recirculation chains that a previous "
                  "run left in tc failed (%s): packets that they send to a "
                  "chain may take a wrong way until they are gone",
                  netdev_get_name(netdev), ovs_strerror(error));
    }
    if (n) {
        VLOG_INFO("%s: deleted %"PRIuSIZE" rules of recirculation chains that "
                  "a previous run left in tc", netdev_get_name(netdev), n);
    }
    return n;
}

/* All ports. */

/* Devices, each with a reference, so that no request to tc is sent under the
 * lock that is held while ports are traversed. */
struct netdevs {
    struct netdev **array;
    size_t n, allocated;
};

static void
netdevs_add(struct netdevs *netdevs, const struct netdev *netdev)
{
    if (netdevs->n == netdevs->allocated) {
        netdevs->array = x2nrealloc(netdevs->array, &netdevs->allocated,
                                    sizeof *netdevs->array);
    }
    netdevs->array[netdevs->n++] = netdev_ref(netdev);
}

/* May device 'ifindex' have a place for rules?  The link tables do not know
 * that while there is offload: see kdp_links_follow_qdiscs(). */
static bool
may_have_rules(int ifindex)
{
    const struct link_qdiscs *qdiscs = kdp_links_qdiscs();

    return (!qdiscs || !link_qdiscs_are_known(qdiscs)
            || link_qdiscs_has_ingress(qdiscs, ifindex));
}

static bool
add_any(struct netdev *netdev, odp_port_t port_no OVS_UNUSED, void *netdevs)
{
    netdevs_add(netdevs, netdev);
    return false;
}

size_t
kdp_tc_clean_chains(const char *dpif_type)
{
    struct netdevs netdevs = { .n = 0 };
    size_t n = 0;

    ovs_compat_ports_traverse(dpif_type, add_any, &netdevs);
    for (size_t i = 0; i < netdevs.n; i++) {
        struct netdev *netdev = netdevs.array[i];
        int ifindex = netdev_get_ifindex(netdev);

        if (ifindex >= 0 && may_have_rules(ifindex)) {
            n += kdp_tc_delete_chains_of(netdev, ifindex);
        }
        netdev_close(netdev);
    }
    free(netdevs.array);
    return n;
}
