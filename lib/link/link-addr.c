/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "link/link-addr.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "hash.h"
#include "openvswitch/hmap.h"
#include "ovs-thread.h"
#include "packets.h"
#include "util.h"

struct link_addr {
    struct hmap_node node;      /* In 'addrs', by interface index. */
    int ifindex;
    bool ipv4;
    uint8_t prefix_len;         /* Of an IPv4 address at most 32. */
    struct in6_addr addr;       /* IPv4 ones are mapped. */
    uint64_t order;             /* Increases: smaller for older addresses. */
    uint64_t generation;        /* At the last update. */
};

/* A link whose addresses have changed. */
struct link_addr_note {
    struct hmap_node node;      /* In 'changed', by interface index. */
    int ifindex;
};

struct link_addrs {
    struct ovs_mutex mutex;
    struct hmap addrs;          /* Of struct link_addr. */
    struct hmap changed;        /* Of struct link_addr_note. */
    uint64_t generation;
    uint64_t next_order;
};

struct link_addrs *
link_addrs_create(void)
{
    struct link_addrs *addrs = xzalloc(sizeof *addrs);

    ovs_mutex_init(&addrs->mutex);
    hmap_init(&addrs->addrs);
    hmap_init(&addrs->changed);
    return addrs;
}

static uint32_t
link_addr_hash(int ifindex)
{
    return hash_int(ifindex, 0);
}

/* Notes that the addresses of link 'ifindex' have changed. */
static void
link_addr_note(struct link_addrs *addrs, int ifindex)
    OVS_REQUIRES(addrs->mutex)
{
    struct link_addr_note *note;

    HMAP_FOR_EACH_WITH_HASH (note, node, link_addr_hash(ifindex),
                             &addrs->changed) {
        if (note->ifindex == ifindex) {
            return;
        }
    }
    note = xmalloc(sizeof *note);
    note->ifindex = ifindex;
    hmap_insert(&addrs->changed, &note->node, link_addr_hash(ifindex));
}

static void
link_addr_remove(struct link_addrs *addrs, struct link_addr *addr)
    OVS_REQUIRES(addrs->mutex)
{
    hmap_remove(&addrs->addrs, &addr->node);
    link_addr_note(addrs, addr->ifindex);
    free(addr);
}

void
link_addrs_destroy(struct link_addrs *addrs)
{
    struct link_addr *addr;
    int ifindex;

    if (addrs) {
        ovs_mutex_lock(&addrs->mutex);
        HMAP_FOR_EACH_SAFE (addr, node, &addrs->addrs) {
            link_addr_remove(addrs, addr);
        }
        ovs_mutex_unlock(&addrs->mutex);
        while (link_addrs_next_changed(addrs, &ifindex)) {
            continue;
        }
        hmap_destroy(&addrs->addrs);
        hmap_destroy(&addrs->changed);
        ovs_mutex_destroy(&addrs->mutex);
        free(addrs);
    }
}

/* Fills the members of '*addr' that identify an address.  Returns false if
 * 'view' has no IP address. */
static bool
link_addr_from_view(struct link_addr *addr, const struct link_addr_view *view)
{
    memset(addr, 0, sizeof *addr);
    if (!view->address) {
        return false;
    }
    addr->ifindex = view->ifindex;
    addr->prefix_len = view->prefix_len;
    if (view->family == AF_INET && view->address_len == 4
        && view->prefix_len <= 32) {
        ovs_be32 ip;

        memcpy(&ip, view->address, sizeof ip);
        in6_addr_set_mapped_ipv4(&addr->addr, ip);
        addr->ipv4 = true;
        return true;
    } else if (view->family == AF_INET6 && view->address_len == 16
               && view->prefix_len <= 128) {
        memcpy(&addr->addr, view->address, sizeof addr->addr);
        return true;
    }
    return false;
}

static struct link_addr *
link_addr_find(struct link_addrs *addrs, const struct link_addr *key)
    OVS_REQUIRES(addrs->mutex)
{
    struct link_addr *addr;

    /* A link may have one IPv4 address with several prefix lengths. */
    HMAP_FOR_EACH_WITH_HASH (addr, node, link_addr_hash(key->ifindex),
                             &addrs->addrs) {
        if (addr->ifindex == key->ifindex && addr->ipv4 == key->ipv4
            && addr->prefix_len == key->prefix_len
            && ipv6_addr_equals(&addr->addr, &key->addr)) {
            return addr;
        }
    }
    return NULL;
}

bool
link_addrs_update(struct link_addrs *addrs, const struct link_addr_view *view,
                  bool gone)
{
    struct link_addr key;

    if (!link_addr_from_view(&key, view)) {
        return false;
    }

    ovs_mutex_lock(&addrs->mutex);
    struct link_addr *addr = link_addr_find(addrs, &key);
    bool changed = gone ? addr != NULL : !addr;
    if (gone && addr) {
        link_addr_remove(addrs, addr);
    } else if (!gone && addr) {
        addr->generation = addrs->generation;
    } else if (!gone) {
        addr = xmemdup(&key, sizeof key);
        addr->order = addrs->next_order++;
        addr->generation = addrs->generation;
        hmap_insert(&addrs->addrs, &addr->node, link_addr_hash(key.ifindex));
        link_addr_note(addrs, key.ifindex);
    }
    ovs_mutex_unlock(&addrs->mutex);
    return changed;
}

