/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_TC_TC_KDP_H
#define KDP_TC_TC_KDP_H 1

/* What the files of dpif-netlink/flow-offload.h share. */

#include "dpif-netlink/flow-offload.h"
#include "netlink-socket.h"
#include "offload/offload.h"
#include "openvswitch/hmap.h"
#include "ovs-atomic.h"
#include "ovs-thread.h"
#include "tc.h"

struct kdp_gate;
struct netdev;
struct ofpbuf;

/* What tc calls a rule. */
struct kdp_tc_id {
    int ifindex;                /* Of the device, or "a block". */
    uint32_t parent;            /* Hook, or number of the block. */
    uint32_t info;              /* Priority and protocol. */
    uint32_t handle;
    uint32_t chain;
};

/* A rule as tc tells it. */
struct kdp_tc_rule {
    struct kdp_tc_id id;
    ovs_u128 ufid;              /* Its cookie. */
    struct offload_stats stats;
    uint64_t n_sw_packets;      /* Of 'stats', those not met by the device. */
    bool in_hw;
};

/* tc/tc-parse.c: messages about rules. */

/* Stores the rule that 'msg' is about in '*rule' and returns true, or returns
 * false if it is not one that may be ours: of a flow, which its cookie is the
 * ufid of, and with no other actions than those of Open vSwitch.  'msg' may
 * have any contents and size. */
bool kdp_tc_rule_parse(const struct ofpbuf *msg, struct kdp_tc_rule *rule);

/* Stores the ufid that the rule that 'msg', a request or a reply, is about has
 * as its cookie in '*ufid'.  Returns false if it has none. */
bool kdp_tc_ufid_parse(const struct ofpbuf *msg, ovs_u128 *ufid);

/* Stores what the rule that 'msg', a request or a reply, is about is called in
 * '*id'. */
void kdp_tc_id_parse(const struct ofpbuf *msg, struct kdp_tc_id *id);

/* tc/tc-transact.c: requests to tc.  Any thread. */

/* Requests that are sent together, at most. */
#define KDP_TC_BATCH OFFLOAD_BATCH

enum kdp_tc_request_type { KDP_TC_ADD, KDP_TC_DEL, KDP_TC_GET };

struct kdp_tc_request {
    enum kdp_tc_request_type type;
    struct kdp_tc_id id;        /* ADD: but 'handle' made by
                                 * kdp_tc_translate(). */
    struct ofpbuf *rule;        /* ADD: made by kdp_tc_translate(). */

    /* Results. */
    int error;                  /* 0 or a positive errno value: ENOENT for one
                                 * that tc does not have. */
    struct kdp_tc_rule reply;   /* DEL, GET: what it was, or is. */
};

/* Sends the 'n' requests, in order, and waits for all answers. */
void kdp_tc_transact(struct kdp_tc_request *requests[], size_t n);

/* Has the kernel load the kinds of actions that rules of ours may have, which
 * takes a second or so where files are slow, so that no rule has to wait for
 * that.  A kind that it does not have is logged.  Takes the RTNL lock, but not
 * while something is loaded.  The caller should be quiescent. */
void kdp_tc_load_actions(void);

/* Has the flow API of 'netdev' translate a flow into a request to add a rule,
 * which is stored in '*rule', for the caller to free, and its name but for the
 * handle in '*id'.  Returns 0 or a positive errno value. */
int kdp_tc_translate(struct netdev *netdev, const struct offload_desc *,
                     bool recirc_sharing, struct ofpbuf **rule,
                     struct kdp_tc_id *id);

/* Goes through the rules of a device that have a ufid.  Threads may share a
 * dump, each with a buffer of its own of NL_DUMP_BUFSIZE. */
int kdp_tc_dump_start(struct netdev *, bool terse, struct nl_dump *);
bool kdp_tc_dump_next(struct nl_dump *, struct ofpbuf *buffer,
                      struct kdp_tc_rule *);
int kdp_tc_dump_done(struct nl_dump *);

