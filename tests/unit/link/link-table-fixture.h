/* SPDX-License-Identifier: Apache-2.0 */

#ifndef UNIT_LINK_TABLE_FIXTURE_H
#define UNIT_LINK_TABLE_FIXTURE_H 1

/* A link table that is written to by hand, and a subscriber that checks what
 * it is told. */

#include <stdbool.h>
#include <stdint.h>

#include "link/link-table.h"
#include "ovs-atomic.h"

/* Memory for so many buckets and more cannot be had, if above 0. */
extern atomic_uint calloc_limit;
extern unsigned int n_calloc_failures;

struct fixture {
    struct link_table *table;
    struct link_subscription *sub;

    /* What the subscription was told. */
    unsigned int n_changes;
    uint64_t seqno;             /* Of the last change that was told. */
    uint32_t what;
    struct link_info link;
};

void note_change(const struct link_change *change, void *f_);
int setup(void **state);
int teardown(void **state);
struct link_view view_of(int ifindex, const char *name);
void add(struct fixture *f, int32_t nsid, int ifindex, const char *name);

/* Interface index of the link called 'name', or 0. */
int index_of(struct fixture *f, int32_t nsid, const char *name);
struct link_info get(struct fixture *f, int32_t nsid, int ifindex);
bool has(struct fixture *f, int32_t nsid, int ifindex);
struct link_ns_info get_ns(struct fixture *f, int32_t nsid);
void set_alt_names(struct link_view *view, const char *first, ...);

#endif
