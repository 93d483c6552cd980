/* SPDX-License-Identifier: Apache-2.0 */

#ifndef FAKE_DPIF_FAKE_H
#define FAKE_DPIF_FAKE_H 1

/* A datapath with offload on top of what is in memory
 * ====================================================
 *
 * The inner dpif is of a class of its own, whose flows are in slots, as the
 * kernel's are in buckets: a dump goes from slot to slot, so that it may miss
 * flows that move meanwhile, or meet them twice.  Tc is that of tc-fake.h.
 * Programs wrap ovs_flow_flush(), too (-Wl,--wrap=ovs_flow_flush).
 *
 * Thread safety: any thread, except _init, _uninit, _setup and
 * _teardown. */

#include "dpif-netlink/datapath.h"
#include "dpif-netlink/flow-engine.h"

struct unit_dpif_flow;

/* Flows that the inner dpif has room for. */
#define UNIT_DPIF_SLOTS 1024

/* Operations that are remembered. */
#define UNIT_DPIF_LOG 64

struct unit_dpif {
    struct dpif inner;
    struct kdp_datapath dp;
    struct kdp_flow_engine *engine;
    uint32_t n_ports;
    uint64_t n_lost;            /* Upcalls, as the inner dpif has it. */

    struct ovs_mutex mutex;     /* Guards what follows. */
    struct unit_dpif_flow *slots[UNIT_DPIF_SLOTS];
    size_t next_slot;           /* Where the next new flow may be. */

    struct {
        enum dpif_op_type type;
        uint32_t flow;          /* First word of its ufid, or 0. */
    } log[UNIT_DPIF_LOG];       /* The latest operations but gets. */
    size_t n_log;

    enum dpif_op_type fail_type;        /* The next 'n_fail' of that type */
    int fail_error;                     /* fail with that. */
    unsigned int n_fail;

    int dump_error;             /* Dumps end with that, if it is not 0, */
    size_t dump_limit;          /* after so many flows. */
};

/* Calls unit_start_threads(), after what Open vSwitch initializes without
 * locks. */
void unit_dpif_start_threads(void);

void unit_dpif_init(struct unit_dpif *, uint32_t n_ports);

/* Also checks that no rule in tc and no flow of the kernel is one that the
 * engine does not know, and that nothing is left after a flush. */
void unit_dpif_uninit(struct unit_dpif *);

/* For cmocka: makes '*state' one that has two ports, and takes it away. */
int unit_dpif_setup(void **state);
int unit_dpif_teardown(void **state);

/* Lets the next 'n' operations of 'type' in the kernel fail. */
void unit_dpif_fail(struct unit_dpif *, enum dpif_op_type type, int error,
                    unsigned int n);

size_t unit_dpif_count(struct unit_dpif *);
bool unit_dpif_has(struct unit_dpif *, uint32_t flow);

/* Puts a flow into the kernel behind the engine's back. */
void unit_dpif_add(struct unit_dpif *, struct offload_desc *);

/* A packet of 'n_bytes', with Ethernet header, meets 'flow'.  Returns false if
 * the flow is nowhere. */
bool unit_dpif_packet(struct unit_dpif *, uint32_t flow, unsigned int n_bytes);

/* Operations as those of a user.  They return the error.  'desc' is given
 * up. */
int unit_dpif_put(struct unit_dpif *, struct offload_desc *,
                  enum dpif_flow_put_flags, struct dpif_flow_stats *);
int unit_dpif_del(struct unit_dpif *, uint32_t flow,
                  struct dpif_flow_stats *);
int unit_dpif_get(struct unit_dpif *, uint32_t flow, struct ofpbuf *,
                  struct dpif_flow *);

/* Waits until all that was offered is in tc or rejected. */
void unit_dpif_settle(struct unit_dpif *);

#endif /* tests/fake/dpif-fake.h */
