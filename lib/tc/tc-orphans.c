/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "tc/tc-orphans.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdlib.h>
#include <time.h>

#include "hmapx.h"
#include "netdev-linux/ingress-qdisc.h"
#include "netdev-linux/rtnl-count.h"
#include "netlink.h"
#include "netlink-socket.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "openvswitch/ofpbuf.h"
#include "openvswitch/vlog.h"
#include "ovs-rcu.h"
#include "ovs-thread.h"
#include "ovs/compat-offload.h"
#include "tc.h"
#include "tc/tc-handle.h"
#include "tc/tc-parse.h"
#include "tc/tc-places.h"
#include "tc/tc-transact.h"
#include "timeval.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(kdp_tc_orphans);

/* A few devices with many rules, such as a rack's former ports, should not
 * fill the log. */
static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(60, 60);

static struct ovs_mutex mutex = OVS_MUTEX_INITIALIZER;

/* Interface indexes, as pointers. */
static struct hmapx spared OVS_GUARDED_BY(mutex)
    = HMAPX_INITIALIZER(&spared);
static struct hmapx former OVS_GUARDED_BY(mutex)
    = HMAPX_INITIALIZER(&former);

static struct kdp_tc_orphans_info info OVS_GUARDED_BY(mutex);
static const char *type OVS_GUARDED_BY(mutex);
static unsigned int flags OVS_GUARDED_BY(mutex);       /* For the next pass. */
static bool again OVS_GUARDED_BY(mutex);        /* One more pass is wanted. */
static bool stopping OVS_GUARDED_BY(mutex);
static bool finishing OVS_GUARDED_BY(mutex);    /* No retries. */
static bool last_ended OVS_GUARDED_BY(mutex);   /* A KDP_TC_ORPHANS_LAST
                                                 * one. */

/* Wakes the thread while it waits to retry, with 'mutex'. */
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;

/* Milliseconds before a pass that failed in part is repeated: the kernel may
 * be short of memory for a moment, or a driver busy.  Doubles each time, up to
 * the last one, so that rules that a driver never deletes cost little. */
#define FIRST_PAUSE 1000
#define LAST_PAUSE 64000

/* These belong to the main thread. */
static pthread_t thread;
static bool joinable;           /* 'thread' has been started. */

static void *
as_node(int ifindex)
{
    return (void *) (uintptr_t) ifindex;
}

static bool
is_stopping(void)
{
    bool stop;

    ovs_mutex_lock(&mutex);
    stop = stopping;
    ovs_mutex_unlock(&mutex);
    return stop;
}

/* Rules in a place. */

struct orphans {
    struct kdp_tc_id *ids;
    size_t n, allocated;
};

static void
orphans_add(struct orphans *orphans, const struct kdp_tc_id *id)
{
    if (orphans->n == orphans->allocated) {
        orphans->ids = x2nrealloc(orphans->ids, &orphans->allocated,
                                  sizeof *orphans->ids);
    }
    orphans->ids[orphans->n++] = *id;
}

/* Is 'ufid' one that Open vSwitch has computed from a flow's key? */
static bool
is_version_4(const ovs_u128 *ufid)
{
    return ((ufid->u32[1] & 0xf000) == 0x4000
            && (ufid->u32[2] & 0xc0000000) == 0x80000000);
}

/* Was 'rule' made by a previous run?  'was_port' says that its device was a
 * port then. */
static bool
is_of_previous_run(const struct kdp_tc_rule *rule, bool was_port)
{
    return (kdp_tc_handle_is_kdp(rule->id.handle)
            || (was_port && is_version_4(&rule->ufid)));
}

/* Lists the rules of a previous run in 'place': those that lead to another
 * chain, and the others.  Returns 0 or a positive errno value. */
static int
find_orphans(const struct tcf_id *place, bool was_port,
             struct orphans *parents, struct orphans *others)
{
    /* The device may have been bound to a block meanwhile. */
    int ifindex = (place->block_id ? (int) TCM_IFINDEX_MAGIC_BLOCK
                   : place->ifindex);
    struct kdp_tc_rule rule;
    struct ofpbuf buffer;
    struct nl_dump dump;
    int error;

    kdp_tc_dump_start(place, &dump);
    ofpbuf_init(&buffer, NL_DUMP_BUFSIZE);
    while (kdp_tc_dump_next(&dump, &buffer, &rule)) {
        if (is_of_previous_run(&rule, was_port)
            && rule.id.ifindex == ifindex) {
            kdp_tc_handle_found(rule.id.handle);
            orphans_add(rule.jumps ? parents : others, &rule.id);
        }
    }
    ofpbuf_uninit(&buffer);
    error = kdp_tc_dump_done(&dump);
    return error == ENODEV ? 0 : error;
}

/* The result of deleting rules in a place. */
struct outcome {
    size_t n_deleted, n_failed;
    int error;                  /* Of one that failed. */
};

static void
delete_rule(const struct kdp_tc_id *id, struct outcome *outcome)
{
    struct kdp_tc_request request = { .type = KDP_TC_DEL, .id = *id };

    kdp_tc_transact((struct kdp_tc_request *[]) { &request }, 1);
    if (!request.error) {
        outcome->n_deleted++;
    } else if (request.error != ENOENT && request.error != ENODEV) {
        outcome->n_failed++;
        outcome->error = request.error;
    }
}

