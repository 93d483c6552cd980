/* SPDX-License-Identifier: Apache-2.0 */

#ifndef UNIT_NETDEV_FAULT_FIXTURE_H
#define UNIT_NETDEV_FAULT_FIXTURE_H 1

/* Network devices on the links of a namespace of the test, where the system
 * refuses what a test plans (harness/fault.h).  The linker sends the calls of
 * the code under test here (--wrap). */

#include <stdbool.h>
#include <stdint.h>

#include "harness/fault.h"
#include "harness/netns.h"
#include "harness/unit.h"
#include "netdev.h"

/* A veth, not to be mistaken for what the kernel chooses. */
#define A 1000
#define B 1001

#define OK(CALL) assert_int_equal(CALL, 0)

extern struct unit_ns *own;

extern unsigned int n_ethtool;  /* Requests. */

/* Called after each of them, if it is not NULL. */
extern void (*after_ethtool)(void);

/* What /proc/net/dev says on top of what the kernel does. */
extern uint64_t more_rx_frame;

/* Bonds are made up: what is bound to which block is not told to the kernel.
 * What devices from A on have at their ingress, and how many requests to add
 * and to delete that there were: */
#define N_INGRESS 10
struct unit_ingress {
    bool exists;
    uint32_t block_id;
};
extern struct unit_ingress unit_ingress[N_INGRESS];
extern unsigned int n_bound, n_unbound;

/* Namespace in which the datapath says that port "int0" is, or
 * LINK_NSID_NONE if it has no such port. */
extern int32_t int0_nsid;

/* How often the datapath was asked for it. */
extern unsigned int n_int0;

/* Times that the list of addresses of all devices was thrown away. */
extern unsigned int n_flushes;

/* Initializes the program, with a namespace of its own. */
void netdev_fault_init(const char *program);

/* The same, and listens to its links. */
void netdev_fault_listen(const char *program);

int setup(void **state);
int teardown(void **state);

/* Tell the link table what the kernel of the test does not know. */
void tell_ns(int32_t nsid, int ifindex, const char *name, const char *kind,
             int master, uint32_t flags);
void tell(int ifindex, const char *name, const char *kind, int master,
          uint32_t flags);

/* True once the kernel has told that "a" has a carrier. */
bool a_has_carrier(void);

#endif