/* Has the flow API's dumps by the calling thread leave out rules that are not
 * ours, whose actions it may not know and would complain about. */
void kdp_tc_only_ours(bool only_ours);

/* Where rules of 'netdev', a device whose index is 'ifindex', are. */
struct tcf_id kdp_tc_place(struct netdev *netdev, int ifindex);

/* tc/tc-backend.c: the tc side of a datapath.
 *
 * Thread safety: any thread, see struct offload_backend. */
struct kdp_tc {
    const char *dpif_type;      /* As netdev_ports_get() needs it. */
    bool recirc_sharing;        /* Tc's chains are known to the datapath. */
    atomic_bool count_headers;  /* In bytes of rules made from now on. */
    atomic_llong dump_after;    /* See kdp_tc_may_dump(). */

    struct ovs_mutex actions_mutex;
    bool loaded_actions OVS_GUARDED;    /* See kdp_tc_load_actions(). */

    struct ovs_mutex mutex;
    struct hmap rules OVS_GUARDED;      /* By ufid. */
    struct hmap counts OVS_GUARDED;     /* Numbers of rules, by ifindex. */
};

void kdp_tc_init(struct kdp_tc *, bool recirc_sharing);
void kdp_tc_destroy(struct kdp_tc *);
struct offload_backend kdp_tc_backend(struct kdp_tc *);

/* Number of rules on device 'ifindex'.  Those that members of a bond share are
 * on the bond. */
uint64_t kdp_tc_count(struct kdp_tc *, int ifindex);

/* Takes note of a rule, and returns its overhead (see kdp_tc_overhead()).
 * 'desc' may be NULL if it is not known; 'own_handle' says that the handle is
 * from our pool. */
uint16_t kdp_tc_insert(struct kdp_tc *, const ovs_u128 *ufid, uint32_t port_no,
                       const struct kdp_tc_id *, const struct offload_desc *,
                       bool own_handle);

/* Forgets the rules of port 'port_no'. */
void kdp_tc_forget_port(struct kdp_tc *, uint32_t port_no);

/* Bytes to be added for each packet of 'desc' to those that tc counts where
 * 'id' is: those that tc leaves out if 'count_headers', else 0.  That is
 * decided on when the rule is made, so that its count never falls.
 *
 * That holds for packets that are one to tc, too.  Of one that the network
 * stack has merged, or will have to split, tc counts the segments as packets,
 * but the Ethernet header is missing from its bytes once, so that its bytes
 * come out too large by the overhead of all segments but one.  (At egress tc
 * counts the headers of each segment by itself.) */
uint16_t kdp_tc_overhead(struct kdp_tc *, const struct offload_desc *,
                         const struct kdp_tc_id *id);

/* Takes note whether the rule of 'ufid' was found in the device, and returns
 * its overhead. */
uint16_t kdp_tc_saw(struct kdp_tc *, const ovs_u128 *ufid, bool in_hw);

/* Handles that we choose: one of several ranges, away from the small numbers
 * that the kernel and people choose, each with more than a datapath has
 * flows.  The range is chosen by chance, so that the handles of rules that a
 * previous run left are hardly ever among them. */
#define KDP_TC_HANDLE_FIRST 0x10000000
#define KDP_TC_HANDLE_N (1u << 24)
#define KDP_TC_HANDLE_RANGES 224

/* May the pool give out 'handle'? */
bool kdp_tc_is_own_handle(uint32_t handle);

/* tc/tc-adopt.c.  The first two are of struct offload_backend. */
int kdp_tc_adopt(void *tc, uint32_t port_no, offload_dump_cb *, void *cb_aux);
int kdp_tc_flush(void *tc, uint32_t port_no);

/* Deletes the rules that another run of ours left on 'netdev', while no engine
 * makes any, until 'stop' becomes true.  Enters 'gate' for each request during
 * which the kernel does not let go of the queueing discipline.  Returns how
 * many were deleted. */
size_t kdp_tc_delete_left(struct netdev *, struct kdp_gate *,
                          atomic_bool *stop);

