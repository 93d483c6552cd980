/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_LINK_QDISC_H
#define KDP_LINK_QDISC_H 1

/* Queueing disciplines of links
 * =============================
 *
 * Which links of our own network namespace have a root queueing discipline
 * that somebody configured, and which have an ingress one.  That answers,
 * without asking the kernel, whether there is anything to remove from a link
 * that is to have none, and whether what we configured has been changed since.
 * A writer, usually a listener (link-listener.h),
 * enters what the kernel says.
 *
 * What the kernel itself gives a device (noqueue, mq, its default) has handle
 * 0, cannot be removed, and is not in the table.
 *
 * Life cycle: as of addresses (link-addr.h).
 *
 * Thread safety: any thread may read; all else belongs to the thread that
 * writes.
 *
 * Loss: the table does not know what its writer missed.  When all disciplines
 * are entered again, the number of each changes, as classes may have.
 *
 * Following: link_qdiscs_follow() tells that nobody enters anything for a
 * while.  Then nothing is known, until all were entered after that has
 * ended. */

#include <stdbool.h>
#include <stddef.h>

#include "link/link-msg.h"

struct link_qdiscs;

struct link_qdiscs *link_qdiscs_create(void);
void link_qdiscs_destroy(struct link_qdiscs *);

/* Forgets all and ignores what is entered, or ends that, according to
 * 'follow'. */
void link_qdiscs_follow(struct link_qdiscs *, bool follow);

/* Enters, or removes if 'gone', the queueing discipline that 'view' describes.
 * Others than those at root and ingress are ignored. */
void link_qdiscs_update(struct link_qdiscs *,
                        const struct link_qdisc_view *view, bool gone);

/* Removes those of link 'ifindex'. */
void link_qdiscs_remove_link(struct link_qdiscs *, int ifindex);

/* All disciplines are entered between the two, again. */
void link_qdiscs_mark(struct link_qdiscs *);
void link_qdiscs_sweep(struct link_qdiscs *);

/* Is it known which links have disciplines? */
bool link_qdiscs_are_known(const struct link_qdiscs *);

/* True if link 'ifindex' has a configured root discipline, or one at ingress
 * (of whatever kind), or may have one, as nothing is known. */
bool link_qdiscs_has_root(const struct link_qdiscs *, int ifindex);
bool link_qdiscs_has_ingress(const struct link_qdiscs *, int ifindex);

/* A number that changes whenever the kernel says something about the root
 * discipline of link 'ifindex', or about its classes, and by 1 for each
 * message.  0 if there is none; another one each time if nothing is known. */
uint64_t link_qdiscs_root_seqno(const struct link_qdiscs *, int ifindex);

/* The same for the discipline at ingress, without classes. */
uint64_t link_qdiscs_ingress_seqno(const struct link_qdiscs *, int ifindex);

/* Notes that a class of link 'ifindex' came, changed, or went. */
void link_qdiscs_class_changed(struct link_qdiscs *, int ifindex);

size_t link_qdiscs_count(const struct link_qdiscs *);

#endif /* lib/link/link-qdisc.h */
