/* SPDX-License-Identifier: Apache-2.0 */

#ifndef OFFLOAD_INFO_H
#define OFFLOAD_INFO_H 1

/* Information about the offload engine
 *
 * Each offload thread has counters.  Each request is counted as enqueued and
 * ends in exactly one of the outcomes, so that when nothing is in progress
 *
 *     enqueued = inserted + modified + deleted + returned + rejected
 *                + superseded
 *
 * Latency is the time from the request, or for a parked flow from the arrival
 * of its parent, to its insertion into tc. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "offload/offload-backend.h"
#include "openvswitch/compiler.h"
#include "openvswitch/types.h"
#include "stats/latency-hist.h"
#include "stats/moving-average.h"

struct ds;
struct findings;
struct json;
struct offload;

/* See offload.h. */
enum offload_state {
    OFFLOAD_STATE_KERNEL,
    OFFLOAD_STATE_QUEUED,
    OFFLOAD_STATE_PARKED,       /* Queued, but waits for its parent. */
    OFFLOAD_STATE_IN_TC,
    OFFLOAD_STATE_MOVING_BACK,
    OFFLOAD_STATE_REJECTED,
    OFFLOAD_STATE_DELETING,
    OFFLOAD_N_STATES
};

const char *offload_state_to_string(enum offload_state);
const char *offload_hw_to_string(enum offload_hw);

/* Why a flow is not in tc. */
enum OVS_PACKED_ENUM offload_reason {
    OFFLOAD_REASON_NONE,
    /* The flow was not offered. */
    OFFLOAD_REASON_DISABLED,    /* Offload is off. */
    OFFLOAD_REASON_NO_PORT,     /* No such port. */
    OFFLOAD_REASON_RECONCILING, /* The port's old rules come first. */
    OFFLOAD_REASON_YOUNG,       /* Younger than the delay. */
    OFFLOAD_REASON_FULL,        /* The queue was full. */
    OFFLOAD_REASON_BACKOFF,     /* The device is full and backs off. */
    OFFLOAD_REASON_KIND,        /* The device rejected others of its kind. */
    /* The flow was offered, and tc refused it. */
    OFFLOAD_REASON_UNSUPPORTED, /* EOPNOTSUPP. */
    OFFLOAD_REASON_NO_SPACE,    /* ENOSPC. */
    OFFLOAD_REASON_NO_DEVICE,   /* ENODEV. */
    OFFLOAD_REASON_EXISTS,      /* EEXIST. */
    OFFLOAD_REASON_ERROR,       /* Another error. */
    /* The flow was in tc. */
    OFFLOAD_REASON_VANISHED,    /* Another process removed the rule. */
    OFFLOAD_REASON_SOFTWARE,    /* Its card had no room for it. */
    OFFLOAD_REASON_OUTRANKED,   /* Others with more packets have its place. */
    OFFLOAD_N_REASONS
};

const char *offload_reason_to_string(enum offload_reason);
bool offload_reason_is_rejection(enum offload_reason);

enum offload_counter {
    OFFLOAD_ENQUEUED,           /* Requests. */
    OFFLOAD_INSERTED,           /* Put into tc. */
    OFFLOAD_MODIFIED,           /* Changed in tc. */
    OFFLOAD_DELETED,            /* Deleted from tc. */
    OFFLOAD_RETURNED,           /* Moved back to the kernel. */
    OFFLOAD_REJECTED,           /* Refused by tc. */
    OFFLOAD_SUPERSEDED,         /* Replaced by a later request. */
    OFFLOAD_PARKED,             /* Times that a flow waited for its parent. */
    OFFLOAD_ADOPTED,            /* Rules found on a port that became flows. */
    OFFLOAD_STALE,              /* Rules found on a port and deleted, as their
                                 * flows are known but not in tc, or the rules
                                 * are not understood. */
    OFFLOAD_VANISHED,           /* Rules that another process removed. */
    OFFLOAD_LEAKED,             /* Rules that tc did not delete for long.
                                 * Deletion is still retried. */
    OFFLOAD_OVERLAPPED,         /* Times that the kernel refused to take a flow
                                 * back, because another flow there overlaps
                                 * with it.  It then has no copy. */
    OFFLOAD_LOST,               /* Times that it did for another reason. */
    OFFLOAD_ORPHANS,            /* Rules of ours found in tc that no flow had:
                                 * they are deleted. */
    OFFLOAD_REMADE,             /* Vanished rules that were put into tc
                                 * again. */
    OFFLOAD_N_COUNTERS
};