/* Deletes 'orphans', which are in 'place', and frees them.  Sends one request
 * at a time, as the main thread may wait for the lock. */
static void
delete_orphans(const struct tcf_id *place, struct orphans *orphans,
               struct outcome *outcome)
{
    int device = kdp_tc_place_device(place);
    struct qdisc_lock *lock = qdisc_lock_get(device);
    bool go_on = true;

    for (size_t i = 0; go_on && i < orphans->n; i++) {
        qdisc_lock_acquire(lock);
        ovs_mutex_lock(&mutex);
        go_on = !stopping && !hmapx_contains(&spared, as_node(device));
        ovs_mutex_unlock(&mutex);
        if (go_on) {
            delete_rule(&orphans->ids[i], outcome);
        }
        qdisc_lock_release(lock);
    }
    free(orphans->ids);
}

static void
log_outcome(const struct tcf_id *place, const struct outcome *outcome)
{
    const char *s = outcome->n_deleted == 1 ? "" : "s";
    char name[IF_NAMESIZE + 16];

    if (place->block_id) {
        snprintf(name, sizeof name, "block %"PRIu32, place->block_id);
    } else if (!if_indextoname(place->ifindex, name)) {
        snprintf(name, sizeof name, "device %d", place->ifindex);
    }
    if (outcome->n_deleted) {
        VLOG_INFO_RL(&rl, "%s: deleted %"PRIuSIZE" rule%s that a previous run "
                     "left in tc", name, outcome->n_deleted, s);
    }
    if (outcome->n_failed) {
        VLOG_WARN_RL(&rl, "%s: %"PRIuSIZE" rules that a previous run left in "
                     "tc cannot be deleted (%s), and go on forwarding", name,
                     outcome->n_failed, ovs_strerror(outcome->error));
    }
}

/* Deletes the rules of a previous run in 'place'.  Returns the number of
 * failures; a failed dump counts as one. */
static size_t
clean_place(const struct tcf_id *place)
{
    struct orphans parents = { .n = 0 }, others = { .n = 0 };
    struct outcome outcome = { .n_deleted = 0 };
    bool was_port;
    int error;

    ovs_mutex_lock(&mutex);
    was_port = hmapx_contains(&former, as_node(kdp_tc_place_device(place)));
    ovs_mutex_unlock(&mutex);
    error = find_orphans(place, was_port, &parents, &others);
    if (error) {
        VLOG_WARN_RL(&rl, "device %d: rules that a previous run may have left "
                     "in tc cannot be listed (%s)", kdp_tc_place_device(place),
                     ovs_strerror(error));
    }

    /* No packet must be sent to a chain that is partly deleted. */
    delete_orphans(place, &parents, &outcome);
    delete_orphans(place, &others, &outcome);
    log_outcome(place, &outcome);
    ovs_mutex_lock(&mutex);
    info.n_deleted += outcome.n_deleted;
    ovs_mutex_unlock(&mutex);
    return outcome.n_failed + (error != 0);
}

bool
kdp_tc_orphans_may_unbind(uint32_t block_id)
{
    struct tcf_id place = tc_make_tcf_id(0, block_id, 0, TC_INGRESS);
    struct ofpbuf msg, buffer;
    struct kdp_tc_rule rule;
    struct nl_dump dump;
    bool may = true;

    kdp_rtnl_count(KDP_RTNL_TC_DUMP);
    tc_dump_flower_start(&place, &dump, true);
    ofpbuf_init(&buffer, NL_DUMP_BUFSIZE);
    while (may && nl_dump_next(&dump, &msg, &buffer)) {
        const struct tcmsg *tcm = ofpbuf_at(&msg, NLMSG_HDRLEN, sizeof *tcm);

        /* A message without a handle is about a priority. */
        may = (tcm && (!tcm->tcm_handle
                       || (kdp_tc_rule_parse(&msg, &rule)
                           && is_of_previous_run(&rule, false))));
    }
    ofpbuf_uninit(&buffer);
    /* Rules that are missing in the dump may be anyone's. */
    return !kdp_tc_dump_done(&dump) && may;
}

/* Passes. */

