/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "unit/netdev-linux/netdev-fixture.h"

#include "netdev-linux/netdev-linux-kdp.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/pkt_sched.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dpif.h"
#include "netdev-linux/if-notifier-kdp.h"
#include "if-notifier.h"
#include "netdev-linux/links.h"
#include "link/link-listener.h"
#include "link/link-qdisc.h"
#include "link/link-table.h"
#include "netdev-provider.h"
#include "openvswitch/poll-loop.h"
#include "ovs-atomic.h"
#include "ovs-router.h"
#include "ovs-thread.h"
#include "netdev-linux/route-table-kdp.h"
#include "route-table.h"
#include "sset.h"
#include "timeval.h"
#include "harness/netns.h"
#include "harness/routes.h"
#include "util.h"

struct unit_ns *own;

int
setup(void **state)
{
    struct netdev *netdev;

    OK(unit_link_add_veth(own, A, "a", own, B, "b"));
    OK(unit_link_set_up(own, A, true));
    OK(unit_link_set_up(own, B, true));
    netdev_run();
    OK(netdev_open("a", "system", &netdev));
    *state = netdev;
    return 0;
}

/* True if the kernel has said that the link is in operation, which it does
 * some time after it came up, once. */
static bool
is_quiet(int ifindex)
{
    /* IF_OPER_UP of <linux/if.h>, which is at odds with <net/if.h>. */
    enum { OPER_UP = 6 };
    struct link_info link;

    netdev_run();
    return (link_table_find(kdp_links_table(), LINK_NSID_LOCAL, ifindex,
                            &link)
            && link.operstate == OPER_UP && link.carrier
            && link_listener_is_current(kdp_links_listener())
            && link_listener_is_idle(kdp_links_listener()));
}

int
setup_quiet(void **state)
{
    struct netdev *netdev;

    OK(unit_link_add_veth(own, A, "a", own, B, "b"));
    OK(unit_link_set_no_addresses(own, A));
    OK(unit_link_set_no_addresses(own, B));
    OK(unit_link_set_up(own, A, true));
    OK(unit_link_set_up(own, B, true));
    unit_wait_until(is_quiet(A) && is_quiet(B));
    OK(netdev_open("a", "system", &netdev));
    *state = netdev;
    return 0;
}

bool
is_released(void)
{
    struct netdev *netdev;

    netdev_run();
    netdev = netdev_from_name("a");
    netdev_close(netdev);
    return !netdev;
}

int
teardown(void **state)
{
    unit_clock_run();
    netdev_close(*state);
    unit_link_del(own, A);

    unit_wait_until(is_released());
    return 0;
}

bool
carrier_is(struct netdev *netdev, bool expected)
{
    netdev_run();
    return netdev_get_carrier(netdev) == expected;
}

enum netdev_flags
flags_of(struct netdev *netdev)
{
    enum netdev_flags flags;

    OK(netdev_get_flags(netdev, &flags));
    return flags;
}

int
mtu_of(struct netdev *netdev)
{
    int mtu;

    OK(netdev_get_mtu(netdev, &mtu));
    return mtu;
}

bool
has_mac(struct netdev *netdev, struct eth_addr expected)
{
    struct eth_addr got;

    OK(netdev_get_etheraddr(netdev, &got));
    return eth_addr_equals(got, expected);
}

void
netdev_fixture_init(const char *program)
{
    struct sset types = SSET_INITIALIZER(&types);

    unit_init(program);
    unit_start_threads();
    own = unit_ns_own();
    if (kdp_links_init()) {
        unit_die("listening to links failed");
    }
    netdev_linux_kdp_init(false);
    route_table_kdp_register();

    /* This initializes what routes are used for. */
    dp_enumerate_types(&types);
    sset_destroy(&types);
}
