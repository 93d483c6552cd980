/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "upcall/upcall-groups.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "openvswitch/vlog.h"
#include "ovs-atomic.h"
#include "ovs/compat-util.h"
#include "upcall/upcall-channel.h"
#include "upcall/upcall-sched.h"
#include "upcall/upcall-turn.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(upcall_groups);

/* Credit for loans is counted in these fractions of a channel.  The second
 * constant says how much of its share a group may lack before it gives turns
 * away.  Lengths of queues vary all the time; an eighth hurts no port and
 * keeps loans few. */
#define CREDIT_ONE 256
#define CREDIT_ENOUGH (CREDIT_ONE - CREDIT_ONE / 8)

struct upcall_groups {
    struct ovs_refcount refcount;
    uint32_t n_handlers;
    int call_fd;                /* eventfd in the epoll instances of all
                                 * groups, never read; -1 with one group. */
    uint32_t n;
    struct upcall_sched *scheds[];
};

static void
upcall_groups_destroy(struct upcall_groups *groups)
{
    for (uint32_t i = 0; i < groups->n; i++) {
        upcall_sched_destroy(groups->scheds[i]);
    }
    if (groups->call_fd >= 0) {
        close(groups->call_fd);
    }
    free(groups);
}

/* Creates 'n' groups. */
static int
upcall_groups_create__(uint32_t generation, uint32_t n_handlers, uint32_t n,
                       struct upcall_groups **groupsp)
{
    struct upcall_groups *groups = xzalloc(sizeof *groups
                                           + n * sizeof *groups->scheds);
    int error = 0;

    ovs_refcount_init(&groups->refcount);
    groups->n_handlers = n_handlers;
    groups->call_fd = n > 1 ? eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) : -1;
    if (n > 1 && groups->call_fd < 0) {
        error = errno;
    }
    while (!error && groups->n < n) {
        struct upcall_sched *sched;

        error = upcall_sched_create(generation, &sched);
        if (!error) {
            groups->scheds[groups->n++] = sched;
            if (n > 1) {
                error = upcall_sched_add_call_fd(sched, groups->call_fd);
            }
        }
    }
    if (error) {
        upcall_groups_destroy(groups);
        groups = NULL;
    }
    *groupsp = groups;
    return error;
}

int
upcall_groups_create(uint32_t generation, uint32_t n_handlers, uint32_t size,
                     struct upcall_groups **groupsp)
{
    uint32_t n = DIV_ROUND_UP(n_handlers, size);
    int error;

    error = upcall_groups_create__(generation, n_handlers, n, groupsp);
    if (error == EINVAL && n > 1) {
        VLOG_WARN_ONCE("the kernel lacks what groups of upcall handlers need "
                       "(EPOLLEXCLUSIVE, Linux 4.5); using one group");
        error = upcall_groups_create__(generation, n_handlers, 1, groupsp);
    }
    return error;
}

void
upcall_groups_ref(struct upcall_groups *groups)
{
    ovs_refcount_ref(&groups->refcount);
}

void
upcall_groups_unref(struct upcall_groups *groups)
{
    if (groups && upcall_refcount_unref(&groups->refcount)) {
        upcall_groups_destroy(groups);
    }
}

uint32_t
upcall_groups_n(const struct upcall_groups *groups)
{
    return groups->n;
}

struct upcall_sched *
upcall_groups_sched(const struct upcall_groups *groups, uint32_t group)
{
    return groups->scheds[group];
}

uint32_t
upcall_groups_of_handler(const struct upcall_groups *groups, uint32_t index)
{
    return (uint64_t) index * groups->n / groups->n_handlers;
}

/* The first handler of 'group'. */
static uint32_t
first_handler(const struct upcall_groups *groups, uint32_t group)
{
    return DIV_ROUND_UP((uint64_t) group * groups->n_handlers, groups->n);
}

uint32_t
upcall_groups_n_handlers(const struct upcall_groups *groups, uint32_t group)
{
    return first_handler(groups, group + 1) - first_handler(groups, group);
}

struct upcall_sched *
upcall_groups_home(const struct upcall_groups *groups,
                   const struct upcall_channel *channel)
{
    return groups->scheds[channel->serial % groups->n];
}

void
upcall_groups_retire(struct upcall_groups *groups,
                     void (*release)(struct upcall_channel *, void *aux),
                     void *aux)
{
    for (uint32_t i = 0; i < groups->n; i++) {
        upcall_sched_retire(groups->scheds[i], release, aux);
    }
}

/* True if the run queue of 'a' is longer per handler than the run queue of
 * 'b'. */
static bool
has_more(const struct upcall_groups *groups, uint32_t a, uint32_t b)
{
    uint64_t n_a = upcall_sched_n_queued(groups->scheds[a]);
    uint64_t n_b = upcall_sched_n_queued(groups->scheds[b]);

    return (n_a * upcall_groups_n_handlers(groups, b)
            > n_b * upcall_groups_n_handlers(groups, a));
}

struct upcall_sched *
upcall_groups_overloaded(const struct upcall_groups *groups, uint32_t group)
{
    uint32_t most = group;

    for (uint32_t i = 0; i < groups->n; i++) {
        if (i != group && upcall_sched_has_too_much(groups->scheds[i])
            && (most == group || has_more(groups, i, most))) {
            most = i;
        }
    }
    return most != group ? groups->scheds[most] : NULL;
}

int
upcall_groups_wait(struct upcall_groups *groups, uint32_t group, int timeout,
                   struct upcall_events *events)
{
    struct upcall_sched *sched = groups->scheds[group];
    bool was_called;
    int error = 0;

