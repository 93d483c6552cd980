/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpif-netlink/flow-ports.h"

#include <errno.h>
#include <stdlib.h>

#include "connectivity.h"
#include "dpif-netlink/flow-engine.h"
#include "hash.h"
#include "netdev-linux/lag.h"
#include "netdev-provider.h"
#include "openvswitch/hmap.h"
#include "openvswitch/poll-loop.h"
#include "ovs/compat-offload.h"
#include "seq.h"
#include "timeval.h"
#include "util.h"

/* Minimum time between comparisons of ports while devices only change, in ms.
 * Any device or protocol of the daemon reports changes, and a comparison goes
 * through all ports.  Its effect is not urgent: flows that a device refused
 * are offered to it again. */
#define LOOK_INTERVAL 500

/* A port that the engine has. */
struct port {
    struct hmap_node node;      /* In kdp_flow_ports->ports. */
    uint32_t port_no;
    int ifindex;                /* Another index means another port. */
    uint32_t block_id;          /* Block of a bond, otherwise 0. */
    uint64_t change_seq;        /* The netdev's, when last read. */
    bool seen;
};

/* A bond whose members are bound to its block.  After the bond has become
 * 'idle', its members stay bound until tc has none of its rules.  Otherwise
 * the kernel would remove all rules from the members' cards at once.  The main
 * thread would have to wait for that, and the rules' counts would be lost. */
struct bond {
    struct hmap_node node;      /* In kdp_flow_ports->bonds, by 'ifindex'. */
    int ifindex;
    bool idle;
};

struct kdp_flow_ports {
    atomic_bool dirty;          /* Compare the ports. */

    /* Main thread. */
    struct hmap ports;          /* Ports that the engine has. */
    struct hmap bonds;          /* Bonds whose members are bound. */
    uint64_t seq;               /* connectivity_seq_get() at the comparison. */
    bool incomplete;            /* Some port could not be looked up in it. */
    long long int next_look;    /* When these two may cause the next
                                 * comparison. */
};

void
kdp_flow_ports_create(struct kdp_flow_engine *engine)
{
    struct kdp_flow_ports *ports = xzalloc(sizeof *ports);

    atomic_init(&ports->dirty, true);
    hmap_init(&ports->ports);
    hmap_init(&ports->bonds);
    engine->ports = ports;
}

void
kdp_flow_ports_destroy(struct kdp_flow_engine *engine)
{
    struct port *port;
    struct bond *bond;

    HMAP_FOR_EACH_POP (port, node, &engine->ports->ports) {
        free(port);
    }
    hmap_destroy(&engine->ports->ports);
    HMAP_FOR_EACH_POP (bond, node, &engine->ports->bonds) {
        netdev_kdp_lag_remove(bond->ifindex, bond->idle);
        free(bond);
    }
    hmap_destroy(&engine->ports->bonds);
    free(engine->ports);
}

static struct port *
port_find(const struct kdp_flow_engine *engine, uint32_t port_no)
{
    struct port *port;

    HMAP_FOR_EACH_WITH_HASH (port, node, hash_int(port_no, 0),
                             &engine->ports->ports) {
        if (port->port_no == port_no) {
            return port;
        }
    }
    return NULL;
}

/* Bonds. */

static struct bond *
bond_find(const struct kdp_flow_ports *ports, int ifindex)
{
    struct bond *bond;

    HMAP_FOR_EACH_WITH_HASH (bond, node, hash_int(ifindex, 0),
                             &ports->bonds) {
        if (bond->ifindex == ifindex) {
            return bond;
        }
    }
    return NULL;
}

/* Binds the members of 'port', if it is a bond and offload is on. */
static void
bond_use(struct kdp_flow_engine *engine, const struct port *port)
{
    struct bond *bond = bond_find(engine->ports, port->ifindex);
    bool enabled;

    atomic_read_relaxed(&engine->enabled, &enabled);
    if (!port->block_id || !enabled) {
        return;
    }
    if (!bond) {
        bond = xmalloc(sizeof *bond);
        bond->ifindex = port->ifindex;
        hmap_insert(&engine->ports->bonds, &bond->node,
                    hash_int(bond->ifindex, 0));
        netdev_kdp_lag_add(bond->ifindex, port->block_id);
    }
    bond->idle = false;
}

/* If 'port' is a bond, requests that its members are unbound as soon as it has
 * no rules. */
static void
bond_end(struct kdp_flow_engine *engine, const struct port *port)
{
    struct bond *bond = bond_find(engine->ports, port->ifindex);

    if (bond) {
        bond->idle = true;
    }
}

/* Unbinds the members of bonds that are idle and have no rules. */
static void
bonds_run(struct kdp_flow_engine *engine)
{
    struct bond *bond;

    HMAP_FOR_EACH_SAFE (bond, node, &engine->ports->bonds) {
        if (bond->idle && !kdp_tc_count(&engine->tc, bond->ifindex)) {
            netdev_kdp_lag_remove(bond->ifindex, true);
            hmap_remove(&engine->ports->bonds, &bond->node);
            free(bond);
        }
    }
}

static void
bonds_wait(const struct kdp_flow_ports *ports)
{
    const struct bond *bond;

    HMAP_FOR_EACH (bond, node, &ports->bonds) {
        if (bond->idle) {
            poll_timer_wait(LOOK_INTERVAL);
            break;
        }
    }
}