/* A rule that was there when the list was made. */
struct kdp_tc_listed {
    ovs_u128 ufid;
    struct kdp_tc_id id;
    uint32_t port_no;
    uint16_t overhead;          /* For kdp_tc_stats(). */
};

/* A device that has rules, or the members of a bond. */
struct kdp_tc_device {
    uint32_t port_no;           /* One of its ports. */
    bool in_hw;                 /* Some are in the device. */
};

/* All rules, once each. */
struct kdp_tc_list {
    struct kdp_tc_listed *rules;        /* To be asked for by name. */
    size_t n_rules;
    struct kdp_tc_device *devices;      /* Whose rules a dump is to tell. */
    size_t n_devices;
};

/* Returns the statistics of 'rule' with 'overhead' bytes more for each packet.
 * Tc counts a packet without the Ethernet header at ingress, and without a
 * VLAN tag that the device took off.  What a device forwards itself is taken
 * as it counts it. */
struct offload_stats kdp_tc_stats(const struct kdp_tc_rule *rule,
                                  uint16_t overhead);

/* Stores a list of all rules in '*list', to be freed by kdp_tc_list_uninit().
 * Devices are those that have 'n_dump' rules or more, or some that are in the
 * device itself. */
void kdp_tc_list(struct kdp_tc *, uint64_t n_dump, struct kdp_tc_list *list);
void kdp_tc_list_uninit(struct kdp_tc_list *);

/* May rules be listed by dumps that could be asked for by name as well?  A
 * dump takes far less time for a rule, but the RTNL lock for each part.  Where
 * that was to be waited for as long as KDP_TC_SLOW_DUMP ms, there are no such
 * dumps for KDP_TC_DUMP_PAUSE ms. */
#define KDP_TC_SLOW_DUMP 5
#define KDP_TC_DUMP_PAUSE 30000
bool kdp_tc_may_dump(struct kdp_tc *);

/* Says that a part of a dump had to wait, and took 'duration' ms. */
void kdp_tc_dump_waited(struct kdp_tc *, long long int duration);

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

/* Description of a flow, with a reference for the caller.  The attributes are
 * copied. */
struct offload_desc *kdp_offload_desc(
    const ovs_u128 *ufid, const struct nlattr *key, size_t key_len,
    const struct nlattr *mask, size_t mask_len, const struct nlattr *actions,
    size_t actions_len);

/* Has the engine take over flow 'ufid', which the kernel has and the engine
 * does not know. */
void kdp_offload_learn(struct kdp_offload *, const ovs_u128 *ufid);

/* The kernel side, whose 'aux' is a struct kdp_offload. */
struct offload_kernel kdp_offload_kernel(struct kdp_offload *);

void kdp_stats_from_dpif(const struct dpif_flow_stats *,
                         struct offload_stats *);
void kdp_stats_to_dpif(const struct offload_stats *,
                       struct dpif_flow_stats *);

/* tc/tc-clean.c.  A lock that who waits for it gets before who had it
 * last. */
struct kdp_gate {
    struct ovs_mutex queue;     /* Held by who is next. */
    struct ovs_mutex mutex;     /* After "queue". */
};

void kdp_gate_init(struct kdp_gate *);
void kdp_gate_destroy(struct kdp_gate *);
void kdp_gate_enter(struct kdp_gate *gate) OVS_ACQUIRES(gate->mutex);
void kdp_gate_leave(struct kdp_gate *gate) OVS_RELEASES(gate->mutex);

struct kdp_offload_cleaner *kdp_offload_cleaner_start(const char *dpif_type);
void kdp_offload_cleaner_join(struct kdp_offload_cleaner *, bool finish);

/* tc/tc-prepare.c */
void kdp_offload_api_register(void);

/* Adds the place for rules of 'netdev' again if somebody has taken it away.
 * Returns true if so.  One that members of a bond share is not added. */
bool kdp_offload_api_restore(struct netdev *netdev);

/* dpif-netlink/flow-show.c */
void kdp_offload_show_register(void);

#endif /* lib/tc/tc-kdp.h */
