/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_LINK_TABLE_H
#define KDP_LINK_TABLE_H 1

/* Link table
 * ==========
 *
 * What is known about the network devices ("links") of our own network
 * namespace and of those that have an id in it.  A writer, usually a listener
 * (link-listener.h), enters what the kernel says; readers get copies.
 *
 *      LINK_NSID_LOCAL ---> namespace ---+--> index by interface index
 *      namespace id 0  ---> namespace ---+--> index by name and by
 *      namespace id 7  ---> namespace ---+    alternative names
 *
 * Names and interface indexes repeat between namespaces, so a namespace is
 * part of every key.  Our own is LINK_NSID_LOCAL, whatever id it may have for
 * itself.  Within a namespace a name means the link that was last told to have
 * it.
 *
 *
 * Buckets
 * -------
 *
 * By default all namespaces share one pair of indexes, which grows.  With
 * link_table_set_buckets() each has indexes of its own with a fixed number of
 * buckets, so that one namespace's links lengthen no lookup of another's.
 * A namespace for which the memory cannot be had uses the shared ones.
 *
 *
 * Life cycle
 * ----------
 *
 * A namespace comes with link_table_add_ns(), or with its first link, and goes
 * with link_table_drop_ns(), which takes all of its links along.  It is
 * pending until somebody has told all of its links (link_table_set_current());
 * stale if that cannot be done.  What readers get of a pending or stale
 * namespace is the best that is known.
 *
 * To take the links of a namespace anew: link_table_mark(), an update for each
 * link that there is, link_table_sweep().  What was not updated is removed.
 *
 *
 * Changes
 * -------
 *
 * Every change has a sequence number, global and increasing.  That of a link's
 * last change is in its struct link_info.  Two ways to learn of changes:
 *
 *   - link_table_seq() is a struct seq that changes with every change.
 *
 *   - Subscriptions: a function is called for each change, with what has
 *     changed, by the thread that writes, after the change, without locks: it
 *     may read the table and subscribe and unsubscribe.  It must not write,
 *     nor run the writer (link_table_is_telling()).
 *
 * An update that changes nothing is no change.
 *
 *
 * Thread safety
 * -------------
 *
 *      function                              thread
 *      ----------------------------------    -------------------------------
 *      find, find_name, get_*, has_ns,       any
 *      seqno, seq
 *      all others                            the one that writes
 *
 * A mutex guards the table.  It is held for as long as it takes to find and to
 * copy a link, or where a function is about all links or namespaces, all (but
 * not in link_table_addrs_changed(), which takes one after the other).
 *
 *
 * Loss
 * ----
 *
 * The table does not know what its writer missed.  It is as good as the
 * writer's last mark and sweep and the updates since. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "link/link-msg.h"

struct seq;
struct sset;

struct link_table;

/* A link. */
struct link_info {
    int32_t nsid;               /* Namespace. */
    int ifindex;
    char name[LINK_NAME_SIZE];
    char kind[LINK_KIND_SIZE];  /* "veth" and so on, or an empty string. */
    uint16_t arp_type;          /* ARPHRD_*. */
    uint32_t flags;             /* IFF_*. */
    uint8_t operstate;          /* IF_OPER_*. */
    bool carrier;
    uint32_t carrier_up;        /* Times that the carrier came... */
    uint32_t carrier_down;      /* ...and went. */
    uint32_t mtu;               /* Bytes. */
    uint8_t hwaddr[LINK_HWADDR_MAX];
    uint8_t hwaddr_len;
    int master;                 /* Interface index or 0. */

    /* The link that this one is on, or a veth's peer, as of the last message
     * about this link: the kernel says nothing when a veth gets its peer or
     * the peer moves. */
    int lower;                  /* Interface index or 0... */
    int32_t lower_nsid;         /* ...in that namespace, LINK_NSID_SAME, or
                                 * LINK_NSID_OTHER. */

    /* Of a port of a switch in hardware, such as the representor of a virtual
     * function: its name there, or an empty string, and what all ports of the
     * switch have in common. */
    char port_name[LINK_NAME_SIZE];
    uint8_t switch_id[LINK_SWITCH_ID_MAX];
    uint8_t switch_id_len;      /* 0 if there is none. */

    uint64_t change_seqno;      /* Of the last change. */
    uint64_t addr_seqno;        /* Of the last change of IP addresses. */
};

/* What has changed. */
#define LINK_CHANGE_NEW       (1u << 0)     /* There is such a link now. */
#define LINK_CHANGE_GONE      (1u << 1)     /* There is none any more. */
#define LINK_CHANGE_NAME      (1u << 2)     /* Or what the name means. */
#define LINK_CHANGE_ALT_NAMES (1u << 3)
#define LINK_CHANGE_FLAGS     (1u << 4)
#define LINK_CHANGE_OPERSTATE (1u << 5)
#define LINK_CHANGE_CARRIER   (1u << 6)     /* Carrier or its counts. */
#define LINK_CHANGE_MTU       (1u << 7)
#define LINK_CHANGE_HWADDR    (1u << 8)
#define LINK_CHANGE_MASTER    (1u << 9)
#define LINK_CHANGE_LOWER     (1u << 10)
#define LINK_CHANGE_KIND      (1u << 11)    /* Kind or type. */
#define LINK_CHANGE_ADDRS     (1u << 12)    /* IP addresses, which are not in
                                             * the table. */
#define LINK_CHANGE_SWITCH    (1u << 13)    /* Name of the port, or id of the
                                             * switch that it is of. */
#define LINK_CHANGE_ALL       ((1u << 14) - 1)

/* Most buckets of a namespace's own index: 128 MiB for each index. */
#define LINK_BUCKETS_MAX (1u << 24)

