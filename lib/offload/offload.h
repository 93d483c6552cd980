/* SPDX-License-Identifier: Apache-2.0 */

#ifndef OFFLOAD_H
#define OFFLOAD_H 1

/* Offload engine
 * ==============
 *
 * Moves flows from the kernel datapath to tc and back, in its own threads, so
 * that a thread that adds a flow does not wait for tc.
 *
 *      handlers, revalidators               offload threads
 *        offload_operate() --- the flow ---> queue ---> struct offload_backend
 *              |                                  \
 *        struct offload_kernel                     `--> struct offload_kernel
 *
 * The thread that adds a flow puts it into the kernel datapath and then offers
 * it: the flow itself waits in the queue of an offload thread, at most once.
 * What has to be done with it is not a message but a property of the flow, its
 * target.  A later request changes the target and so supersedes the waiting
 * one.  The thread compares target and copies, takes one step after the other
 * until they agree, and compares again after each:
 *
 *      target    copies                        step
 *      ------    --------------------------    -------------------------------
 *      tc        kernel only                   put into tc
 *                tc (current), kernel          delete from the kernel (unless
 *                                              the flow is part of a chain)
 *                tc (outdated), kernel         delete from tc
 *                tc (outdated) only, or none   put into the kernel, or if that
 *                                              refused it, delete from tc, or
 *                                              put into tc
 *                tc (current) only             none: done (but if the flow is
 *                                              part of a chain, put into the
 *                                              kernel)
 *      kernel    tc only, or none              put into the kernel
 *                tc, kernel                    delete from tc
 *                kernel only                   none: done
 *      gone      tc                            delete from tc
 *                none                          none: done, freed (but if the
 *                                              flow is lost, kept)
 *
 * No step removes the last copy unless the flow is to be deleted, or the
 * kernel has refused it because another flow there matches its key.  That
 * flow, or an upcall, then handles its packets for a moment, which is better
 * than tc with old actions forever.  A flow of a chain, which also has to be
 * in the kernel, is lost then.
 *
 * When a port goes, it gets no more packets: its flows that are in tc only are
 * deleted from there without being put into the kernel.  They stay in the
 * table like lost flows (see below), and are put into the kernel if the port
 * comes back before the user has deleted them.
 *
 * If a flow has to return to the kernel and the kernel refuses it, it is lost:
 * its target becomes "gone", but it stays in the table, in state rejected, so
 * that dumps show it and its last statistics.  The user then deletes it when
 * it is idle, or changes it, which tries again.
 *
 * States
 * ------
 *
 * A flow has five states: see offload-flow.h.  Users see one that is derived
 * from these:
 *
 *      state        target   copies         meaning
 *      ----------   ------   ------------   ----------------------------------
 *      kernel       kernel   kernel         not offered (too young, queue was
 *                                           full, device backs off)
 *      queued       tc       kernel         offered, or waits for its parent
 *      in tc        tc       tc             kernel copy kept in chains
 *      moving back  kernel   tc             or "tc" and the copy is outdated
 *      rejected     kernel   kernel         tc or its device refused it
 *      deleting     gone     tc             not in the table any more, unless
 *                                           tc fails to delete it for long
 *
 * and these are the transitions ("-": stays; "(k)", "(t)": the side where it
 * is done; the user waits for tc only at a "*"):
 *
 *      event          kernel     queued     in tc      moving b.  rejected
 *      ------------   --------   --------   --------   --------   ------------
 *      create         EEXIST     EEXIST     EEXIST     EEXIST     EEXIST
 *      modify         queued     queued     moving b.  moving b.  queued (k)
 *                     (k)        (k)        (k)        (k)
 *      delete         freed      freed      deleting   deleting   freed (k)
 *                     (k)        (k)        (k, t*)    (k, t*)
 *      get, dump      - (k)      - (k)      - (t)      - (k, t)   - (k)
 *      dump: again    queued     -          -          -          queued if
 *                                                                 it may be
 *      flush          freed      deleting   deleting   deleting   freed
 *                     (k)        (k, t)     (k, t)     (k, t)     (k)
 *      port removed   -          kernel     deleting,  deleting,  -
 *                                           rejected   rejected
 *      port is back   -          -          moving b.  moving b.  moving b.
 *      tc accepts it             in tc
 *      EOPNOTSUPP                rejected   the kind of flow is remembered for
 *                                           the device for a minute, or until
 *                                           it, an output port or a meter
 *                                           changes
 *      ENOSPC                    rejected   the device backs off
 *      ENODEV                    rejected   until the port changes
 *      EEXIST                    rejected   for a second, and longer each time
 *      EINVAL, ENOENT            rejected   the same, and so is the kind, if
 *                                           that happens to several in a row
 *      others                    rejected   for a second, and longer each time
 *      rule vanished             (kernel)   moving b.  (kernel)
 *      removed from tc                      deleted    kernel, queued
 *
 * "create" of a flow that is not there makes one in state kernel and offers it
 * at once, which makes it queued, rejected or neither.  A flow that is being
 * deleted is not in the table: creating it again makes another one, whose
 * requests follow the old one's in the same queue.
 *
 * tc may fail to delete a rule when it is short of memory or file descriptors,
 * or a driver is busy.  The flow then stays as it is, and its thread tries
 * again after a pause, which grows from 1 ms to 8 s, until the rule is gone.
 * A new flow with the same ufid waits in state queued meanwhile, so that tc
 * never has two rules for the same packets.  After OFFLOAD_PATIENCE failures,
 * about a second, the user that has deleted the flow stops waiting and gets
 * the known statistics.  The flow returns to the table, in state deleting,
 * with statistics that begin at 0: packets still use the rule, and dumps and
 * further deletions, which do not wait, report them.  Once the rule is gone
 * the flow stays without copies, like a lost one, until the user deletes it.
 *
 * A rule that vanishes from tc (its module was unloaded, another process
 * removed it) is noticed when it is read; the flow then returns to the kernel.
 * When the daemon starts, or a port comes, the rules that the backend finds on
 * the port become flows in state "in tc", for the revalidators to judge
 * (offload_port_add()).  Rules that it cannot translate, or that involve
 * recirculation chains, are deleted; rules of chains when
 * offload_keep_chains() says so.  No flow of the port is offered before that
 * is done.
 *
 * Audit
 * -----
 *
 * The engine compares the rules in tc with its table all the time (O9).  A
 * rule that vanished is found when it is read, and comes back with the next
 * offer of its flow.  A rule that no flow has is found in a list of all rules
 * in all places, and deleted: see offload-audit.h.
 *
 * Recirculation
 * -------------
 *
 * A flow of a chain is useful in tc only if a flow that recirculates to the
 * chain is there.  Until then it waits, in no queue, in state "parked", and is
 * offered again when that happens.  Packets may also come to the chain from a
 * parent that is still in the kernel, or again.  They would find no flow if it
 * were in tc only.  So it keeps its kernel copy; it is still "in tc", and its
 * statistics are the sum of both.  When the last parent leaves tc it may stay:
 * no packet comes to it there.
 *
 * If the backend does not support chains (offload_set_chains()), no flow waits
 * for a parent, and the backend rejects flows of chains.
 *
 * Invariants
 * ----------
 *
 *   O1 Make before break.  Between the return of a put and the call of delete,
 *      flush or the like, at least one copy exists, unless the input port is
 *      gone: see "step" above.
 *   O2 Statistics are exact.  When a copy goes, its statistics are added to
 *      'base' at the moment when it no longer counts as a copy (under the
 *      flow's lock).  Readers start again when that changes under them, and
 *      look into tc as soon as a rule may be there.  Each dump marks the flows
 *      that it has shown.
 *   O3 Requests on one flow apply in order: one thread at a time works on it,
 *      and always towards the latest target.
 *   O4 offload_operate() waits for tc only for deletes, and reads tc only for
 *      gets, and for puts that request statistics.
 *   O5 After offload_flush(), _port_del(), _set_enabled(false), and once the
 *      threads are done, no rule of ours remains on the ports concerned.
 *      Urgent work comes before all offers.  If tc fails to delete a rule,
 *      that is retried.  offload_destroy() leaves a rule in tc only if the
 *      deletion has failed OFFLOAD_PATIENCE times in a row, or after
 *      OFFLOAD_END_MSEC.
 *   O6 Each request ends in exactly one of inserted, modified, deleted,
 *      returned (to the kernel), rejected or superseded.
 *   O7 The main thread does not wait for tc: no function waits for a thread
 *      except offload_configure(), _barrier(), _destroy(), and
 *      offload_operate() for O4.
 *   O8 Packets of a new meaning never follow what was taken over: no flow of a
 *      chain, or that leads to one, is taken over.
 *   O9 A rule in tc that no flow has goes within ten seconds, and a rule that
 *      another process has deleted comes back in that time.  This requires a
 *      reader thread that keeps up, and dumps, which offer flows.
 * Synchronization
 * ---------------
 *
 *      function                           thread    may wait for
 *      --------------------------------   -------   --------------------------
 *      offload_create, _destroy           one       offload threads
 *      offload_operate                    any       kernel (also a flush of
 *                                                   it); tc: see O4
 *      offload_learn                      any       the same, except tc
 *      offload_dump_start                 any       tc (reading), unless it
 *                                                   is lax
 *      offload_dump_*                     any       the same, and the kernel,
 *                                                   for flows that move; and
 *                                                   if a copy is missing
 *                                                   while a thread works on
 *                                                   the flow, that change of
 *                                                   tc
 *      offload_port_add                   one       a flush of the kernel, and
 *                                                   the claims (see below)
 *                                                   that it waits for
 *      offload_port_changed,              one       nothing
 *        offload_keep_chains
 *      offload_port_had_rules             any       nothing
 *      offload_port_del, _set_enabled     one       as offload_port_add
 *      offload_flush                      any       kernel, and claims
 *      offload_read_rules                 any       tc (reading)
 *      offload_barrier                    any       tc, by a barrier in each
 *                                                   offload thread
 *      offload_configure                  any       barriers of others; the
 *                                                   present batch of threads
 *                                                   that end, and new ports in
 *                                                   their queues
 *      offload_set_chains,                any       nothing
 *        offload_meters_changed
 *      offload_get_info, _get_flow_info,  any       nothing
 *        offload_for_each_flow
 *
 * A thread that waits for a barrier is quiescent (ovs-rcu.h) meanwhile; the
 * other functions are not, so that their callers' pointers stay valid.
 *
 * Flows are spread over stripes by ufid; each stripe has a lock, which guards
 * its table and the flows in it, and a condition variable.  The lock is never
 * held during an operation on a copy.  Instead, a thread that changes the
 * kernel copy claims it ('kernel_claimed').  Others that want to change it
 * wait for the condition.  A waiting thread holds no claim unless it is an
 * offload thread, so that there is no cycle.  Only the flow's offload thread
 * changes the tc copy; it is the same from when the flow is queued until it
 * has reached its target.
 *
 *      lock                    taken inside of
 *      --------------------    -----------------------------------------------
 *      config_mutex            nothing
 *      change_rwlock           config_mutex
 *      offload_dump.mutex      nothing
 *      stripe                  change_rwlock, offload_dump.mutex
 *      offload_waiter.mutex    stripe, config_mutex
 *      ports, chains, reasons, stripe; not each other
 *        counters, those that
 *        the backend needs for
 *        struct offload_rule
 *
 * Bounds
 * ------
 *
 * An offer that finds max_queued flows in the thread's queue is refused; the
 * flow stays in the kernel, which is counted, and is offered again when it is
 * dumped.  Changes and deletions of flows in tc, and returns of flows whose
 * rules vanished, are always accepted, though they count as queued, and come
 * before waiting offers, so that a long queue does not delay them.  A thread
 * takes OFFLOAD_BATCH flows at a time, or fewer if these take long. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "offload/offload-backend.h"
#include "openvswitch/hmap.h"
#include "openvswitch/thread.h"

struct offload;
struct offload_flow;

/* As in Open vSwitch. */
#define OFFLOAD_MAX_THREADS 10

