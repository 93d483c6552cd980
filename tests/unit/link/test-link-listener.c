/* SPDX-License-Identifier: Apache-2.0 */

/* The link listener, on the kernel's own events. */

#include <config.h>
#include "link/link-listener.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/if.h>
#include <linux/if_arp.h>
#include <linux/if_tun.h>
#include <linux/rtnetlink.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "link/link-table.h"
#include "openvswitch/poll-loop.h"
#include "sset.h"
#include "timeval.h"
#include "harness/descriptors.h"
#include "harness/netns.h"
#include "util.h"

/* Not to be mistaken for what the kernel chooses. */
#define INDEX 1000
#define NSID 4000
#define SELF_NSID 5000

struct fixture {
    struct unit_ns *own;        /* Private to the test. */
    struct unit_ns *other;
    struct link_table *table;
    struct link_listener *listener;
};

static struct fixture *
fixture_create(void)
{
    struct fixture *f = xzalloc(sizeof *f);

    /* Namespaces that the test before has left are on their way out. */
    unit_check(!unshare(CLONE_NEWNET));
    f->own = unit_ns_own();
    f->table = link_table_create();
    return f;
}

static void
open_listener(struct fixture *f, const struct link_listener_options *options)
{
    assert_int_equal(link_listener_open(f->table, options, &f->listener), 0);
    assert_true(link_listener_catch_up(f->listener));
}

static int
setup(void **state)
{
    *state = fixture_create();
    return 0;
}

static int
teardown(void **state)
{
    struct fixture *f = *state;

    link_listener_close(f->listener);
    link_table_destroy(f->table);
    unit_ns_destroy(f->other);
    unit_ns_destroy(f->own);
    free(f);
    return 0;
}

/* With a listener, and another namespace that has NSID as its id. */
static int
setup_both(void **state)
{
    struct fixture *f = fixture_create();

    f->other = unit_ns_create();
    assert_int_equal(unit_ns_set_nsid(f->own, f->other, NSID), 0);
    open_listener(f, NULL);
    while (!link_listener_is_current(f->listener)) {
        link_listener_run(f->listener);
    }
    *state = f;
    return 0;
}

static struct link_listener_stats
stats_of(struct fixture *f)
{
    struct link_listener_stats stats;

    link_listener_get_stats(f->listener, &stats);
    return stats;
}

static uint64_t
total_rtnl(struct fixture *f)
{
    struct link_listener_stats stats = stats_of(f);
    uint64_t n = 0;

    for (int i = 0; i < LINK_N_REASONS; i++) {
        n += stats.rtnl[i];
    }
    return n;
}

static struct link_info
get(struct fixture *f, int32_t nsid, int ifindex)
{
    struct link_info info;

    if (!link_table_find(f->table, nsid, ifindex, &info)) {
        fail_msg("namespace %d has no link %d", nsid, ifindex);
    }
    return info;
}

static bool
has(struct fixture *f, int32_t nsid, int ifindex)
{
    struct link_info info;

    return link_table_find(f->table, nsid, ifindex, &info);
}

static void
finish(struct fixture *f)
{
    while (!link_listener_is_current(f->listener)) {
        link_listener_run(f->listener);
    }
}

static bool
equal(struct fixture *f, int32_t nsid, struct unit_ns *ns)
{
    char *diff;

    link_listener_run(f->listener);
    diff = unit_links_diff(f->table, nsid, ns, true);
    free(diff);
    return !diff;
}

/* Asserts that the table is what the kernel says, once the kernel has told of
 * carriers, which it does when it pleases. */
static void
assert_equal(struct fixture *f)
{
    unit_wait_until(equal(f, LINK_NSID_LOCAL, f->own));
    if (f->other) {
        unit_wait_until(equal(f, NSID, f->other));
    }
}

#define OK(CALL) assert_int_equal(CALL, 0)

