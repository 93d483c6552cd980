/* SPDX-License-Identifier: Apache-2.0 */

#ifndef UNIT_NETDEV_FIXTURE_H
#define UNIT_NETDEV_FIXTURE_H 1

/* Network devices as Open vSwitch sees them, on the links of a namespace of
 * the test. */

#include <stdbool.h>

#include "harness/netns.h"
#include "harness/unit.h"
#include "netdev.h"
#include "packets.h"

/* A veth, not to be mistaken for what the kernel chooses. */
#define A 1000
#define B 1001
#define NSID 4000

#define OK(CALL) assert_int_equal(CALL, 0)

/* The namespace. */
extern struct unit_ns *own;

/* Initializes the program, with a namespace of its own whose links are
 * kept. */
void netdev_fixture_init(const char *program);
int setup(void **state);

/* The same with links that get no IPv6 addresses by themselves.  Nothing is
 * left that the kernel is yet to do, which would be announced later. */
int setup_quiet(void **state);

/* True if nobody has device "a" open. */
bool is_released(void);
int teardown(void **state);
bool carrier_is(struct netdev *netdev, bool expected);
enum netdev_flags flags_of(struct netdev *netdev);
int mtu_of(struct netdev *netdev);
bool has_mac(struct netdev *netdev, struct eth_addr expected);

#endif
