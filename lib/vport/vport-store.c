/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "vport/vport-store.h"

#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "timeval.h"
#include "util.h"

void
vport_store_init(struct vport_table *table)
{
    hmap_init(&table->by_number);
    hmap_init(&table->by_name);
    hmap_init(&table->by_ifindex);
    hmap_init(&table->rechecks);
    ovs_list_init(&table->pollers);
    table->gone = bitmap_allocate(OVS_VPORT_MAX_PORTS);
}

void
vport_store_uninit(struct vport_table *table)
{
    struct vport_entry *entry;

    HMAP_FOR_EACH_POP (entry, number_node, &table->by_number) {
        free(entry);
    }
    vport_recheck_clear(table);
    hmap_destroy(&table->by_number);
    hmap_destroy(&table->by_name);
    hmap_destroy(&table->by_ifindex);
    hmap_destroy(&table->rechecks);
    bitmap_free(table->gone);
}

/* Ports. */

bool
vport_is_untracked(const struct vport_table *table,
                   const struct ovs_vport *vport)
{
    return (!vport->ifindex
            || vport->nsid == NL_NSID_NONE
            || (vport->nsid != OVS_VPORT_LOCAL && !table->all_namespaces));
}

struct vport_entry *
vport_store_find(const struct vport_table *table, uint32_t port_no)
{
    struct vport_entry *entry;

    HMAP_FOR_EACH_WITH_HASH (entry, number_node, hash_int(port_no, 0),
                             &table->by_number) {
        if (entry->vport.port_no == port_no) {
            return entry;
        }
    }
    return NULL;
}

bool
vport_store_has_ifindex(const struct vport_table *table, int ifindex)
{
    const struct vport_entry *entry;

    HMAP_FOR_EACH_WITH_HASH (entry, ifindex_node, hash_int(ifindex, 0),
                             &table->by_ifindex) {
        if (entry->vport.ifindex == ifindex) {
            return true;
        }
    }
    return false;
}

size_t
vport_store_find_name(const struct vport_table *table, const char *name,
                      struct vport_entry **entryp)
{
    struct vport_entry *entry;
    size_t n = 0;

    *entryp = NULL;
    HMAP_FOR_EACH_WITH_HASH (entry, name_node, hash_string(name, 0),
                             &table->by_name) {
        if (!strcmp(entry->vport.name, name)) {
            if (!n++) {
                *entryp = entry;
            }
        }
    }
    return n;
}

/* Notes that port number 'port_no' is no longer used by its port. */
static void
vport_note_gone(struct vport_table *table, uint32_t port_no)
    OVS_REQUIRES(table->mutex)
{
    if (port_no < OVS_VPORT_MAX_PORTS
        && !bitmap_is_set(table->gone, port_no)) {
        bitmap_set1(table->gone, port_no);
        table->n_gone++;
    }
}

static void
vport_store_insert__(struct vport_table *table, struct vport_entry *entry)
    OVS_REQUIRES(table->mutex)
{
    const struct ovs_vport *vport = &entry->vport;

    hmap_insert(&table->by_number, &entry->number_node,
                hash_int(vport->port_no, 0));
    hmap_insert(&table->by_name, &entry->name_node,
                hash_string(vport->name, 0));
    hmap_insert(&table->by_ifindex, &entry->ifindex_node,
                hash_int(vport->ifindex, 0));
    table->n_untracked += vport_is_untracked(table, vport);
}

static void
vport_store_remove__(struct vport_table *table, struct vport_entry *entry)
    OVS_REQUIRES(table->mutex)
{
    hmap_remove(&table->by_number, &entry->number_node);
    hmap_remove(&table->by_name, &entry->name_node);
    hmap_remove(&table->by_ifindex, &entry->ifindex_node);
    table->n_untracked -= vport_is_untracked(table, &entry->vport);
}

struct vport_entry *
vport_store_put(struct vport_table *table, const struct ovs_vport *vport,
                enum vport_found found)
{
    struct vport_entry *entry = vport_store_find(table, vport->port_no);

    if (!entry) {
        entry = xzalloc(sizeof *entry);
        entry->found = found;
    } else {
        bool same_name = !strcmp(entry->vport.name, vport->name);
        bool same_device = (entry->vport.type == vport->type
                            && entry->vport.ifindex == vport->ifindex
                            && entry->vport.nsid == vport->nsid);

        vport_store_remove__(table, entry);
        if (!same_name) {
            table->stats.renamed++;
            if (vport->nsid == OVS_VPORT_LOCAL) {
                /* Rtnetlink may have notified other threads before us, and
                 * they may have got the old answer from the table.  This does
                 * not matter in other namespaces, where a port works without
                 * its name. */
                vport_notify(table, entry->vport.name);
            }
        }
        if (!same_device) {
            vport_note_gone(table, vport->port_no);
        }
        if (!same_name || !same_device || found == VPORT_FOUND_YES
            || entry->found == VPORT_FOUND_NO) {
            /* The same device may be a port again, under its present name. */
            entry->found = found;
        }
    }
    entry->vport = *vport;
    vport_store_insert__(table, entry);
    return entry;
}

void
vport_store_remove(struct vport_table *table, struct vport_entry *entry)
{
    vport_store_remove__(table, entry);
    vport_notify(table, entry->vport.name);
    vport_note_gone(table, entry->vport.port_no);
    free(entry);
}

/* Uncertain port numbers. */

struct vport_recheck *
vport_recheck_find(const struct vport_table *table, uint32_t port_no)
{
    struct vport_recheck *recheck;

    HMAP_FOR_EACH_WITH_HASH (recheck, node, hash_int(port_no, 0),
                             &table->rechecks) {
        if (recheck->port_no == port_no) {
            return recheck;
        }
    }
    return NULL;
}

struct vport_recheck *
vport_recheck_add(struct vport_table *table, uint32_t port_no,
                enum vport_ask reason)
{
    struct vport_recheck *recheck = vport_recheck_find(table, port_no);

    if (!recheck) {
        recheck = xzalloc(sizeof *recheck);
        recheck->port_no = port_no;
        recheck->announced = vport_store_find(table, port_no) != NULL;
        recheck->since = time_msec();
        recheck->reason = reason;
        hmap_insert(&table->rechecks, &recheck->node, hash_int(port_no, 0));
    } else if (reason == VPORT_ASK_ORDER) {
        recheck->reason = reason;
    }
    recheck->ask = true;
    return recheck;
}

void
vport_recheck_remove(struct vport_table *table, struct vport_recheck *recheck)
{
    hmap_remove(&table->rechecks, &recheck->node);
    free(recheck);
}

void
vport_recheck_clear(struct vport_table *table)
{
    struct vport_recheck *recheck;

    HMAP_FOR_EACH_POP (recheck, node, &table->rechecks) {
        free(recheck);
    }
}

/* Pollers. */

void
vport_notify(struct vport_table *table, const char *name)
{
    struct vport_poller *poller;

    LIST_FOR_EACH (poller, node, &table->pollers) {
        if (!poller->all) {
            sset_add(&poller->names, name);
            poller->all = sset_count(&poller->names) > VPORT_POLLER_MAX;
        }
    }
}

void
vport_notify_all(struct vport_table *table)
{
    struct vport_poller *poller;

    LIST_FOR_EACH (poller, node, &table->pollers) {
        poller->all = true;
    }
    table->all_gone = true;
}