/* Flows that a thread takes out of its queue at a time: enough for a backend
 * that sends many rules in one message, few enough that a barrier does not
 * wait long. */
#define OFFLOAD_BATCH 64

/* Concurrent dumps: the revalidators have one, the main thread has one or
 * two. */
#define OFFLOAD_MAX_DUMPS 4

struct offload_config {
    unsigned int n_threads;     /* 1 to OFFLOAD_MAX_THREADS. */
    unsigned int max_queued;    /* Flows in a thread's queue at which it
                                 * refuses offers. */
    unsigned int delay;         /* Age in ms at which a flow is offered. */
    unsigned int backoff;       /* First pause after ENOSPC, in ms; doubled
                                 * each time, up to OFFLOAD_BACKOFF_FACTOR
                                 * times as long. */
    unsigned int read_interval; /* Time in ms after which a thread reads the
                                 * counters of rules again, if they are not
                                 * too many; 0 if there is no such thread. */
    unsigned int max_idle;      /* Time in ms after which the user deletes an
                                 * unused flow.  A rule is read by then,
                                 * however many there are. */
    unsigned int audit_interval;        /* Time in ms after which that thread
                                 * compares all rules in tc with the flows; 0
                                 * if it does not. */
    unsigned int rebalance_interval;    /* Time in ms after which that thread
                                 * gives places in full cards to flows with
                                 * many packets; 0 if it does not. */
};