struct offload_thread_info {
    unsigned int id;
    bool running;
    uint64_t counters[OFFLOAD_N_COUNTERS];
    uint32_t n_queued;          /* Flows in the queue now... */
    uint32_t most_queued;       /* ...and the maximum so far. */
    uint64_t n_rules;           /* In tc, of flows of this thread. */
    struct average_summary cumulative;      /* Latency in microseconds. */
    struct average_summary exponential;
    struct latency_summary latency;
};

struct offload_reason_info {
    uint64_t n;
    ovs_u128 ufid;              /* The latest example. */
    uint32_t port;
    int error;                  /* Its errno value, or 0. */
    const char *why;            /* The reason in words, or NULL. */
};

struct offload_engine_info {
    size_t n_threads;           /* Threads that ever ran. */
    size_t n_running;           /* The first n_running of them run. */
    struct offload_thread_info threads[10];
    struct offload_thread_info total;   /* Without the percentiles. */
    uint64_t n_flows[OFFLOAD_N_STATES];
    uint64_t n_hw[OFFLOAD_N_HW];        /* Flows in tc. */
    struct offload_reason_info reasons[OFFLOAD_N_REASONS];
    uint32_t n_backoffs;        /* Ports that back off now. */
    uint64_t n_retried;         /* Rules whose deletion has failed and is
                                 * retried... */
    uint64_t n_stuck;           /* ...and rules that tc has not deleted for
                                 * more than a second. */
    uint64_t n_audits;          /* Times that all rules in tc were compared
                                 * with the flows. */
};

void offload_get_info(struct offload *, struct offload_engine_info *);

/* Returns the number of flows that are in tc and not in the kernel.  Cheap;
 * not exact while flows move. */
uint64_t offload_n_tc_only(struct offload *);

/* A flow. */
struct offload_flow_info {
    enum offload_state state;
    enum offload_hw hw;         /* If it is in tc. */
    enum offload_reason reason;
    int error;                  /* From tc, or 0. */
    const char *why;            /* The reason in words, or why cards skip the
                                 * rule, or NULL. */
    uint32_t port;
    uint32_t recirc_id;
    long long int retry;        /* ms until it may be offered again, or 0. */
};

int offload_get_flow_info(struct offload *, const ovs_u128 *ufid,
                          struct offload_flow_info *);

/* Calls 'cb', which must not call the engine, for each flow. */
typedef void offload_flow_cb(void *aux, const struct offload_desc *,
                             const struct offload_flow_info *);
void offload_for_each_flow(struct offload *, offload_flow_cb *, void *aux);

/* Output.  Pure functions of their arguments. */
void offload_show_text(const struct offload_engine_info *, struct ds *);
struct json *offload_show_json(const struct offload_engine_info *);
void offload_why_text(const ovs_u128 *ufid, const struct offload_flow_info *,
                      struct ds *);
struct json *offload_why_json(const ovs_u128 *ufid,
                              const struct offload_flow_info *);

/* The figures of the command dpctl/offload-stats-show: first the totals, then
 * the figures of each running thread.  As in the userspace datapath,
 * "enqueued" is what waits and "inserted" what is in tc now.  The averages in
 * the totals are over all insertions, not averages of averages. */
#define OFFLOAD_FIGURES 6       /* For each. */

struct offload_figure {
    char name[64];
    uint64_t value;
};

size_t offload_figures(const struct offload_engine_info *,
                       struct offload_figure **figures);

/* Adds the findings of kdp/doctor (unixctl/findings.h) about datapath 'name'
 * to 'findings'.  Any thread. */
void offload_diagnose(const char *name, const struct offload_engine_info *,
                      struct findings *findings);

#endif /* lib/offload/offload-info.h */
