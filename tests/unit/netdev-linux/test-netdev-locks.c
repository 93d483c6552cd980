/* SPDX-License-Identifier: Apache-2.0 */

/* Invariant L1: what the bridge asks about each port whenever it configures
 * itself costs neither a system call nor more locks than the answer needs, and
 * it is woken by nothing that no answer shows.  Asserted by the number of
 * calls. */

#include <config.h>
#include "netdev-linux/netdev-linux-kdp.h"

#include <errno.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "link/link-table.h"
#include "netdev-linux/device.h"
#include "netdev-linux/links.h"
#include "netdev-provider.h"
#include "connectivity.h"
#include "ovs-thread.h"
#include "seq.h"
#include "smap.h"
#include "sset.h"
#include "harness/netns.h"
#include "harness/routes.h"
#include "unit/netdev-linux/netdev-fixture.h"
#include "util.h"

/* Of this thread only: what others lock and receive meanwhile, no answer
 * needs.
 */
static __thread const struct ovs_mutex *watched;
static __thread unsigned int n_locks;   /* Of 'watched'. */
static __thread unsigned int n_receives;

void __wrap_ovs_mutex_lock_at(const struct ovs_mutex *, const char *)
    OVS_NO_THREAD_SAFETY_ANALYSIS;
void __real_ovs_mutex_lock_at(const struct ovs_mutex *, const char *);
void
__wrap_ovs_mutex_lock_at(const struct ovs_mutex *mutex, const char *where)
{
    if (mutex == watched) {
        n_locks++;
    }
    __real_ovs_mutex_lock_at(mutex, where);
}

ssize_t __wrap_recvmsg(int, struct msghdr *, int);
ssize_t __real_recvmsg(int, struct msghdr *, int);
ssize_t
__wrap_recvmsg(int fd, struct msghdr *msg, int flags)
{
    n_receives++;
    return __real_recvmsg(fd, msg, flags);
}

static int
setup_known(void **state)
{
    int retval = setup_quiet(state);
    struct smap status = SMAP_INITIALIZER(&status);
    enum netdev_features features;
    struct netdev *netdev = *state;

    OK(unit_ip_add(own, A, "10.0.0.1/24"));
    netdev_run();

    /* The driver is asked once. */
    netdev_get_features(netdev, &features, NULL, NULL, NULL);
    netdev_get_status(netdev, &status);
    smap_destroy(&status);
    watched = &netdev_linux_cast(netdev)->mutex;
    return retval;
}

static int
teardown_known(void **state)
{
    watched = NULL;
    return teardown(state);
}

/* Evaluates CALL, and asserts how often it takes the lock of the device.  None
 * has the kernel say anything. */
#define ASSERT_LOCKS(N, CALL)                   \
    do {                                        \
        n_locks = n_receives = 0;               \
        CALL;                                   \
        assert_int_equal(n_locks, N);           \
        assert_int_equal(n_receives, 0);        \
    } while (0)

static void
an_answer_takes_the_lock_once(void **state)
{
    struct smap status = SMAP_INITIALIZER(&status);
    struct netdev *netdev = *state;
    struct in6_addr *addrs, *masks;
    enum netdev_features features;
    enum netdev_flags flags;
    struct eth_addr mac;
    int n;

    ASSERT_LOCKS(1, OK(netdev_get_etheraddr(netdev, &mac)));
    ASSERT_LOCKS(1, assert_int_equal(netdev_get_ifindex(netdev), A));
    ASSERT_LOCKS(1, OK(netdev_get_flags(netdev, &flags)));
    ASSERT_LOCKS(1, OK(netdev_get_addr_list(netdev, &addrs, &masks, &n)));
    assert_int_equal(n, 1);
    free(addrs);
    free(masks);

    /* Open vSwitch looks at the flags first. */
    ASSERT_LOCKS(2, assert_true(netdev_get_carrier(netdev)));

    /* Whether the driver is to be asked, and what it said. */
    ASSERT_LOCKS(2, netdev_get_features(netdev, &features, NULL, NULL, NULL));
    ASSERT_LOCKS(2, netdev_get_status(netdev, &status));
    smap_destroy(&status);
}