/* The interval that an owner should choose whose dumps look at flows again and
 * again: Open vSwitch looks at them twice a second, and expires flows that
 * were not used for ten. */
#define OFFLOAD_READ_INTERVAL 1000

/* A rule that no flow has is found within this time and the duration of a
 * list, and deleted in the next round, so that it is gone within ten seconds.
 * With more than OFFLOAD_AUDIT_PORTS ports it takes longer: a list takes the
 * RTNL lock for each, and the thread should take it less often than a stock
 * daemon with 100 ports does, which is 20 times a second. */
#define OFFLOAD_AUDIT_INTERVAL 5000
#define OFFLOAD_AUDIT_PORTS 100

/* As in Open vSwitch. */
#define OFFLOAD_REBALANCE_INTERVAL 3000
#define OFFLOAD_MAX_IDLE 10000

/* A pause after ENOSPC is doubled six times, to 64 times the first one: with
 * the default, a device that stays full is tried about once a minute. */
#define OFFLOAD_BACKOFF_FACTOR 64

/* Time in ms for which a device's refusal (EOPNOTSUPP) of a flow counts, for
 * the flow and others of its kind.  A driver's decision may depend on things
 * that change without notice, such as a route or a neighbour of a tunnel,
 * firmware, or a module.  One request a minute for each kind costs nothing. */