/* Returns an address of link 'ifindex', or NULL. */
static struct link_addr *
link_addr_any(struct link_addrs *addrs, int ifindex)
    OVS_REQUIRES(addrs->mutex)
{
    struct link_addr *addr;

    HMAP_FOR_EACH_WITH_HASH (addr, node, link_addr_hash(ifindex),
                             &addrs->addrs) {
        if (addr->ifindex == ifindex) {
            return addr;
        }
    }
    return NULL;
}

void
link_addrs_remove_link(struct link_addrs *addrs, int ifindex)
{
    struct link_addr *addr;

    ovs_mutex_lock(&addrs->mutex);
    while ((addr = link_addr_any(addrs, ifindex)) != NULL) {
        link_addr_remove(addrs, addr);
    }
    ovs_mutex_unlock(&addrs->mutex);
}

bool
link_addrs_next_changed(struct link_addrs *addrs, int *ifindex)
{
    struct link_addr_note *note = NULL;

    ovs_mutex_lock(&addrs->mutex);
    if (!hmap_is_empty(&addrs->changed)) {
        note = CONTAINER_OF(hmap_first(&addrs->changed),
                            struct link_addr_note, node);
        hmap_remove(&addrs->changed, &note->node);
        *ifindex = note->ifindex;
        free(note);
    }
    ovs_mutex_unlock(&addrs->mutex);
    return note != NULL;
}

void
link_addrs_mark(struct link_addrs *addrs)
{
    ovs_mutex_lock(&addrs->mutex);
    addrs->generation++;
    ovs_mutex_unlock(&addrs->mutex);
}

void
link_addrs_sweep(struct link_addrs *addrs)
{
    struct link_addr *addr;

    ovs_mutex_lock(&addrs->mutex);
    HMAP_FOR_EACH_SAFE (addr, node, &addrs->addrs) {
        if (addr->generation != addrs->generation) {
            link_addr_remove(addrs, addr);
        }
    }
    ovs_mutex_unlock(&addrs->mutex);
}

static int
link_addr_compare(const void *a_, const void *b_)
{
    const struct link_addr *a = *(const struct link_addr *const *) a_;
    const struct link_addr *b = *(const struct link_addr *const *) b_;

    if (a->ipv4 != b->ipv4) {
        return a->ipv4 ? -1 : 1;
    } else if (!a->ipv4) {
        /* The kernel lists the newest IPv6 address first, but announces it
         * last. */
        return memcmp(&a->addr, &b->addr, sizeof a->addr);
    }
    return a->order < b->order ? -1 : a->order > b->order;
}

static struct in6_addr
link_addr_mask(const struct link_addr *addr)
{
    if (addr->ipv4) {
        struct in6_addr mask;

        in6_addr_set_mapped_ipv4(&mask, be32_prefix_mask(addr->prefix_len));
        return mask;
    }
    return ipv6_create_mask(addr->prefix_len);
}

size_t
link_addrs_get(const struct link_addrs *addrs_, int ifindex,
               struct in6_addr **addrsp, struct in6_addr **masksp)
{
    struct link_addrs *addrs = CONST_CAST(struct link_addrs *, addrs_);
    const struct link_addr **found = NULL;
    size_t n = 0, allocated = 0;
    struct link_addr *addr;

    *addrsp = *masksp = NULL;
    ovs_mutex_lock(&addrs->mutex);
    HMAP_FOR_EACH_WITH_HASH (addr, node, link_addr_hash(ifindex),
                             &addrs->addrs) {
        if (addr->ifindex == ifindex) {
            if (n >= allocated) {
                found = x2nrealloc(found, &allocated, sizeof *found);
            }
            found[n++] = addr;
        }
    }
    if (n) {
        qsort(found, n, sizeof *found, link_addr_compare);
        *addrsp = xmalloc(n * sizeof **addrsp);
        *masksp = xmalloc(n * sizeof **masksp);
        for (size_t i = 0; i < n; i++) {
            (*addrsp)[i] = found[i]->addr;
            (*masksp)[i] = link_addr_mask(found[i]);
        }
    }
    ovs_mutex_unlock(&addrs->mutex);
    free(found);
    return n;
}

size_t
link_addrs_count(const struct link_addrs *addrs_)
{
    struct link_addrs *addrs = CONST_CAST(struct link_addrs *, addrs_);

    ovs_mutex_lock(&addrs->mutex);
    size_t n = hmap_count(&addrs->addrs);
    ovs_mutex_unlock(&addrs->mutex);
    return n;
}