static void
the_first_run_fills_the_table(void **state)
{
    struct fixture *f = *state;

    OK(unit_link_add(f->own, "bridge", INDEX, "br"));
    OK(unit_link_add_veth(f->own, INDEX + 1, "a", f->own, INDEX + 2, "b"));
    OK(unit_link_set_master(f->own, INDEX + 1, INDEX));
    OK(link_listener_open(f->table, NULL, &f->listener));
    assert_false(link_listener_is_current(f->listener));
    link_listener_run(f->listener);
    assert_string_equal(get(f, LINK_NSID_LOCAL, 1).name, "lo");
    assert_string_equal(get(f, LINK_NSID_LOCAL, INDEX).kind, "bridge");
    assert_int_equal(get(f, LINK_NSID_LOCAL, INDEX + 1).master, INDEX);
    assert_int_equal(get(f, LINK_NSID_LOCAL, INDEX + 1).lower, INDEX + 2);
    assert_equal(f);
    assert_true(link_listener_is_current(f->listener));
    assert_int_equal(stats_of(f).resyncs, 1);

    /* One for the links, one for the ids. */
    assert_int_equal(stats_of(f).rtnl[LINK_REASON_START], 2);
    assert_int_equal(total_rtnl(f), 2);
}

/* Asserts that our own change is in the table at once. */
static void
assert_seen(struct fixture *f)
{
    char *diff;

    assert_true(link_listener_catch_up(f->listener));
    diff = unit_links_diff(f->table, LINK_NSID_LOCAL, f->own, true);
    if (diff) {
        fail_msg("%s", diff);
    }
}

static void
own_changes_are_seen_at_once(void **state)
{
    struct fixture *f = *state;
    static const uint8_t mac[6] = { 2, 0, 0, 0, 0, 9 };

    open_listener(f, NULL);
    OK(unit_link_add(f->own, "bridge", INDEX, "br0"));
    assert_seen(f);
    OK(unit_link_set_name(f->own, INDEX, "renamed"));
    assert_seen(f);
    assert_string_equal(get(f, LINK_NSID_LOCAL, INDEX).name, "renamed");
    OK(unit_link_set_mtu(f->own, INDEX, 1300));
    assert_seen(f);
    OK(unit_link_set_hwaddr(f->own, INDEX, mac));
    assert_seen(f);
    assert_memory_equal(get(f, LINK_NSID_LOCAL, INDEX).hwaddr, mac, 6);
    OK(unit_link_add(f->own, "bridge", INDEX + 1, "br"));
    assert_seen(f);
    OK(unit_link_del(f->own, INDEX));
    assert_seen(f);
    assert_false(has(f, LINK_NSID_LOCAL, INDEX));

    /* A bridge says that a port is deleted, which the device is not. */
    OK(unit_link_add_veth(f->own, INDEX, "a", f->own, INDEX + 2, "b"));
    OK(unit_link_set_master(f->own, INDEX, INDEX + 1));
    assert_seen(f);
    assert_int_equal(get(f, LINK_NSID_LOCAL, INDEX).master, INDEX + 1);
    OK(unit_link_set_master(f->own, INDEX, 0));
    assert_seen(f);
    assert_int_equal(get(f, LINK_NSID_LOCAL, INDEX).master, 0);
    assert_true(stats_of(f).ignored_port > 0);

    /* Flags and carrier, which has come when the table is as the kernel says,
     * if not at once. */
    OK(unit_link_set_up(f->own, INDEX, true));
    assert_true(link_listener_catch_up(f->listener));
    assert_true(get(f, LINK_NSID_LOCAL, INDEX).flags & 1);
    OK(unit_link_add_alt_name(f->own, INDEX, "a-much-longer-name-than-a"));
    assert_true(link_listener_catch_up(f->listener));
    struct link_info info;
    assert_true(link_table_find_name(f->table, LINK_NSID_LOCAL,
                                     "a-much-longer-name-than-a", &info));
    assert_int_equal(info.ifindex, INDEX);
    OK(unit_link_set_up(f->own, INDEX + 2, true));
    assert_equal(f);
    assert_true(get(f, LINK_NSID_LOCAL, INDEX).carrier);
    assert_int_equal(get(f, LINK_NSID_LOCAL, INDEX).carrier_up, 1);
    OK(unit_link_del_alt_name(f->own, INDEX, "a-much-longer-name-than-a"));
    OK(unit_link_set_up(f->own, INDEX + 2, false));
    assert_equal(f);
    assert_false(get(f, LINK_NSID_LOCAL, INDEX).carrier);
    assert_int_equal(total_rtnl(f), 2);
    assert_int_equal(stats_of(f).malformed, 0);
    assert_int_equal(stats_of(f).events_other, 0);
}