#define OFFLOAD_REFUSED_MSEC 60000

/* Flows of a kind that fail in a row for a reason that may be their own,
 * before other flows of the kind are not tried for a while: one or two may be
 * odd. */
#define OFFLOAD_KIND_FAILURES 3

#define OFFLOAD_CONFIG_DEFAULT \
    { .n_threads = 1, .max_queued = 65536, .delay = 0, .backoff = 1000, \
      .max_idle = OFFLOAD_MAX_IDLE }

struct offload *offload_create(const struct offload_kernel *,
                               const struct offload_backend *,
                               const struct offload_config *);
void offload_destroy(struct offload *);
void offload_configure(struct offload *, const struct offload_config *);
void offload_set_enabled(struct offload *, bool enabled);
void offload_set_chains(struct offload *, bool chains);
void offload_keep_chains(struct offload *, bool keep);
void offload_barrier(struct offload *);
int offload_flush(struct offload *);

/* Ports. */
void offload_port_add(struct offload *, uint32_t port);
void offload_port_del(struct offload *, uint32_t port);
void offload_port_changed(struct offload *, uint32_t port);
bool offload_port_had_rules(struct offload *, uint32_t port);

/* Says that a meter was added or changed, so that rejections of flows that
 * name meters are forgotten.  Any thread. */
