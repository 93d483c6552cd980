/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "unit/link/link-table-fixture.h"

#include <libmnl/libmnl.h>
#include <linux/if_link.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "harness/unit.h"
#include "util.h"

/* Puts alternative names, up to a NULL, into 'view'. */
static char alt_buf[512] __attribute__((aligned(NLMSG_ALIGNTO)));

/* Memory for so many buckets and more cannot be had, if above 0.  Other
 * threads allocate, too. */
atomic_uint calloc_limit;
unsigned int n_calloc_failures;

void *__wrap_calloc(size_t, size_t);
void *__real_calloc(size_t, size_t);
void *
__wrap_calloc(size_t n, size_t size)
{
    unsigned int limit;

    atomic_read_relaxed(&calloc_limit, &limit);
    if (limit && n >= limit) {
        n_calloc_failures++;
        return NULL;
    }
    return __real_calloc(n, size);
}

void
note_change(const struct link_change *change, void *f_)
{
    struct fixture *f = f_;
    struct link_info info;

    f->n_changes++;
    f->what = change->what;
    f->link = *change->link;

    /* The table is as it is told to be. */
    assert_int_equal(link_table_find(f->table, change->link->nsid,
                                     change->link->ifindex, &info),
                     !(change->what & LINK_CHANGE_GONE));

    /* Every change has a number, and is told once, in their order. */
    assert_int_equal(change->link->change_seqno, ++f->seqno);
}

int
setup(void **state)
{
    struct fixture *f = xzalloc(sizeof *f);

    f->table = link_table_create();
    f->sub = link_table_subscribe(f->table, LINK_NSID_ALL, LINK_CHANGE_ALL,
                                  note_change, f);
    *state = f;
    return 0;
}

int
teardown(void **state)
{
    struct fixture *f = *state;

    atomic_store_relaxed(&calloc_limit, 0);
    link_table_unsubscribe(f->sub);
    link_table_destroy(f->table);
    free(f);
    return 0;
}

struct link_view
view_of(int ifindex, const char *name)
{
    return (struct link_view) {
        .ifindex = ifindex,
        .name = name,
        .lower_nsid = LINK_NSID_SAME,
        .target_nsid = LINK_NSID_NONE,
        .new_nsid = LINK_NSID_NONE,
    };
}

void
add(struct fixture *f, int32_t nsid, int ifindex, const char *name)
{
    struct link_view view = view_of(ifindex, name);

    link_table_update(f->table, nsid, &view);
}

int
index_of(struct fixture *f, int32_t nsid, const char *name)
{
    struct link_info info;

    return link_table_find_name(f->table, nsid, name, &info) ? info.ifindex
           : 0;
}

struct link_info
get(struct fixture *f, int32_t nsid, int ifindex)
{
    struct link_info info;

    assert_true(link_table_find(f->table, nsid, ifindex, &info));
    return info;
}

bool
has(struct fixture *f, int32_t nsid, int ifindex)
{
    struct link_info info;

    return link_table_find(f->table, nsid, ifindex, &info);
}

struct link_ns_info
get_ns(struct fixture *f, int32_t nsid)
{
    size_t n;
    struct link_ns_info *infos = link_table_get_namespaces(f->table, &n);

    for (size_t i = 0; i < n; i++) {
        if (infos[i].nsid == nsid) {
            struct link_ns_info info = infos[i];

            free(infos);
            return info;
        }
    }
    fail_msg("no namespace %d", nsid);
    OVS_NOT_REACHED();
}

void
set_alt_names(struct link_view *view, const char *first, ...)
{
    struct nlmsghdr *nlh = mnl_nlmsg_put_header(alt_buf);
    struct nlattr *nest = mnl_attr_nest_start(nlh, IFLA_PROP_LIST);
    va_list args;

    va_start(args, first);
    for (const char *name = first; name; name = va_arg(args, const char *)) {
        mnl_attr_put_strz(nlh, IFLA_ALT_IFNAME, name);
    }
    va_end(args);
    mnl_attr_nest_end(nlh, nest);
    view->alt_names = nest;
}