/* A tap device that becomes one of another type has no hardware address any
 * more, and the message about it has no such attribute. */
static void
a_hardware_address_may_go(void **state)
{
    struct fixture *f = *state;
    struct ifreq ifr = { .ifr_flags = IFF_TAP | IFF_NO_PI };
    int fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC);

    if (fd < 0) {
        print_message("skipped: /dev/net/tun: %s\n", ovs_strerror(errno));
        skip();
    }
    open_listener(f, NULL);
    ovs_strlcpy(ifr.ifr_name, "tap", sizeof ifr.ifr_name);
    OK(ioctl(fd, TUNSETIFF, &ifr));
    assert_seen(f);

    int ifindex = unit_link_index(f->own, "tap");
    assert_int_equal(get(f, LINK_NSID_LOCAL, ifindex).hwaddr_len, 6);
    OK(ioctl(fd, TUNSETLINK, ARPHRD_NONE));
    assert_seen(f);
    assert_int_equal(get(f, LINK_NSID_LOCAL, ifindex).hwaddr_len, 0);
    close(fd);
}

/* A message about a link may be longer than the usual part of a dump.  Only a
 * dump with IFLA_EXT_MASK has such a link at all. */
static void
a_link_may_have_very_many_names(void **state)
{
    struct fixture *f = *state;
    char name[LINK_ALT_NAME_SIZE];

    OK(unit_link_add(f->own, "bridge", INDEX, "br"));
    OK(unit_link_set_up(f->own, INDEX, true));
    for (int i = 0; i < 450; i++) {
        snprintf(name, sizeof name, "%0*d", LINK_ALT_NAME_SIZE - 1, i);
        OK(unit_link_add_alt_name(f->own, INDEX, name));
    }
    open_listener(f, NULL);

    struct sset names = SSET_INITIALIZER(&names);
    link_table_get_alt_names(f->table, LINK_NSID_LOCAL, INDEX, &names);
    assert_int_equal(sset_count(&names), 450);
    sset_destroy(&names);

    /* Neither does its event fit, at first. */
    for (int mtu = 1300; mtu < 1303; mtu++) {
        OK(unit_link_set_mtu(f->own, INDEX, mtu));
        assert_true(link_listener_catch_up(f->listener));
        assert_int_equal(get(f, LINK_NSID_LOCAL, INDEX).mtu, mtu);
    }
    assert_int_equal(stats_of(f).truncated, 1);
    assert_int_equal(stats_of(f).failed, 0);
}

static void
addresses_are_noticed(void **state)
{
    struct fixture *f = *state;

    open_listener(f, NULL);
    OK(unit_link_add(f->own, "ifb", INDEX, "ifb"));
    link_listener_catch_up(f->listener);

    uint64_t before = get(f, LINK_NSID_LOCAL, INDEX).addr_seqno;
    OK(unit_addr_add(f->own, INDEX, 0x0101010a));
    link_listener_catch_up(f->listener);
    assert_true(get(f, LINK_NSID_LOCAL, INDEX).addr_seqno > before);
    assert_true(stats_of(f).events[LINK_MSG_NEWADDR] >= 1);

    before = get(f, LINK_NSID_LOCAL, INDEX).addr_seqno;
    OK(unit_link_del(f->own, INDEX));
    link_listener_catch_up(f->listener);
    assert_true(stats_of(f).events[LINK_MSG_DELADDR] >= 1);
}

static void
nothing_is_asked_in_steady_state(void **state)
{
    struct fixture *f = *state;
    uint64_t before = total_rtnl(f);
    uint64_t nsid_before = stats_of(f).nsid_requests;

    for (int i = 0; i < 50; i++) {
        OK(unit_link_add_veth(f->own, INDEX, "a", f->other, INDEX, "a"));
        OK(unit_link_set_up(f->own, INDEX, true));
        OK(unit_link_set_up(f->other, INDEX, true));
        link_listener_run(f->listener);
        OK(unit_link_del(f->own, INDEX));
        link_listener_run(f->listener);
    }
    assert_equal(f);
    assert_int_equal(total_rtnl(f), before);

    /* The veth gave us an id in the other namespace, which is none of ours. */
    assert_int_equal(stats_of(f).nsid_requests, nsid_before);
}

