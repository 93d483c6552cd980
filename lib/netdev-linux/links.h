/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_NETDEV_LINUX_LINKS_H
#define KDP_NETDEV_LINUX_LINKS_H 1

/* Links of the daemon
 * ===================
 *
 * The one link listener of the process (link/link-listener.h) and its tables,
 * which the providers of network devices and the bridge's notifier share:
 *
 *      kernel --> listener --> links ------> netdev-linux-kdp.c --> bridge
 *                         |--> addresses --^
 *                         `--> qdiscs -----^
 *
 *
 * Life cycle
 * ----------
 *
 * kdp_links_init() opens the listener, once, and takes all that the kernel
 * knows.  If that fails, kdp_links_enabled() is false, and the users do what
 * Open vSwitch does on its own.
 *
 *
 * Thread safety
 * -------------
 *
 * Functions marked "main" belong to the thread that called kdp_links_init();
 * elsewhere kdp_links_catch_up() does nothing.  The tables say what other
 * threads may do with them. */

#include <stdbool.h>

struct link_addrs;
struct link_listener;
struct link_qdiscs;
struct link_table;
struct simap;
struct smap;

/* Main.  Returns 0 or a positive errno value. */
int kdp_links_init(void);

bool kdp_links_enabled(void);

/* True in the main thread, if it has links. */
bool kdp_links_is_main(void);

/* Main.  To be called in each turn of the main loop. */
void kdp_links_run(void);
void kdp_links_wait(void);

/* Main.  True if all events that there were have been taken. */
bool kdp_links_are_idle(void);

/* Takes all that the kernel has announced, in the main thread.  To be called,
 * without any lock, after a change of our own, so that it can be read.
 * Returns true if the tables of our namespace are as the kernel's then, which
 * they are not always in other threads and after a loss.  Does nothing, and
 * returns false, while a subscriber of the link table is being called. */
bool kdp_links_catch_up(void);

/* The listener and the tables: NULL before kdp_links_init(), and if that
 * failed. */
struct link_listener *kdp_links_listener(void);
struct link_table *kdp_links_table(void);
struct link_addrs *kdp_links_addrs(void);
struct link_qdiscs *kdp_links_qdiscs(void);

/* Main.  Whether the table of queueing disciplines is kept, as it is at first:
 * see link_listener_follow_qdiscs(). */
void kdp_links_follow_qdiscs(bool follow);

/* Main.  Adds what the tables have to 'usage', for memory/show. */
void kdp_links_get_memory_usage(struct simap *usage);

/* Main.  Takes other_config:link-table-netns-entries into account. */
void kdp_links_set_config(const struct smap *other_config);

#endif /* lib/netdev-linux/links.h */