void offload_meters_changed(struct offload *);

/* Flow operations. */
enum offload_op_type { OFFLOAD_PUT, OFFLOAD_DEL, OFFLOAD_GET };

struct offload_op {
    enum offload_op_type type;
    unsigned int flags;         /* PUT: OFFLOAD_PUT_*. */
    struct offload_desc *desc;  /* PUT: the caller keeps its reference. */
    ovs_u128 ufid;              /* DEL, GET. */
    bool want_stats;            /* PUT: DEL and GET always have them. */
    void *cookie;               /* For struct offload_copy_op. */

    /* Results. */
    int error;                  /* 0 or a positive errno value. */
    bool tracked;               /* The engine knew the flow, or does now.  If
                                 * not, the kernel operation was passed on
                                 * unchanged. */
    bool in_tc;                 /* GET: whether it is in tc. */
    enum offload_hw hw;         /* GET: whether the device has it. */
    struct offload_stats stats; /* PUT: after it, with 'want_stats'. */
    struct offload_desc *result;    /* GET, if 'tracked': description, with a
                                     * reference for the caller. */
};

void offload_operate(struct offload *, struct offload_op *ops[], size_t n);

/* Returns a description of flow 'ufid' in the kernel, with a reference for the
 * caller, or NULL if it is not there. */
typedef struct offload_desc *offload_learn_cb(void *aux, const ovs_u128 *ufid);

bool offload_learn(struct offload *, const ovs_u128 *ufid,
                   offload_learn_cb *, void *aux);

/* Dumps. */
enum offload_dump_type {
    OFFLOAD_DUMP_KERNEL = 1 << 0,       /* Flows that are not in tc. */
    OFFLOAD_DUMP_TC = 1 << 1,           /* Flows that are. */
    OFFLOAD_DUMP_ALL = OFFLOAD_DUMP_KERNEL | OFFLOAD_DUMP_TC,
};

struct offload_dump {
    struct offload *offload;
    enum offload_dump_type type;
    bool lax;                   /* Known statistics of flows in tc suffice. */
    uint32_t round;             /* In which rules were read, unless 'lax'. */
    unsigned int slot;
    uint32_t id;
    uint64_t start;             /* Move clock at the start. */
    struct ovs_mutex mutex;     /* Guards what follows. */
    unsigned int next_stripe;
    struct offload_flow **flows;    /* With references. */
    size_t n_flows, allocated_flows;
};

/* A flow in a dump. */
struct offload_dumped {
    struct offload_desc *desc;  /* A reference for the caller; NULL if the
                                 * engine does not know the flow. */
    bool in_tc;
    enum offload_hw hw;         /* Whether the device has it, if 'in_tc'. */
    struct offload_stats stats;
};

int offload_dump_start(struct offload *, enum offload_dump_type, bool lax,
                       struct offload_dump *);
bool offload_dump_kernel(struct offload_dump *, const ovs_u128 *ufid,
                         const struct offload_stats *,
                         struct offload_dumped *);
size_t offload_dump_next(struct offload_dump *, struct offload_dumped *,
                         size_t n);
void offload_dump_done(struct offload_dump *);

uint32_t offload_read_rules(struct offload *);

#endif /* lib/offload/offload.h */
