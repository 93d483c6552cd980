/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "vport/vport-table.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "openvswitch/poll-loop.h"
#include "util.h"
#include "vport/vport-store.h"
#include "vport/vport-sync.h"

struct vport_table *
vport_table_create(const char *name, int dp_ifindex,
                   const struct genl_family *vport_family)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    struct vport_table *table = xzalloc(sizeof *table);

    table->name = xstrdup(name);
    table->dp_ifindex = dp_ifindex;
    table->mcgroup = vport_family->mcgroup;
    table->genl.vport = *vport_family;
    table->dump_reason = VPORT_ASK_START;
    ovs_mutex_init(&table->mutex);
    vport_store_init(table);
    return table;
}

void
vport_table_destroy(struct vport_table *table)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    if (table) {
        ovs_assert(ovs_list_is_empty(&table->pollers));
        vport_sync_close(table);
        vport_store_uninit(table);
        ovs_mutex_destroy(&table->mutex);
        free(table->name);
        free(table);
    }
}

void
vport_table_expire(struct vport_table *table)
{
    ovs_mutex_lock(&table->mutex);
    table->caught_up = table->tried = false;
    ovs_mutex_unlock(&table->mutex);
}

/* Lookups. */

static int
vport_ask_number(struct vport_table *table, uint32_t port_no,
                 enum vport_ask reason, struct ovs_vport *vport)
    OVS_REQUIRES(table->mutex)
{
    int error = vport_sync_open(table);

    if (!error) {
        table->stats.asked[reason]++;
        error = ovs_vport_get_by_number(&table->genl, table->dp_ifindex,
                                        port_no, vport);
    }
    return error;
}

static int
vport_ask_name__(struct vport_table *table, const char *name,
                 enum vport_ask reason, struct ovs_vport *vport)
    OVS_REQUIRES(table->mutex)
{
    int error = vport_sync_open(table);

    if (!error) {
        table->stats.asked[reason]++;
        error = ovs_vport_get_by_name(&table->genl, table->dp_ifindex, name,
                                      vport);
    }
    return error;
}

static int
vport_get_by_number__(struct vport_table *table, uint32_t port_no,
                      struct ovs_vport *vport)
    OVS_REQUIRES(table->mutex)
{
    const struct vport_entry *entry = vport_store_find(table, port_no);

    if (port_no >= OVS_VPORT_MAX_PORTS) {
        return vport_ask_number(table, port_no, VPORT_ASK_UNUSUAL, vport);
    }
    if (!entry || !table->caught_up) {
        vport_sync_catch_up(table);
        entry = vport_store_find(table, port_no);
    }
    if (!table->in_sync) {
        return vport_ask_number(table, port_no, VPORT_ASK_UNSYNCED, vport);
    } else if (!entry) {
        return ENODEV;
    } else if (vport_is_untracked(table, &entry->vport)) {
        return vport_sync_ask(table, port_no, VPORT_ASK_NAMESPACE, vport);
    }
    *vport = entry->vport;
    return 0;
}

int
vport_table_get_by_number(struct vport_table *table, uint32_t port_no,
                          struct ovs_vport *vport)
{
    int error;

    ovs_mutex_lock(&table->mutex);
    table->stats.by_number++;
    error = vport_get_by_number__(table, port_no, vport);
    ovs_mutex_unlock(&table->mutex);
    return error;
}

/* Asks the kernel whether it finds 'entry' by its name, and stores the
 * answer. */
static int
vport_find_out(struct vport_table *table, struct vport_entry *entry,
               struct ovs_vport *vport)
    OVS_REQUIRES(table->mutex)
{
    int error = vport_ask_name__(table, entry->vport.name, VPORT_ASK_NAME,
                                 vport);

    if (!error && vport->port_no == entry->vport.port_no) {
        entry->found = VPORT_FOUND_YES;
    } else if (error == ENODEV) {
        entry->found = VPORT_FOUND_NO;
    } else if (!error) {
        /* Announcements are missing. */
        vport_recheck_add(table, vport->port_no, VPORT_ASK_ORDER);
        vport_recheck_add(table, entry->vport.port_no, VPORT_ASK_ORDER);
    }
    return error;
}

