/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "restart-hold.h"

#include <string.h>

#include "dpif-netlink/takeover.h"
#include "netdev-vport.h"
#include "ofproto/connmgr.h"
#include "ofproto/ofproto-provider.h"
#include "openvswitch/ofp-bundle.h"
#include "openvswitch/ofp-msgs.h"
#include "openvswitch/ofpbuf.h"
#include "openvswitch/vlog.h"
#include "sset.h"

VLOG_DEFINE_THIS_MODULE(kdp_restart_hold);

/* Names of bridges whose controllers have sent rules, and of bridges that were
 * logged as waiting. */
static struct sset ready = SSET_INITIALIZER(&ready);
static struct sset logged = SSET_INITIALIZER(&logged);

/* The kind of rules in the flow tables of a bridge. */
enum rules {
    NO_RULES,
    HAS_RULES,
    HAS_IN_BAND_RULES,          /* Rules of in-band control, and perhaps
                                 * others. */
};

/* Number of rules to look at in each table.  In-band control has some twenty
 * rules, which are in an otherwise empty table before a controller
 * connects. */
#define MAX_LOOK 64

static enum rules
get_rules(const struct ofproto *ofproto)
{
    enum rules rules = NO_RULES;

    for (int i = 0; i < ofproto->n_tables; i++) {
        const struct oftable *table = &ofproto->tables[i];
        const struct rule *rule;
        int n = 0;

        if (table->flags & OFTABLE_HIDDEN) {
            continue;
        }
        CLS_FOR_EACH (rule, cr, &table->cls) {
            if (rule_is_hidden(rule)) {
                return HAS_IN_BAND_RULES;
            }
            rules = HAS_RULES;
            if (++n == MAX_LOOK) {
                break;
            }
        }
    }
    return rules;
}

/* True if 'msg' confirms to a controller that everything it has sent was
 * carried out.  Sets the length in the header of 'msg', as Open vSwitch does
 * later. */
static bool
is_end_of_rules(struct ofpbuf *msg)
{
    struct ofputil_bundle_ctrl_msg ctrl;
    enum ofptype type;

    ofpmsg_update_length(msg);
    if (ofptype_decode(&type, msg->data)) {
        return false;
    }
    return (type == OFPTYPE_BARRIER_REPLY
            || (type == OFPTYPE_BUNDLE_CONTROL
                && !ofputil_decode_bundle_ctrl(msg->data, &ctrl)
                && ctrl.type == OFPBCT_COMMIT_REPLY));
}

/* The linker redirects Open vSwitch's answers to controllers to this function
 * (--wrap). */
void __wrap_ofconn_send_reply(const struct ofconn *, struct ofpbuf *);
void __real_ofconn_send_reply(const struct ofconn *, struct ofpbuf *);

void
__wrap_ofconn_send_reply(const struct ofconn *ofconn, struct ofpbuf *msg)
{
    const struct ofproto *ofproto = ofconn_get_ofproto(ofconn);

    if (is_end_of_rules(msg) && !sset_contains(&ready, ofproto->name)
        && get_rules(ofproto) != NO_RULES) {
        sset_add(&ready, ofproto->name);
        if (sset_find_and_delete(&logged, ofproto->name)) {
            VLOG_INFO("bridge %s: its controller has sent rules",
                      ofproto->name);
        }
    }
    __real_ofconn_send_reply(ofconn, msg);
}

/* True if flows of the previous run forward packets of a port of 'ofproto'. */
static bool
had_rules(const struct ofproto *ofproto, takeover_had_flows_cb *had_flows,
          void *aux)
{
    const struct ofport *port;

    HMAP_FOR_EACH (port, hmap_node, &ofproto->ports) {
        char name[NETDEV_VPORT_NAME_BUFSIZE];

        if (had_flows(netdev_vport_get_dpif_port(port->netdev, name,
                                                 sizeof name), aux)) {
            return true;
        }
    }
    return false;
}

static bool
bridge_waits(const struct ofproto *ofproto, takeover_had_flows_cb *had_flows,
             void *aux)
{
    if (connmgr_get_fail_mode(ofproto->connmgr) != OFPROTO_FAIL_SECURE) {
        return false;
    }
    switch (get_rules(ofproto)) {
    case NO_RULES:
        /* This may be a new bridge of the same name. */
        sset_find_and_delete(&ready, ofproto->name);
        break;
    case HAS_RULES:
        if (sset_contains(&ready, ofproto->name)) {
            return false;
        }
        break;
    case HAS_IN_BAND_RULES:
        return false;
    }
    return had_rules(ofproto, had_flows, aux);
}

static bool
bridge_has_lacp(struct ofproto *ofproto)
{
    const struct ofport *port;

    HMAP_FOR_EACH (port, hmap_node, &ofproto->ports) {
        if (ofproto_port_is_lacp_current(ofproto, port->ofp_port) >= 0) {
            return true;
        }
    }
    return false;
}

static bool
bridges_wait(takeover_had_flows_cb *had_flows, void *aux)
{
    struct sset waiting = SSET_INITIALIZER(&waiting);
    struct sset names = SSET_INITIALIZER(&names);
    const char *name;
    bool wait;

    ofproto_enumerate_names("system", &names);
    SSET_FOR_EACH (name, &names) {
        struct ofproto *ofproto = ofproto_lookup(name);

        if (ofproto && bridge_has_lacp(ofproto)) {
            sset_clear(&waiting);
            break;
        } else if (ofproto && bridge_waits(ofproto, had_flows, aux)) {
            sset_add(&waiting, name);
        }
    }
    SSET_FOR_EACH (name, &waiting) {
        if (!sset_contains(&logged, name)) {
            VLOG_INFO("bridge %s: flows of a previous run stay until its "
                      "controller has sent rules", name);
        }
    }
    wait = !sset_is_empty(&waiting);
    sset_swap(&logged, &waiting);
    sset_destroy(&waiting);
    sset_destroy(&names);
    return wait;
}

void
restart_hold_init(void)
{
    takeover_set_hold_cb(bridges_wait);
}