/* Returns "local" or the number of namespace 'nsid'.  The caller frees it. */
char *link_nsid_to_string(int32_t nsid);

struct link_table *link_table_create(void);

/* Destroys 'table', which may be NULL.  Tells no subscriber. */
void link_table_destroy(struct link_table *);

/* Gives each namespace, those that there are included, indexes of its own with
 * 'n' buckets, rounded up to a power of two, at most LINK_BUCKETS_MAX.  With 0
 * all share.  Warns if the memory cannot be had for one; that one shares. */
void link_table_set_buckets(struct link_table *, uint32_t n);

/* Namespaces. */

/* Makes sure that namespace 'nsid' is there.  Returns true if it was not, in
 * which case it is pending. */
bool link_table_add_ns(struct link_table *, int32_t nsid);

/* Removes namespace 'nsid', if it is there, with all of its links. */
void link_table_drop_ns(struct link_table *, int32_t nsid);

bool link_table_has_ns(const struct link_table *, int32_t nsid);

/* Makes namespace 'nsid', which has to be there, or all, pending.  Our own
 * becomes the first of those that are, another the last. */
void link_table_set_pending(struct link_table *, int32_t nsid);
void link_table_set_all_pending(struct link_table *);

/* Returns true and stores the first pending namespace in '*nsid', if there is
 * one. */
bool link_table_next_pending(const struct link_table *, int32_t *nsid);
bool link_table_is_pending(const struct link_table *, int32_t nsid);

/* Ends that namespace 'nsid' is pending: all of its links were told, or they
 * cannot be, for the reason 'error', a positive errno value. */
void link_table_set_current(struct link_table *, int32_t nsid);
void link_table_set_stale(struct link_table *, int32_t nsid, int error);

/* Counters of a namespace, for link_table_get_namespaces(). */
void link_table_count_event(struct link_table *, int32_t nsid);
void link_table_count_overrun(struct link_table *);

/* Between the two, link_table_add_ns() for each namespace that there is; then
 * the others are dropped, except for our own. */
void link_table_mark_namespaces(struct link_table *);
void link_table_sweep_namespaces(struct link_table *);

/* Links. */

/* Enters what 'view' says of a link of namespace 'nsid'; the namespace is
 * added if need be.  A partial view of an unknown link is ignored.  Returns
 * what has changed, a combination of LINK_CHANGE_*, or 0. */
uint32_t link_table_update(struct link_table *, int32_t nsid,
                           const struct link_view *view);

/* Removes a link.  Returns false if there was none. */
bool link_table_remove(struct link_table *, int32_t nsid, int ifindex);

/* Notes that the IP addresses of a link, or of all of the namespace if
 * 'ifindex' is 0, may have changed. */
void link_table_addrs_changed(struct link_table *, int32_t nsid, int ifindex);

/* See "Life cycle".  link_table_keep() is for a link that there is, of which
 * nothing is told. */
void link_table_keep(struct link_table *, int32_t nsid, int ifindex);
void link_table_mark(struct link_table *, int32_t nsid);
size_t link_table_sweep(struct link_table *, int32_t nsid);

/* Reading. */

/* Finds a link.  Returns true and fills '*info' if there is one. */
bool link_table_find(const struct link_table *, int32_t nsid, int ifindex,
                     struct link_info *info);

/* Finds a link by name or alternative name. */
bool link_table_find_name(const struct link_table *, int32_t nsid,
                          const char *name, struct link_info *info);

/* Adds the alternative names of a link to 'names'. */
void link_table_get_alt_names(const struct link_table *, int32_t nsid,
                              int ifindex, struct sset *names);

/* Returns the links of namespace 'nsid' by interface index, and their number
 * in '*n'.  The caller frees the array. */
struct link_info *link_table_get_links(const struct link_table *,
                                       int32_t nsid, size_t *n);

enum link_ns_state { LINK_NS_CURRENT, LINK_NS_PENDING, LINK_NS_STALE };

struct link_ns_info {
    int32_t nsid;
    enum link_ns_state state;
    int error;                  /* Why stale: positive errno value. */
    size_t n_links;
    int64_t buckets;            /* Of one index, negative if shared. */
    uint64_t events;            /* Link events of this namespace. */
    uint64_t overruns;          /* Losses that it may have been hit by. */
    uint64_t resyncs;           /* Times that all its links were told anew. */
};

/* Returns the namespaces, ours first, then by id, and their number in '*n'.
 * The caller frees the array. */
struct link_ns_info *link_table_get_namespaces(const struct link_table *,
                                               size_t *n);

/* Sequence number of the last change. */
uint64_t link_table_seqno(const struct link_table *);

/* Changes with every change; the table owns it. */
struct seq *link_table_seq(const struct link_table *);

/* Subscriptions. */

struct link_change {
    uint32_t what;              /* LINK_CHANGE_*. */
    const struct link_info *link;       /* As it is now or, with
                                         * LINK_CHANGE_GONE, was last.  Valid
                                         * during the call. */
};

typedef void link_change_func(const struct link_change *, void *aux);

/* Calls 'cb' with 'aux' for changes, of which at least one is in 'what', of
 * links of namespace 'nsid' (or LINK_NSID_ALL).  The caller owns the result
 * and ends it with link_table_unsubscribe(), before the table is destroyed. */
struct link_subscription *
link_table_subscribe(struct link_table *, int32_t nsid, uint32_t what,
                     link_change_func *cb, void *aux);
void link_table_unsubscribe(struct link_subscription *);

/* True while subscribers are being called. */
bool link_table_is_telling(const struct link_table *);

#endif /* lib/link/link-table.h */
