/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_DPIF_NETLINK_FLOW_OFFLOAD_H
#define KDP_DPIF_NETLINK_FLOW_OFFLOAD_H 1

/* Offload of a datapath's flows to tc
 * ===================================
 *
 * Connects the offload engine (offload/offload.h), which knows neither dpifs
 * nor netdevs, to them:
 *
 *      dpif functions --> offload engine --> kernel side: the inner dpif
 *                                        `-> tc side: the netdevs' flow API
 *
 *      file                    what it does
 *      ----------------------  --------------------------------------------
 *      dpif-netlink/flow-offload.c           life cycle, settings, ports
 *      flow-operate.c       operations on flows, and the kernel side
 *      dpif-netlink/flow-dump.c      dumps of flows
 *      dpif-netlink/flow-desc.c      descriptions of flows
 *      tc/tc-backend.c        the tc side: which rules there are
 *      tc/tc-adopt.c     rules that are on a port when it comes or goes
 *      tc/tc-transact.c   requests to tc
 *      tc/tc-parse.c      messages of tc about rules
 *      tc/tc-prepare.c       preparing devices for tc
 *      tc/tc-clean.c     rules left by a previous run, without offload
 *      dpif-netlink/flow-show.c      commands
 *
 * Life cycle
 * ----------
 *
 * A datapath has an engine from the first time that other_config:hw-offload is
 * true, until it is closed.  Without one all operations go to the inner dpif
 * as they are.  When hw-offload becomes false, all flows move back to the
 * kernel and none is offered until it is true again.
 *
 * A port is known to the engine while Open vSwitch has it in its table of
 * ports (netdev-offload.h) with a flow API assigned, it is one of the
 * datapath, and its device has an index: the main loop compares the two after
 * ports may have come or gone, and at most twice a second after devices have
 * changed.  A port that Open vSwitch deletes from the datapath is removed from
 * the engine first.  One whose device goes by itself is removed after it, when
 * its rules are gone already; one that is another device by then is removed
 * and added.
 *
 * Thread safety
 * -------------
 *
 * kdp_offload_operate(), _dump_*(), _flush() and those that show something may
 * be called by any thread.  The others belong to the main thread. */

#include <stdbool.h>
#include <stdint.h>

#include "dpif.h"
#include "offload/offload-backend.h"
#include "offload/offload.h"
#include "openvswitch/hmap.h"
#include "ovs-atomic.h"
#include "tc/tc-rules.h"

struct dpif_flow_dump;
struct dpif_flow_dump_thread;
struct kdp_datapath;
struct kdp_offload;
struct kdp_tc_cleaner;
struct netdev_custom_stats;
struct offload;
struct smap;

/* Offload of a datapath. */
struct kdp_offload {
    struct kdp_datapath *dp;
    struct offload *engine;
    struct kdp_tc tc;
    atomic_bool ports_dirty;    /* Compare the ports. */
    atomic_bool enabled;

    /* Main thread. */
    struct hmap ports;          /* Those that the engine has. */
    uint64_t seq;               /* connectivity_seq_get() at the comparison. */
    bool incomplete;            /* Some port could not be looked up in it. */
    long long int next_look;    /* When these two may lead to the next one. */
};

/* Has the engine take over flow 'ufid', which the kernel has and the engine
 * does not know. */
void kdp_offload_learn(struct kdp_offload *, const ovs_u128 *ufid);

/* The kernel side, whose 'aux' is a struct kdp_offload. */
struct offload_kernel kdp_offload_kernel(struct kdp_offload *);

void kdp_stats_from_dpif(const struct dpif_flow_stats *,
                         struct offload_stats *);
void kdp_stats_to_dpif(const struct offload_stats *,
                       struct dpif_flow_stats *);

void kdp_offload_show_register(void);

/* Settings, kept while there is no engine, too. */
struct kdp_offload_config {
    struct offload_config engine;
    char *threads;              /* Values looked at last, or NULL. */
    char *delay;
    char *bytes;
    bool count_headers;         /* In the bytes of rules in tc. */
    bool looked;                /* Was there a first look? */
    struct kdp_tc_cleaner *cleaner;        /* Or NULL. */
};

void kdp_offload_config_uninit(struct kdp_offload_config *);

/* The offload of a datapath, or NULL if it has none. */
struct kdp_offload *kdp_offload_get(const struct kdp_datapath *);

/* Takes over the settings in 'other_config'.  Values that they must not have
 * are logged and change nothing. */
void kdp_offload_set_config(struct kdp_datapath *,
                            const struct smap *other_config);

/* Ends offload on a datapath that is closed (rules stay), or deleted (none
 * does). */
void kdp_offload_destroy(struct kdp_datapath *);
void kdp_offload_clean_up(struct kdp_datapath *);

/* To be called in each turn of the main loop. */
void kdp_offload_run(struct kdp_datapath *);
void kdp_offload_wait(struct kdp_datapath *);

/* Says that ports may have come, gone or changed. */
void kdp_offload_ports_changed(struct kdp_datapath *);

/* Says that port 'port_no' is about to be deleted from the datapath.  Waits
 * until none of its flows is in tc. */
void kdp_offload_port_del(struct kdp_datapath *, uint32_t port_no);

/* As the dpif functions of those names, for a datapath that has an engine. */
void kdp_offload_operate(struct kdp_offload *, struct dpif_op **, size_t n);
int kdp_offload_flush(struct kdp_offload *);
struct dpif_flow_dump *kdp_offload_dump_create(
    struct kdp_offload *, const struct dpif *, bool terse,
    const struct dpif_flow_dump_types *);
int kdp_offload_dump_destroy(struct dpif_flow_dump *);
struct dpif_flow_dump_thread *kdp_offload_dump_thread_create(
    struct dpif_flow_dump *);
void kdp_offload_dump_thread_destroy(struct dpif_flow_dump_thread *);
int kdp_offload_dump_next(struct dpif_flow_dump_thread *, struct dpif_flow *,
                          int max_flows);
int kdp_offload_stats_get(struct kdp_offload *, struct netdev_custom_stats *);

#endif /* lib/dpif-netlink/flow-offload.h */