    if (groups->n == 1) {
        return upcall_sched_wait(sched, timeout, events);
    }
    memset(events, 0, sizeof *events);
    if (upcall_sched_sleep_begin(sched)
        && !upcall_groups_overloaded(groups, group)) {
        error = upcall_sched_wait_counted(sched, timeout, events);
    }
    upcall_sched_sleep_end(sched);
    events->kicked = events->kicked || upcall_sched_n_queued(sched);
    was_called = events->called;
    events->called = upcall_groups_overloaded(groups, group) != NULL;
    events->in_vain = was_called && !events->called;
    return error;
}

/* Number of sleeping handlers of all groups. */
static uint32_t
upcall_groups_n_sleepers(const struct upcall_groups *groups)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < groups->n; i++) {
        n += upcall_sched_n_sleepers(groups->scheds[i]);
    }
    return n;
}

size_t
upcall_groups_share(const struct upcall_groups *groups, uint32_t group)
{
    const struct upcall_sched *sched = groups->scheds[group];
    size_t share = upcall_sched_share(sched);

    if (groups->n > 1 && share > 1 && !upcall_sched_n_sleepers(sched)) {
        share = DIV_ROUND_UP(share, 1 + upcall_groups_n_sleepers(groups));
    }
    return share;
}

struct upcall_loan
upcall_groups_plan(const struct upcall_groups *groups, uint32_t group,
                   uint32_t *credit)
{
    struct upcall_loan loan = { .lender = NULL };
    uint64_t n_own, n_queued, own;
    uint32_t n_handlers;

    if (groups->n > 1) {
        loan.lender = upcall_groups_overloaded(groups, group);
    }
    if (!loan.lender) {
        *credit = 0;
        return loan;
    }

    /* Channels and handlers of this group and of groups that have too much. */
    n_own = n_queued = upcall_sched_n_queued(groups->scheds[group]);
    n_handlers = upcall_groups_n_handlers(groups, group);
    for (uint32_t i = 0; i < groups->n; i++) {
        if (i != group && upcall_sched_has_too_much(groups->scheds[i])) {
            n_queued += upcall_sched_n_queued(groups->scheds[i]);
            n_handlers += upcall_groups_n_handlers(groups, i);
        }
    }

    /* The part of its turns that the group needs for its own channels. */
    own = (n_own
           ? (n_own * n_handlers * CREDIT_ONE
              / (n_queued * upcall_groups_n_handlers(groups, group)))
           : 0);
    if (own >= CREDIT_ENOUGH) {
        *credit = 0;
        return (struct upcall_loan) { .lender = NULL };
    }
    *credit += (UPCALL_TURNS * UPCALL_QUANTUM
                / upcall_sched_quantum(loan.lender) * (CREDIT_ONE - own));
    loan.n = MIN(*credit / CREDIT_ONE,
                 DIV_ROUND_UP(upcall_sched_n_queued(loan.lender),
                              1 + upcall_groups_n_sleepers(groups)));
    *credit %= CREDIT_ONE;
    return loan;
}

void
upcall_groups_call(struct upcall_groups *groups)
{
    for (uint32_t i = 0; groups->n > 1 && i < groups->n; i++) {
        if (upcall_sched_n_sleepers(groups->scheds[i])) {
            static const uint64_t one = 1;

            ovs_compat_ignore(write(groups->call_fd, &one, sizeof one));
            return;
        }
    }
}

/* The size of groups. */

/* With fewer CPUs, too few handlers could help each other, and the topology
 * that a virtual machine shows often differs from the host's. */
#define LLC_MIN 4

/* The most caches of a CPU to look at: two of the first level, one of each of
 * three others, and some to spare. */
#define LLC_MAX_CACHES 16

/* Reads the first line of file 'name' of cache 'index' into 'line'.  Returns
 * false if there is none. */
static bool
read_cache_file(const char *sysfs, int index, const char *name,
                char line[], size_t size)
{
    char *path = xasprintf("%s/cpu0/cache/index%d/%s", sysfs, index, name);
    FILE *file = fopen(path, "r");
    bool ok = false;

    free(path);
    if (file) {
        ok = fgets(line, size, file) != NULL;
        fclose(file);
    }
    return ok;
}

/* Counts the CPUs in 'list', such as "0-3,8-11".  Returns 0 if it is not a
 * list. */
static unsigned int
count_cpus(const char *list)
{
    unsigned int n = 0;

    for (;;) {
        unsigned int first, last;
        int len = 0;

        if (sscanf(list, "%u-%u%n", &first, &last, &len) != 2) {
            if (sscanf(list, "%u%n", &first, &len) != 1) {
                return 0;
            }
            last = first;
        }
        if (last < first) {
            return 0;
        }
        n += last - first + 1;
        list += len;
        if (*list != ',') {
            return *list == '\0' || *list == '\n' ? n : 0;
        }
        list++;
    }
}

unsigned int
upcall_llc_n_cpus(const char *sysfs)
{
    int last_level = 0;
    unsigned int n = 0;

    for (int i = 0; i < LLC_MAX_CACHES; i++) {
        char line[4096];
        int level;

        if (!read_cache_file(sysfs, i, "level", line, sizeof line)) {
            break;
        }
        level = atoi(line);
        if (level > last_level
            && read_cache_file(sysfs, i, "shared_cpu_list", line,
                               sizeof line)) {
            last_level = level;
            n = count_cpus(line);
        }
    }
    return n;
}

unsigned int
upcall_llc_group_size(unsigned int n_cpus)
{
    return n_cpus < LLC_MIN ? UPCALL_LLC_GROUP_MAX
           : MIN(n_cpus, UPCALL_LLC_GROUP_MAX);
}