/* A port that Open vSwitch has and that may belong to the datapath. */
struct candidate {
    uint32_t port_no;
    int ifindex;
    uint32_t block_id;
    uint64_t change_seq;
};

struct candidates {
    struct candidate *ports;
    size_t n, allocated;
};

static bool
add_candidate(struct netdev *netdev, odp_port_t port_no, void *candidates_)
{
    struct candidates *candidates = candidates_;
    int ifindex = netdev_get_ifindex(netdev);

    if (ifindex >= 0
        && ovs_compat_offload_is_prepared(netdev)) {
        if (candidates->n == candidates->allocated) {
            candidates->ports = x2nrealloc(candidates->ports,
                                           &candidates->allocated,
                                           sizeof *candidates->ports);
        }
        candidates->ports[candidates->n++] = (struct candidate) {
            .port_no = odp_to_u32(port_no),
            .ifindex = ifindex,
            .block_id = netdev_get_block_id(netdev),
            .change_seq = netdev_get_change_seq(netdev),
        };
    }
    return false;
}

static void
remove_port(struct kdp_flow_engine *engine, struct port *port)
{
    hmap_remove(&engine->ports->ports, &port->node);
    bond_end(engine, port);
    offload_port_del(engine->offload, port->port_no);
    free(port);
}

static void
update_port(struct kdp_flow_engine *engine, const struct candidate *candidate)
{
    struct port *port = port_find(engine, candidate->port_no);

    if (port && port->ifindex != candidate->ifindex) {
        /* The rules disappeared with the old device. */
        remove_port(engine, port);
        port = NULL;
    }
    if (!port) {
        port = xzalloc(sizeof *port);
        port->port_no = candidate->port_no;
        port->ifindex = candidate->ifindex;
        port->block_id = candidate->block_id;
        hmap_insert(&engine->ports->ports, &port->node,
                    hash_int(port->port_no, 0));
        bond_use(engine, port);
        offload_port_add(engine->offload, port->port_no);
    } else if (port->change_seq != candidate->change_seq) {
        offload_port_changed(engine->offload, port->port_no);
    }
    port->change_seq = candidate->change_seq;
    port->seen = true;
}

/* Compares one port that Open vSwitch has. */
static void
compare_port(struct kdp_flow_engine *engine, const struct candidate *candidate)
{
    struct port *port;
    struct ovs_vport vport;
    int error;

    error = vport_table_get_by_number(engine->dp->vports, candidate->port_no,
                                      &vport);
    if (!error) {
        update_port(engine, candidate);
    } else if (error != ENODEV) {
        /* Other datapaths have their ports in the same table, so this may not
         * be our port.  But a port that was ours may still be. */
        engine->ports->incomplete = true;
        port = port_find(engine, candidate->port_no);
        if (port) {
            port->seen = true;
        }
    }
}

/* Updates the ports of the engine to the ports of Open vSwitch. */
static void
compare_ports(struct kdp_flow_engine *engine)
{
    struct candidates candidates = { .n = 0 };
    struct port *port;

    engine->ports->seq = seq_read(connectivity_seq_get());
    engine->ports->incomplete = false;
    engine->ports->next_look = time_msec() + LOOK_INTERVAL;
    ovs_compat_ports_traverse(engine->tc.dpif_type, add_candidate,
                              &candidates);
    for (size_t i = 0; i < candidates.n; i++) {
        compare_port(engine, &candidates.ports[i]);
    }
    free(candidates.ports);
    HMAP_FOR_EACH_SAFE (port, node, &engine->ports->ports) {
        if (!port->seen) {
            remove_port(engine, port);
        } else {
            port->seen = false;
        }
    }
}

void
kdp_flow_ports_changed(struct kdp_flow_engine *engine)
{
    atomic_store_relaxed(&engine->ports->dirty, true);
}

void
kdp_flow_ports_del(struct kdp_flow_engine *engine, uint32_t port_no)
{
    struct port *port = port_find(engine, port_no);

    if (port) {
        remove_port(engine, port);
    }
}

void
kdp_flow_ports_enable(struct kdp_flow_engine *engine, bool enable)
{
    const struct port *port;

    HMAP_FOR_EACH (port, node, &engine->ports->ports) {
        if (enable) {
            bond_use(engine, port);
        } else {
            bond_end(engine, port);
        }
    }
}

/* True if there is a reason to compare the ports that can wait a little. */
static bool
may_have_changed(const struct kdp_flow_ports *ports)
{
    return (ports->incomplete
            || ports->seq != seq_read(connectivity_seq_get()));
}

void
kdp_flow_ports_run(struct kdp_flow_engine *engine)
{
    struct kdp_flow_ports *ports = engine->ports;
    bool dirty;

    atomic_read_relaxed(&ports->dirty, &dirty);
    if (dirty || (may_have_changed(ports)
                  && time_msec() >= ports->next_look)) {
        atomic_store_relaxed(&ports->dirty, false);
        compare_ports(engine);
    }
    bonds_run(engine);
}

void
kdp_flow_ports_wait(struct kdp_flow_engine *engine)
{
    struct kdp_flow_ports *ports = engine->ports;
    bool dirty;

    atomic_read_relaxed(&ports->dirty, &dirty);
    if (dirty) {
        poll_immediate_wake();
    } else if (may_have_changed(ports)) {
        poll_timer_wait_until(ports->next_look);
    } else {
        seq_wait(connectivity_seq_get(), ports->seq);
    }
    bonds_wait(ports);
}
