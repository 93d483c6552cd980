/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_LINK_QDISC_H
#define KDP_LINK_QDISC_H 1

/* Queueing disciplines of links
 * =============================
 *
 * The links of our own network namespace that have a configured root queueing
 * discipline or an ingress one.  The table answers two questions without a
 * request to the kernel: whether a link that should have no discipline has one
 * to remove, and whether another process has changed what we configured.  A
 * writer, usually a listener (link-listener.h), enters what the kernel says.
 *
 * Disciplines that the kernel itself gives a device (noqueue, mq, its default)
 * have handle 0 and cannot be removed.  They are not in the table.
 *
 * Life cycle: the same as for addresses (link-addr.h).
 *
 * Thread safety: any thread may read; everything else belongs to the thread
 * that writes.
 *
 * Loss: the table does not know what its writer missed.  When all disciplines
 * are entered again, the number of each changes, as classes may have changed.
 *
 * Following: while link_qdiscs_follow() has turned it off, no changes are
 * entered and the table is unknown.  It is known again once all disciplines
 * have been entered after following was turned on. */

#include <stdbool.h>
#include <stddef.h>

#include "link/link-msg.h"

struct link_qdiscs;

struct link_qdiscs *link_qdiscs_create(void);
void link_qdiscs_destroy(struct link_qdiscs *);

/* Turns following on or off, according to 'follow'.  Turning it off forgets
 * everything. */
void link_qdiscs_follow(struct link_qdiscs *, bool follow);

/* Adds, or removes if 'gone', the queueing discipline that 'view' describes,
 * unless it is at neither root nor ingress. */
void link_qdiscs_update(struct link_qdiscs *,
                        const struct link_qdisc_view *view, bool gone);

/* Removes the disciplines of link 'ifindex'. */
void link_qdiscs_remove_link(struct link_qdiscs *, int ifindex);

/* All disciplines are entered again between these two. */
void link_qdiscs_mark(struct link_qdiscs *);
void link_qdiscs_sweep(struct link_qdiscs *);

/* Is it known which links have disciplines? */
bool link_qdiscs_are_known(const struct link_qdiscs *);

/* True if link 'ifindex' has a configured root discipline, or one at ingress
 * (of whatever kind), or if the table is unknown. */
bool link_qdiscs_has_root(const struct link_qdiscs *, int ifindex);
bool link_qdiscs_has_ingress(const struct link_qdiscs *, int ifindex);

/* A number that increases by 1 with each message of the kernel about the root
 * discipline of link 'ifindex' or its classes.  0 if there is none; a new
 * number in each call if the table is unknown. */
uint64_t link_qdiscs_root_seqno(const struct link_qdiscs *, int ifindex);

/* The same for the discipline at ingress, without classes. */
uint64_t link_qdiscs_ingress_seqno(const struct link_qdiscs *, int ifindex);

/* Notes that a class of link 'ifindex' was added, changed or removed. */
void link_qdiscs_class_changed(struct link_qdiscs *, int ifindex);

size_t link_qdiscs_count(const struct link_qdiscs *);

#endif /* lib/link/link-qdisc.h */