/* Returns true if there was no failure, or the pass was ended early. */
static bool
make_pass(void)
{
    struct kdp_tc_places ports = { .n = 0 }, places = { .n = 0 };
    const char *dpif_type;
    unsigned int pass_flags;
    size_t n_failed = 0;
    int error;

    ovs_mutex_lock(&mutex);
    dpif_type = type;
    pass_flags = flags;
    ovs_mutex_unlock(&mutex);
    if (pass_flags & KDP_TC_ORPHANS_SPARE_PORTS) {
        kdp_tc_places_add_ports(&ports, dpif_type);
    }
    error = kdp_tc_places_add_all(&places);
    if (error) {
        VLOG_WARN("queueing disciplines cannot be listed (%s); rules that a "
                  "previous run may have left on devices that are no ports "
                  "go on forwarding", ovs_strerror(error));
    }
    for (size_t i = 0; i < places.n && !is_stopping(); i++) {
        const struct kdp_tc_place *place = &places.array[i];

        if ((!i || !kdp_tc_places_is_same(place, place - 1))
            && !kdp_tc_places_find(&ports, &place->id)) {
            n_failed += clean_place(&place->id);
        }
    }
    kdp_tc_places_uninit(&places);
    kdp_tc_places_uninit(&ports);
    ovs_mutex_lock(&mutex);
    if (stopping) {
        n_failed = 0;
    } else {
        n_failed += error != 0;
        info.n_passes++;
        info.n_failed = n_failed;
        if (pass_flags & KDP_TC_ORPHANS_LAST) {
            last_ended = true;
            if (!n_failed) {
                hmapx_clear(&former);
            }
        }
    }
    ovs_mutex_unlock(&mutex);
    return !n_failed;
}

/* Waits for 'pause' ms, or until a pass is requested or passes end. */
static void
wait_to_try_again(unsigned int pause)
    OVS_REQUIRES(mutex)
{
    struct timespec end;
    int error = 0;

    xclock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += pause / 1000;
    while (!again && !stopping && !finishing && error != ETIMEDOUT) {
        error = pthread_cond_clockwait(&wake, &mutex.lock, CLOCK_MONOTONIC,
                                       &end);
    }
}

static void *
make_passes(void *aux OVS_UNUSED)
{
    unsigned int pause = FIRST_PAUSE;
    bool go_on;

    ovsrcu_quiesce_start();
    do {
        bool well = make_pass();

        ovs_mutex_lock(&mutex);
        if (well || again) {
            pause = FIRST_PAUSE;
        } else {
            wait_to_try_again(pause);
            pause = MIN(2 * pause, LAST_PAUSE);
        }
        go_on = info.under_way = (again || (!well && !finishing)) && !stopping;
        again = false;
        ovs_mutex_unlock(&mutex);
    } while (go_on);
    return NULL;
}

static void
join(void)
{
    if (joinable) {
        xpthread_join(thread, NULL);
        joinable = false;
    }
}

void
kdp_tc_orphans_look(const char *dpif_type, unsigned int flags_)
{
    bool start;

    ovs_mutex_lock(&mutex);
    type = dpif_type;
    flags = flags_;
    start = !info.under_way;
    if (start) {
        hmapx_clear(&spared);
    }
    again = !start;
    last_ended = false;
    info.under_way = true;
    xpthread_cond_signal(&wake);
    ovs_mutex_unlock(&mutex);
    if (start) {
        join();
        thread = ovs_thread_create("rule_orphan", make_passes, NULL);
        joinable = true;
    }
}

void
kdp_tc_orphans_stop(bool finish)
{
    ovs_mutex_lock(&mutex);
    stopping = !finish;
    finishing = finish;
    xpthread_cond_signal(&wake);
    ovs_mutex_unlock(&mutex);
    join();
    ovs_mutex_lock(&mutex);
    stopping = finishing = false;
    ovs_mutex_unlock(&mutex);
}

bool
kdp_tc_orphans_last_ended(void)
{
    bool ended;

    ovs_mutex_lock(&mutex);
    ended = last_ended;
    ovs_mutex_unlock(&mutex);
    return ended;
}

void
kdp_tc_orphans_was_port(int ifindex)
{
    ovs_mutex_lock(&mutex);
    hmapx_add(&former, as_node(ifindex));
    ovs_mutex_unlock(&mutex);
}

void
kdp_tc_orphans_spare(int ifindex)
{
    struct qdisc_lock *lock = qdisc_lock_get(ifindex);
    bool wait;

    ovs_mutex_lock(&mutex);
    wait = info.under_way;
    if (wait) {
        hmapx_add(&spared, as_node(ifindex));
    }
    ovs_mutex_unlock(&mutex);
    if (wait) {
        qdisc_lock_acquire(lock);
        qdisc_lock_release(lock);
    }
}

/* Output. */

void
kdp_tc_orphans_get_info(struct kdp_tc_orphans_info *infop)
{
    ovs_mutex_lock(&mutex);
    *infop = info;
    ovs_mutex_unlock(&mutex);
}

void
kdp_tc_orphans_show_text(struct ds *s)
{
    struct kdp_tc_orphans_info now;

    kdp_tc_orphans_get_info(&now);
    ds_put_format(s, "rules of no port: deleted %"PRIu64", could not be "
                  "deleted %"PRIu64", passes %"PRIu64"%s\n", now.n_deleted,
                  now.n_failed, now.n_passes,
                  now.under_way ? ", one under way" : "");
}

struct json *
kdp_tc_orphans_show_json(void)
{
    struct json *json = json_object_create();
    struct kdp_tc_orphans_info now;

    kdp_tc_orphans_get_info(&now);
    json_object_put(json, "deleted", json_integer_create(now.n_deleted));
    json_object_put(json, "failed", json_integer_create(now.n_failed));
    json_object_put(json, "passes", json_integer_create(now.n_passes));
    json_object_put(json, "under_way", json_boolean_create(now.under_way));
    return json;
}
