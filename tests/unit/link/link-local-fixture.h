/* SPDX-License-Identifier: Apache-2.0 */

#ifndef UNIT_LINK_LOCAL_FIXTURE_H
#define UNIT_LINK_LOCAL_FIXTURE_H 1

/* A link listener that keeps addresses, routes and queueing disciplines, on
 * the events of a namespace of the test. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "link/link-listener.h"

/* Two ends of a veth, not to be mistaken for what the kernel chooses. */
#define A 1000
#define B 1001

/* How long a dump of routes takes, if time stands still. */
extern long long int dump_duration;

struct fixture {
    struct unit_ns *own;        /* Private to the test. */
    struct link_table *table;
    struct link_listener_options options;
    struct link_listener *listener;
};

#define OK(CALL) assert_int_equal(CALL, 0)

/* Writes to a file below /proc/sys/net of our namespace. */
void set_sysctl(const char *name, const char *value);

/* Asserts that the tables are what the kernel says, once its own threads have
 * told all. */
char *diff(struct fixture *f);
void assert_equal(struct fixture *f);
struct link_listener_stats stats_of(struct fixture *f);

/* Number of times that the routes were asked for because they were stale. */
uint64_t n_stale(struct fixture *f);
int setup(void **state);
int teardown(void **state);

/* Asserts that the tables are right and that no more was asked for. */
#define WITHOUT_ASKING(STATEMENT)                               \
    do {                                                        \
        uint64_t before__ = n_stale(f);                         \
        STATEMENT;                                              \
        assert_equal(f);                                        \
        assert_int_equal(n_stale(f), before__);                 \
    } while (0)

#endif