/* Requests port 'name', which may be one that we cannot track.  'entry' is the
 * port with that name in the table, or NULL if there is none or several. */
static int
vport_find_untracked(struct vport_table *table, const char *name,
                     const struct vport_entry *entry, struct ovs_vport *vport)
    OVS_REQUIRES(table->mutex)
{
    int error = vport_ask_name__(table, name, VPORT_ASK_NAMESPACE, vport);

    if (error == ENODEV && entry && vport_is_untracked(table, &entry->vport)) {
        struct ovs_vport now;

        /* It was renamed, or went with its namespace, without announcement. */
        vport_sync_ask(table, entry->vport.port_no, VPORT_ASK_DEVICE, &now);
    }
    return error;
}

static int
vport_get_by_name__(struct vport_table *table, const char *name,
                    struct ovs_vport *vport)
    OVS_REQUIRES(table->mutex)
{
    struct vport_entry *entry;
    size_t n;

    if (strlen(name) >= sizeof vport->name) {
        return vport_ask_name__(table, name, VPORT_ASK_UNUSUAL, vport);
    }
    n = vport_store_find_name(table, name, &entry);
    if (!n || !table->caught_up) {
        vport_sync_catch_up(table);
        n = vport_store_find_name(table, name, &entry);
    }
    if (!table->in_sync) {
        return vport_ask_name__(table, name, VPORT_ASK_UNSYNCED, vport);
    } else if (table->n_untracked
               && (!n || vport_is_untracked(table, &entry->vport))) {
        return vport_find_untracked(table, name, n == 1 ? entry : NULL, vport);
    } else if (!n) {
        return ENODEV;
    } else if (n > 1) {
        /* There are several, in different namespaces. */
        return vport_ask_name__(table, name, VPORT_ASK_NAME, vport);
    } else if (entry->found == VPORT_FOUND_UNKNOWN) {
        return vport_find_out(table, entry, vport);
    } else if (entry->found == VPORT_FOUND_NO) {
        return ENODEV;
    }
    *vport = entry->vport;
    return 0;
}

int
vport_table_get_by_name(struct vport_table *table, const char *name,
                        struct ovs_vport *vport)
{
    int error;

    ovs_mutex_lock(&table->mutex);
    table->stats.by_name++;
    error = vport_get_by_name__(table, name, vport);
    ovs_mutex_unlock(&table->mutex);
    return error;
}

/* Lists. */

struct vport_array {
    struct ovs_vport *vports;
    size_t n, allocated;
};

static int
vport_array_add(const struct ovs_vport *vport, void *array_)
{
    struct vport_array *array = array_;

    if (array->n >= array->allocated) {
        array->vports = x2nrealloc(array->vports, &array->allocated,
                                   sizeof *array->vports);
    }
    array->vports[array->n++] = *vport;
    return 0;
}

static int
compare_vports(const void *a_, const void *b_)
{
    const struct ovs_vport *a = a_;
    const struct ovs_vport *b = b_;

    return a->port_no < b->port_no ? -1 : a->port_no > b->port_no;
}

/* Copies the ports that the table has to 'array'. */
static void
vport_copy(const struct vport_table *table, struct vport_array *array)
    OVS_REQUIRES(table->mutex)
{
    const struct vport_entry *entry;

    HMAP_FOR_EACH (entry, number_node, &table->by_number) {
        vport_array_add(&entry->vport, array);
    }
}

static void
vport_array_sort(struct vport_array *array)
{
    if (array->n) {
        qsort(array->vports, array->n, sizeof *array->vports, compare_vports);
    }
}

int
vport_table_list(struct vport_table *table, struct ovs_vport **vports,
                 size_t *n)
{
    struct vport_array array = { .vports = NULL };
    int error = 0;

    ovs_mutex_lock(&table->mutex);
    table->stats.lists++;
    vport_sync_catch_up(table);
    if (table->in_sync && !table->n_untracked) {
        vport_copy(table, &array);
    } else {
        error = vport_sync_open(table);
        if (!error) {
            table->stats.asked[table->in_sync ? VPORT_ASK_NAMESPACE
                               : VPORT_ASK_UNSYNCED]++;
            error = ovs_vport_dump(&table->genl, table->dp_ifindex,
                                   vport_array_add, &array);
        }
    }
    ovs_mutex_unlock(&table->mutex);

    if (error) {
        free(array.vports);
        array.vports = NULL;
        array.n = 0;
    }
    vport_array_sort(&array);
    *vports = array.vports;
    *n = array.n;
    return error;
}