static void
other_namespaces_do_not_touch_ours(void **state)
{
    struct fixture *f = *state;
    static const uint8_t mac[6] = { 2, 0, 0, 0, 0, 9 };

    OK(unit_link_add(f->own, "ifb", INDEX, "same"));
    link_listener_catch_up(f->listener);

    struct link_info before = get(f, LINK_NSID_LOCAL, INDEX);
    OK(unit_link_add(f->other, "bridge", INDEX, "same"));
    OK(unit_link_set_mtu(f->other, INDEX, 1234));
    OK(unit_link_set_hwaddr(f->other, INDEX, mac));
    OK(unit_addr_add(f->other, INDEX, 0x0101010a));
    OK(unit_link_set_name(f->other, INDEX, "renamed"));
    link_listener_catch_up(f->listener);
    struct link_info after = get(f, LINK_NSID_LOCAL, INDEX);
    assert_int_equal(after.change_seqno, before.change_seqno);
    assert_int_equal(get(f, NSID, INDEX).mtu, 1234);
    assert_string_equal(get(f, NSID, INDEX).name, "renamed");
    assert_true(stats_of(f).ignored_foreign > 0);

    OK(unit_link_del(f->other, INDEX));
    link_listener_catch_up(f->listener);
    assert_true(has(f, LINK_NSID_LOCAL, INDEX));
    assert_false(has(f, NSID, INDEX));
    assert_equal(f);
}

static void
links_from_before_the_id_are_asked_for(void **state)
{
    struct fixture *f = *state;

    open_listener(f, NULL);
    f->other = unit_ns_create();
    OK(unit_link_add(f->other, "ifb", INDEX, "early"));
    link_listener_catch_up(f->listener);
    assert_false(link_table_has_ns(f->table, NSID));
    OK(unit_ns_set_nsid(f->own, f->other, NSID));
    link_listener_run(f->listener);
    assert_true(has(f, NSID, INDEX));
    assert_int_equal(stats_of(f).rtnl[LINK_REASON_NAMESPACE], 1);
    assert_equal(f);
}

static void
ids_of_other_namespaces_are_not_ours(void **state)
{
    struct fixture *f = *state;
    struct unit_ns *third = unit_ns_create();

    /* To 'other', 'third' is 77.  To us it is nothing. */
    OK(unit_ns_set_nsid(f->other, third, 77));
    OK(unit_link_add(third, "ifb", INDEX, "x"));
    link_listener_catch_up(f->listener);
    assert_false(link_table_has_ns(f->table, 77));
    assert_true(stats_of(f).ignored_foreign > 0);
    unit_ns_destroy(third);
}

static void
own_events_may_be_tagged(void **state)
{
    struct fixture *f = *state;

    /* While it listens... */
    OK(unit_link_add(f->own, "ifb", INDEX, "before"));
    OK(unit_ns_set_nsid(f->own, f->own, SELF_NSID));
    OK(unit_link_add(f->own, "ifb", INDEX + 1, "after"));
    link_listener_catch_up(f->listener);
    assert_int_equal(link_listener_self_nsid(f->listener), SELF_NSID);
    assert_true(has(f, LINK_NSID_LOCAL, INDEX));
    assert_true(has(f, LINK_NSID_LOCAL, INDEX + 1));
    assert_false(link_table_has_ns(f->table, SELF_NSID));
    OK(unit_link_del(f->own, INDEX));
    link_listener_catch_up(f->listener);
    assert_false(has(f, LINK_NSID_LOCAL, INDEX));
    assert_equal(f);

    /* ...and from the start. */
    link_listener_close(f->listener);
    open_listener(f, NULL);
    OK(unit_link_set_mtu(f->own, INDEX + 1, 1111));
    link_listener_catch_up(f->listener);
    assert_int_equal(get(f, LINK_NSID_LOCAL, INDEX + 1).mtu, 1111);
    assert_false(link_table_has_ns(f->table, SELF_NSID));
    assert_equal(f);

    /* One request, whatever happens. */
    uint64_t n = stats_of(f).nsid_requests;
    OK(unit_link_set_mtu(f->own, INDEX + 1, 1112));
    OK(unit_link_set_mtu(f->other, 1, 1112));
    link_listener_catch_up(f->listener);
    assert_int_equal(stats_of(f).nsid_requests, n);
}

