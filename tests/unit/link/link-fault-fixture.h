/* SPDX-License-Identifier: Apache-2.0 */

#ifndef UNIT_LINK_FAULT_FIXTURE_H
#define UNIT_LINK_FAULT_FIXTURE_H 1

/* A link listener whose calls can be made to fail, and whose messages can be
 * changed on their way.  The linker sends the calls that the code under test
 * makes here (--wrap).  A socket of the test stands in for the kernel where
 * the kernel does not do what is wanted. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "link/link-listener.h"
#include "link/link-table.h"

#define INDEX 1000
#define NSID 4000
#define SELF_NSID 5000

/* What becomes of the messages that pass. */
struct mangle {
    bool old_kernel;            /* Which knows no IFLA_TARGET_NETNSID. */
    unsigned int interrupt;     /* That many answers are interrupted dumps. */
    bool interrupt_early;       /* Each says so from its first message on. */
    unsigned int n_dumps;       /* That many of them are over. */
    int skip[4];                /* The link that is missing from each. */
    int32_t interrupt_nsid;     /* All dumps of it are interrupted. */
    int garble_index;           /* Answers about that link make no sense. */
    bool garble_nsids;          /* Dumps of ids make no sense. */
    bool swallow_nsid;          /* Events about ids do not arrive. */
    bool from_kernel;           /* Every sender seems to be the kernel. */
    unsigned int truncate;      /* So many events are cut short. */
    bool strip_control;         /* Ancillary data is cut short. */
    bool tag_own;               /* Events of our own namespace are tagged with
                                 * SELF_NSID,
                                 * which not every kernel does. */
};

extern struct mangle mangle;

/* Tags what has no tag, with room for one. */
void tag_own(struct msghdr *msg, size_t room);
struct fixture {
    size_t n_fds;
    struct unit_ns *own, *other;
    struct link_table *table;
    struct link_listener *listener;
};

int setup(void **state);
int teardown(void **state);
void finish(struct fixture *f);
void open_listener(struct fixture *f);
struct link_listener_stats stats_of(struct fixture *f);
bool has(struct fixture *f, int32_t nsid, int ifindex);
void assert_equal(struct fixture *f, int32_t nsid, struct unit_ns *ns);
enum link_ns_state state_of(struct fixture *f, int32_t nsid, int *error);
int sender_open(void);
void send_link(int fd, int ifindex, const char *name);
void send_nsid(int fd, uint16_t type, int32_t nsid);

#endif