/* Changes. */

void
vport_table_recheck(struct vport_table *table, uint32_t port_no)
{
    ovs_mutex_lock(&table->mutex);
    table->caught_up = false;
    if (vport_store_find(table, port_no)) {
        vport_recheck_add(table, port_no, VPORT_ASK_ORDER);
    }
    ovs_mutex_unlock(&table->mutex);
}

bool
vport_table_next_gone(struct vport_table *table, uint32_t *port_no)
{
    bool any;

    ovs_mutex_lock(&table->mutex);
    any = table->all_gone || table->n_gone;
    if (table->all_gone) {
        *port_no = VPORT_ALL;
        table->all_gone = false;
        table->n_gone = 0;
        bitmap_set_multiple(table->gone, 0, OVS_VPORT_MAX_PORTS, false);
    } else if (any) {
        *port_no = bitmap_scan(table->gone, true, 0, OVS_VPORT_MAX_PORTS);
        bitmap_set0(table->gone, *port_no);
        table->n_gone--;
    }
    ovs_mutex_unlock(&table->mutex);
    return any;
}

struct vport_poller *
vport_poller_create(struct vport_table *table)
{
    struct vport_poller *poller = xzalloc(sizeof *poller);

    poller->table = table;
    poller->all = true;
    sset_init(&poller->names);
    ovs_mutex_lock(&table->mutex);
    ovs_list_push_back(&table->pollers, &poller->node);
    ovs_mutex_unlock(&table->mutex);
    return poller;
}

void
vport_poller_destroy(struct vport_poller *poller)
{
    if (poller) {
        struct vport_table *table = poller->table;

        ovs_mutex_lock(&table->mutex);
        ovs_list_remove(&poller->node);
        ovs_mutex_unlock(&table->mutex);
        sset_destroy(&poller->names);
        free(poller);
    }
}

int
vport_poller_next(struct vport_poller *poller, char **namep)
{
    struct vport_table *table = poller->table;
    int error;

    ovs_mutex_lock(&table->mutex);
    error = vport_sync_open(table);
    if (!error) {
        if (sset_is_empty(&poller->names)) {
            vport_sync_catch_up(table);
        }
        if (poller->all) {
            poller->all = false;
            sset_clear(&poller->names);
            error = ENOBUFS;
        } else if (!sset_is_empty(&poller->names)) {
            *namep = sset_pop(&poller->names);
        } else {
            error = EAGAIN;
        }
    }
    ovs_mutex_unlock(&table->mutex);
    return error;
}

void
vport_poller_wait(struct vport_poller *poller)
{
    struct vport_table *table = poller->table;

    ovs_mutex_lock(&table->mutex);
    if (!table->genl.conn || poller->all || !sset_is_empty(&poller->names)) {
        poll_immediate_wake();
    } else {
        poll_fd_wait(nl_mcast_fd(table->vport_mcast), POLLIN);
        poll_fd_wait(nl_mcast_fd(table->link_mcast), POLLIN);
    }
    ovs_mutex_unlock(&table->mutex);
}

/* Statistics. */

void
vport_table_get_info(struct vport_table *table, struct vport_table_info *info)
{
    struct vport_array array = { .vports = NULL };

    memset(info, 0, sizeof *info);
    info->name = xstrdup(table->name);
    ovs_mutex_lock(&table->mutex);
    info->open = table->genl.conn != NULL;
    info->in_sync = table->in_sync;
    info->all_namespaces = table->all_namespaces;
    info->stats = table->stats;
    vport_copy(table, &array);
    ovs_mutex_unlock(&table->mutex);
    vport_array_sort(&array);
    info->vports = array.vports;
    info->n_vports = array.n;
}

void
vport_table_info_uninit(struct vport_table_info *info)
{
    free(info->name);
    free(info->vports);
}