static void
links_move_between_namespaces(void **state)
{
    struct fixture *f = *state;

    OK(unit_link_add_veth(f->own, INDEX, "a", f->own, INDEX + 1, "b"));
    OK(unit_link_move(f->own, INDEX + 1, f->other, 0));
    link_listener_catch_up(f->listener);
    assert_false(has(f, LINK_NSID_LOCAL, INDEX + 1));
    assert_int_equal(get(f, NSID, unit_link_index(f->other, "b")).lower,
                     INDEX);
    assert_int_equal(get(f, NSID, unit_link_index(f->other, "b")).lower_nsid,
                     LINK_NSID_OTHER);
    assert_equal(f);

    int ifindex = unit_link_index(f->other, "b");
    OK(unit_link_move(f->other, ifindex, f->own, INDEX + 7));
    link_listener_catch_up(f->listener);
    assert_false(has(f, NSID, ifindex));
    assert_string_equal(get(f, LINK_NSID_LOCAL, INDEX + 7).name, "b");
    assert_int_equal(get(f, LINK_NSID_LOCAL, INDEX + 7).lower_nsid,
                     LINK_NSID_SAME);
    assert_equal(f);
}

/* True once namespace NSID is out of the table. */
static bool
ns_is_gone(struct fixture *f)
{
    link_listener_run(f->listener);
    return !link_table_has_ns(f->table, NSID);
}

static void
a_namespace_that_goes_is_dropped(void **state)
{
    struct fixture *f = *state;

    for (int i = 0; i < 3; i++) {
        OK(unit_link_add(f->other, "ifb", INDEX, "ifb"));
        link_listener_catch_up(f->listener);
        assert_true(has(f, NSID, INDEX));
        unit_ns_destroy(f->other);
        f->other = NULL;
        unit_wait_until(ns_is_gone(f));
        assert_false(has(f, NSID, INDEX));

        /* Another one has its id. */
        f->other = unit_ns_create();
        OK(unit_ns_set_nsid(f->own, f->other, NSID));
        link_listener_catch_up(f->listener);
        assert_equal(f);
    }
    assert_true(stats_of(f).events[LINK_MSG_DELNSID] >= 3);
}

/* Makes 'n' events of link 'ifindex' of 'ns'. */
static void
make_events(struct unit_ns *ns, int ifindex, int n)
{
    for (int i = 0; i < n; i++) {
        OK(unit_link_set_mtu(ns, ifindex, 1200 + i % 2));
    }
}

static void
losses_lead_to_a_resync(void **state)
{
    struct fixture *f = *state;
    struct link_listener_options options = { .rcvbuf = 1 };

    open_listener(f, &options);
    OK(unit_link_add(f->own, "ifb", INDEX, "victim"));
    OK(unit_link_add(f->own, "ifb", INDEX + 1, "other"));
    assert_seen(f);
    finish(f);

    uint64_t overruns = stats_of(f).overruns, resyncs = stats_of(f).resyncs;
    uint64_t addr_seqno = get(f, LINK_NSID_LOCAL, INDEX + 1).addr_seqno;
    make_events(f->own, INDEX, 100);
    OK(unit_link_del(f->own, INDEX));
    OK(unit_link_set_name(f->own, INDEX + 1, "victim"));
    OK(unit_link_add(f->own, "ifb", INDEX + 2, "other"));
    assert_true(has(f, LINK_NSID_LOCAL, INDEX));
    assert_seen(f);
    assert_false(has(f, LINK_NSID_LOCAL, INDEX));

    struct link_listener_stats stats = stats_of(f);
    assert_int_equal(stats.overruns, overruns + 1);
    assert_true(stats.lost > 50);
    assert_true(stats.drained > 0);
    assert_true(stats.rtnl[LINK_REASON_LOSS] > 0);

    /* Addresses may have changed too. */
    assert_true(get(f, LINK_NSID_LOCAL, INDEX + 1).addr_seqno > addr_seqno);
    finish(f);
    assert_int_equal(stats_of(f).resyncs, resyncs + 1);
    assert_true(stats_of(f).resync_max >= stats_of(f).resync_last);
    assert_equal(f);
}

