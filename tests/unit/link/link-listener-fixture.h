/* SPDX-License-Identifier: Apache-2.0 */

#ifndef UNIT_LINK_LISTENER_FIXTURE_H
#define UNIT_LINK_LISTENER_FIXTURE_H 1

/* A link listener on the events of namespaces of the test. */

#include <stdbool.h>
#include <stdint.h>

#include "harness/netns.h"
#include "link/link-listener.h"
#include "link/link-table.h"

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

struct fixture *fixture_create(void);
void
open_listener(struct fixture *f, const struct link_listener_options *options);
int setup(void **state);
int teardown(void **state);

/* With a listener, and another namespace that has NSID as its id. */
int setup_both(void **state);
struct link_listener_stats stats_of(struct fixture *f);
uint64_t total_rtnl(struct fixture *f);
struct link_info get(struct fixture *f, int32_t nsid, int ifindex);
bool has(struct fixture *f, int32_t nsid, int ifindex);
void finish(struct fixture *f);
bool equal(struct fixture *f, int32_t nsid, struct unit_ns *ns);

/* Asserts that the table is what the kernel says, once the kernel has told of
 * carriers, which it does when it pleases. */
void assert_equal(struct fixture *f);

#define OK(CALL) assert_int_equal(CALL, 0)

/* Asserts that our own change is in the table at once. */
void assert_seen(struct fixture *f);

/* Makes 'n' events of link 'ifindex' of 'ns'. */
void make_events(struct unit_ns *ns, int ifindex, int n);

#endif
