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
 * kdp_links_init() opens the listener, once, and fills the tables.  If that
 * fails, kdp_links_enabled() is false, and the users do what Open vSwitch does
 * on its own.
 *
 *
 * Thread safety
 * -------------
 *
 * Functions marked "main" belong to the thread that called kdp_links_init();
 * in other threads kdp_links_catch_up() does nothing.  The headers of the
 * tables say what other threads may call. */

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

/* Main.  True if all events of our namespace that had arrived were
 * processed. */
bool kdp_links_are_idle(void);

/* Processes everything that the kernel has announced, in the main thread.  To
 * be called, without any lock, after a change of our own, so that it can be
 * read.  Returns true if the tables of our namespace are current then, which
 * may not be so after a loss.  In other threads, or while a subscriber of the
 * link table is being called, does nothing and returns false. */
bool kdp_links_catch_up(void);

/* The listener and the tables: NULL before kdp_links_init(), and if that
 * failed. */
struct link_listener *kdp_links_listener(void);
struct link_table *kdp_links_table(void);
struct link_addrs *kdp_links_addrs(void);
struct link_qdiscs *kdp_links_qdiscs(void);

/* Main.  Turns the table of queueing disciplines on or off; it is on at first.
 * See link_listener_follow_qdiscs(). */
void kdp_links_follow_qdiscs(bool follow);

/* Main.  Adds the sizes of the tables to 'usage', for memory/show. */
void kdp_links_get_memory_usage(struct simap *usage);

/* Main.  Applies other_config:link-table-netns-entries. */
void kdp_links_set_config(const struct smap *other_config);

#endif /* lib/netdev-linux/links.h */