static void
losses_reach_other_namespaces_too(void **state)
{
    struct fixture *f = *state;
    struct link_listener_options options = { .rcvbuf = 1 };
    struct unit_ns *third = unit_ns_create();

    link_listener_close(f->listener);
    open_listener(f, &options);
    OK(unit_link_add(f->other, "ifb", INDEX, "victim"));
    link_listener_catch_up(f->listener);
    make_events(f->own, 1, 100);
    OK(unit_link_del(f->other, INDEX));
    OK(unit_link_add(f->other, "ifb", INDEX + 1, "victim"));
    OK(unit_ns_set_nsid(f->own, third, NSID + 1));
    OK(unit_link_add(third, "ifb", INDEX, "unseen"));
    assert_equal(f);
    unit_wait_until(equal(f, NSID + 1, third));
    assert_false(has(f, NSID, INDEX));
    unit_ns_destroy(third);
}

/* Takes or gives back the right to configure the network. */
static void
set_net_admin(bool on)
{
    struct __user_cap_header_struct header = {
        .version = _LINUX_CAPABILITY_VERSION_3,
    };
    struct __user_cap_data_struct data[2];

    unit_check(!syscall(SYS_capget, &header, data));
    if (on) {
        data[0].effective |= 1u << CAP_NET_ADMIN;
    } else {
        data[0].effective &= ~(1u << CAP_NET_ADMIN);
    }
    unit_check(!syscall(SYS_capset, &header, data));
}

static enum link_ns_state
ns_state(struct fixture *f, int32_t nsid, int *error)
{
    size_t n;
    struct link_ns_info *infos = link_table_get_namespaces(f->table, &n);
    enum link_ns_state state = LINK_NS_PENDING;

    for (size_t i = 0; i < n; i++) {
        if (infos[i].nsid == nsid) {
            state = infos[i].state;
            *error = infos[i].error;
        }
    }
    free(infos);
    return state;
}

static void
what_may_not_be_asked_for_is_stale(void **state)
{
    struct fixture *f = *state;
    int error = 0;

    OK(unit_link_add(f->other, "ifb", INDEX, "ifb"));
    link_listener_catch_up(f->listener);
    set_net_admin(false);
    link_listener_resync(f->listener);
    finish(f);
    set_net_admin(true);
    assert_int_equal(ns_state(f, NSID, &error), LINK_NS_STALE);
    assert_true(error == EPERM || error == EACCES);
    assert_int_equal(ns_state(f, LINK_NSID_LOCAL, &error), LINK_NS_CURRENT);
    assert_int_equal(stats_of(f).refused, 1);

    /* Events come still. */
    assert_true(has(f, NSID, INDEX));
    OK(unit_link_set_mtu(f->other, INDEX, 1234));
    link_listener_catch_up(f->listener);
    assert_int_equal(get(f, NSID, INDEX).mtu, 1234);

    /* The next resync tries again. */
    link_listener_resync(f->listener);
    finish(f);
    assert_int_equal(ns_state(f, NSID, &error), LINK_NS_CURRENT);
    assert_true(stats_of(f).rtnl[LINK_REASON_ASKED] >= 6);
    assert_equal(f);
}

static void
own_namespace_only_means_that(void **state)
{
    struct fixture *f = *state;
    struct link_listener_options options = { .own_namespace_only = true };

    f->other = unit_ns_create();
    OK(unit_ns_set_nsid(f->own, f->other, NSID));
    OK(unit_ns_set_nsid(f->own, f->own, SELF_NSID));
    open_listener(f, &options);
    OK(unit_link_add(f->other, "ifb", INDEX, "x"));
    OK(unit_link_add(f->own, "ifb", INDEX, "y"));
    assert_seen(f);
    assert_false(link_table_has_ns(f->table, NSID));
    assert_int_equal(total_rtnl(f), 1);
}