/* The MTU of each port of a bridge is read whenever a port is added: with
 * thousands of ports, millions of times at a start. */
static void
the_mtu_takes_no_lock(void **state)
{
    struct netdev *netdev = *state;
    int mtu;

    ASSERT_LOCKS(0, OK(netdev_get_mtu(netdev, &mtu)));
    assert_int_equal(mtu, 1500);

    /* Our own change is seen at once (L4), the kernel's after its event. */
    OK(netdev_set_mtu(netdev, 1400));
    ASSERT_LOCKS(0, OK(netdev_get_mtu(netdev, &mtu)));
    assert_int_equal(mtu, 1400);
    OK(unit_link_set_mtu(own, A, 1300));
    unit_wait_until((netdev_run(), mtu_of(netdev) == 1300));
    OK(unit_link_del(own, A));
    unit_wait_until((netdev_run(), netdev_get_mtu(netdev, &mtu) == ENODEV));
}

/* The bridge turns on each of its ports. */
static void
flags_that_are_set_are_not_set_again(void **state)
{
    struct netdev_saved_flags *sf;
    struct netdev *netdev = *state;

    for (int i = 0; i < 2; i++) {
        ASSERT_LOCKS(1, OK(netdev_turn_flags_on(netdev, NETDEV_UP, NULL)));
    }
    ASSERT_LOCKS(1, OK(netdev_turn_flags_on(netdev, NETDEV_UP, &sf)));
    netdev_restore_flags(sf);

    /* What is to be set is, and can be read back. */
    OK(netdev_turn_flags_on(netdev, NETDEV_PROMISC, &sf));
    assert_true(flags_of(netdev) & NETDEV_PROMISC);
    netdev_restore_flags(sf);
    assert_false(flags_of(netdev) & NETDEV_PROMISC);
}

struct seqs {
    uint64_t netdev, connectivity;
};

static struct seqs
seqs_of(const struct netdev *netdev)
{
    return (struct seqs) {
        .netdev = netdev_get_change_seq(netdev),
        .connectivity = seq_read(connectivity_seq_get()),
    };
}

/* True if the table has alternative names of A, 'n' of them. */
static bool
has_alt_names(size_t n)
{
    struct sset names = SSET_INITIALIZER(&names);

    netdev_run();
    link_table_get_alt_names(kdp_links_table(), LINK_NSID_LOCAL, A, &names);
    size_t got = sset_count(&names);
    sset_destroy(&names);
    return got == n;
}

static void
what_no_answer_shows_wakes_nobody(void **state)
{
    struct netdev *netdev = *state;
    struct seqs before, after;

    before = seqs_of(netdev);
    OK(unit_link_add_alt_name(own, A, "another-name-of-it"));
    unit_wait_until(has_alt_names(1));
    OK(unit_link_del_alt_name(own, A, "another-name-of-it"));
    unit_wait_until(has_alt_names(0));
    after = seqs_of(netdev);
    assert_int_equal(after.netdev, before.netdev);
    assert_int_equal(after.connectivity, before.connectivity);

    /* What one does, does. */
    OK(unit_link_set_mtu(own, A, 1400));
    unit_wait_until((netdev_run(), mtu_of(netdev) == 1400));
    after = seqs_of(netdev);
    assert_true(after.netdev != before.netdev);
    assert_true(after.connectivity != before.connectivity);
}

int
main(int argc OVS_UNUSED, char *argv[])
{
    static const struct CMUnitTest tests[] = {
#define TEST(NAME) \
    cmocka_unit_test_setup_teardown(NAME, setup_known, teardown_known)
        TEST(an_answer_takes_the_lock_once),
        TEST(the_mtu_takes_no_lock),
        TEST(flags_that_are_set_are_not_set_again),
        TEST(what_no_answer_shows_wakes_nobody),
    };

    netdev_fixture_init(argv[0]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