static void
a_run_does_a_bounded_amount_of_work(void **state)
{
    struct fixture *f = *state;

    open_listener(f, NULL);
    OK(unit_link_add(f->own, "ifb", INDEX, "x"));
    link_listener_catch_up(f->listener);

    uint64_t before = stats_of(f).events[LINK_MSG_NEWLINK];
    make_events(f->own, INDEX, LINK_RUN_DATAGRAMS + 100);
    link_listener_run(f->listener);
    assert_int_equal(stats_of(f).events[LINK_MSG_NEWLINK] - before,
                     LINK_RUN_DATAGRAMS);

    /* It does not sleep over the rest. */
    long long int start = unit_now();
    link_listener_wait(f->listener);
    poll_timer_wait(UNIT_PATIENCE);
    poll_block();
    assert_true(unit_now() - start < UNIT_PATIENCE / 2);
    link_listener_run(f->listener);
    assert_int_equal(stats_of(f).events[LINK_MSG_NEWLINK] - before,
                     LINK_RUN_DATAGRAMS + 100);
    assert_int_equal(stats_of(f).overruns, 0);

    /* And takes all of it if asked to. */
    make_events(f->own, INDEX, 3 * LINK_RUN_DATAGRAMS);
    assert_seen(f);
    assert_int_equal(stats_of(f).events[LINK_MSG_NEWLINK] - before,
                     4 * LINK_RUN_DATAGRAMS + 100);
}

static void
an_event_ends_the_wait(void **state)
{
    struct fixture *f = *state;

    open_listener(f, NULL);
    finish(f);
    link_listener_run(f->listener);

    /* Nothing to do: it sleeps. */
    link_listener_wait(f->listener);
    poll_timer_wait(20);
    long long int start = time_msec();
    poll_block();
    assert_true(time_msec() - start >= 19);

    link_listener_wait(f->listener);
    OK(unit_link_add(f->own, "ifb", INDEX, "x"));
    poll_timer_wait(UNIT_PATIENCE);
    start = unit_now();
    poll_block();
    assert_true(unit_now() - start < UNIT_PATIENCE / 2);
    link_listener_run(f->listener);
    assert_true(has(f, LINK_NSID_LOCAL, INDEX));
}

static void
closing_leaks_nothing(void **state)
{
    struct fixture *f = *state;
    size_t n_fds = unit_count_fds();

    for (int i = 0; i < 3; i++) {
        open_listener(f, NULL);
        link_listener_close(f->listener);
        f->listener = NULL;
        assert_int_equal(unit_count_fds(), n_fds);
    }
    link_listener_close(NULL);
    assert_true(has(f, LINK_NSID_LOCAL, 1));
}

int
main(int argc OVS_UNUSED, char *argv[])
{
    static const struct CMUnitTest tests[] = {
#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)
#define TEST_BOTH(NAME) \
    cmocka_unit_test_setup_teardown(NAME, setup_both, teardown)
        TEST(the_first_run_fills_the_table),
        TEST(own_changes_are_seen_at_once),
        TEST(a_hardware_address_may_go),
        TEST(a_link_may_have_very_many_names),
        TEST(addresses_are_noticed),
        TEST_BOTH(nothing_is_asked_in_steady_state),
        TEST_BOTH(other_namespaces_do_not_touch_ours),
        TEST(links_from_before_the_id_are_asked_for),
        TEST_BOTH(ids_of_other_namespaces_are_not_ours),
        TEST_BOTH(own_events_may_be_tagged),
        TEST_BOTH(links_move_between_namespaces),
        TEST_BOTH(a_namespace_that_goes_is_dropped),
        TEST(losses_lead_to_a_resync),
        TEST_BOTH(losses_reach_other_namespaces_too),
        TEST_BOTH(what_may_not_be_asked_for_is_stale),
        TEST(own_namespace_only_means_that),
        TEST(a_run_does_a_bounded_amount_of_work),
        TEST(an_event_ends_the_wait),
        TEST(closing_leaks_nothing),
    };

    unit_init(argv[0]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
