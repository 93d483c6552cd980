/* SPDX-License-Identifier: Apache-2.0 */

/* Measures the lookup of a link in one namespace while another has very many:
 * see utilities/bench-link.
 *
 * usage: link-lookup BUCKETS CHAIN OTHER LOOKUPS ROUNDS
 *
 * There are CHAIN * BUCKETS links in all.  OTHER of them are looked up. */

#include <config.h>
#include "link/link-store.h"
#include "ovs/compat-util.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "random.h"
#include "util.h"

/* Namespaces. */
#define BIG 1
#define OTHER 2

/* Indexes that no link has. */
#define NO_INDEX 1000000000

/* What the namespaces share. */
enum kind {
    FIXED,                      /* An index that does not grow. */
    GROWING,                    /* An index that does. */
    SPLIT,                      /* Nothing. */
    N_KINDS
};
static const char *const kind_names[] = { "fixed", "growing", "split" };

enum lookup { BY_INDEX, BY_NAME, MISSING, N_LOOKUPS };
static const char *const lookup_names[] = { "index", "name", "missing" };

struct bench {
    uint32_t n_buckets, n_links, n_other, n_lookups, n_rounds;
    uint32_t *sequence;         /* Ordinals of links of OTHER. */
    struct link_store stores[N_KINDS];
};

static uint64_t
now_ns(void)
{
    struct timespec ts;

    ovs_compat_ignore(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts));
    return ts.tv_sec * UINT64_C(1000000000) + ts.tv_nsec;
}

static void
format_name(char name[LINK_NAME_SIZE], uint32_t ordinal)
{
    snprintf(name, LINK_NAME_SIZE, "veth%"PRIu32, ordinal);
}

static void
add_link(struct link_store *store, int32_t nsid, uint32_t ordinal)
{
    char name[LINK_NAME_SIZE];
    struct link_view view = {
        .ifindex = ordinal + 1, .name = name, .lower_nsid = LINK_NSID_SAME,
        .target_nsid = LINK_NSID_NONE, .new_nsid = LINK_NSID_NONE,
    };
    struct link_info info;

    format_name(name, ordinal);
    link_store_update(store, nsid, &view, &info);
}

/* Fills a store in which the links of OTHER lie evenly among those of BIG. */
static void
fill_store(struct link_store *store, const struct bench *b, enum kind kind)
{
    uint32_t n_other = 0;

    link_store_init(store);
    if (kind == SPLIT) {
        link_store_set_buckets(store, b->n_buckets);
    } else if (kind == FIXED) {
        struct link_index *index = link_index_create(b->n_buckets,
                                                     store->basis);

        if (!index) {
            ovs_fatal(0, "no memory for %"PRIu32" buckets", b->n_buckets);
        }
        link_index_uninit(&store->shared);
        store->shared = *index;
        free(index);
    }
    for (uint32_t i = 0; i < b->n_links; i++) {
        bool other = n_other < (uint64_t) (i + 1) * b->n_other / b->n_links;

        add_link(store, other ? OTHER : BIG, other ? n_other++ : i);
    }
}

/* Finds a link and copies it, as a link table does. */
static bool
find_link(const struct link *link, struct link_info *info)
{
    if (link) {
        *info = link->info;
    }
    return link != NULL;
}

/* Returns the CPU time of a lookup in nanoseconds. */
static double
measure(const struct bench *b, struct link_store *store, enum lookup lookup)
{
    char (*names)[LINK_NAME_SIZE] = xcalloc(b->n_other, sizeof *names);
    struct link_info info;
    uint64_t start, end;
    uint32_t n = 0;

    for (uint32_t i = 0; i < b->n_other; i++) {
        format_name(names[i], i);
    }
    start = now_ns();
    for (uint32_t i = 0; i < b->n_lookups; i++) {
        uint32_t ordinal = b->sequence[i];

        switch (lookup) {
        case BY_INDEX:
            n += find_link(link_store_find(store, OTHER, ordinal + 1), &info);
            break;
        case BY_NAME:
            n += find_link(link_store_find_name(store, OTHER, names[ordinal]),
                           &info);
            break;
        case MISSING:
            n += !find_link(link_store_find(store, OTHER, NO_INDEX + ordinal),
                            &info);
            break;
        case N_LOOKUPS:
            OVS_NOT_REACHED();
        }
    }
    end = now_ns();
    if (n != b->n_lookups) {
        ovs_fatal(0, "%"PRIu32" of %"PRIu32" lookups gave what they should",
                  n, b->n_lookups);
    }
    free(names);
    return (double) (end - start) / b->n_lookups;
}

/* Measures how long it takes until all links of BIG are gone. */
static double
measure_drop(struct link_store *store)
{
    struct ovs_list removed = OVS_LIST_INITIALIZER(&removed);
    uint64_t start = now_ns();
    struct link *link;

    link_store_drop_ns(store, link_store_find_ns(store, BIG), &removed);
    LIST_FOR_EACH_POP (link, node, &removed) {
        link_free(link);
    }
    return (now_ns() - start) / 1e6;
}

static void
run(struct bench *b)
{
    double times[N_KINDS][N_LOOKUPS];

    printf("[\n");
    for (uint32_t round = 0; round < b->n_rounds; round++) {
        /* In turn, in every other round in the opposite order. */
        for (int i = 0; i < N_KINDS; i++) {
            int kind = round % 2 ? N_KINDS - 1 - i : i;

            for (int lookup = 0; lookup < N_LOOKUPS; lookup++) {
                times[kind][lookup] = measure(b, &b->stores[kind], lookup);
            }
        }
        for (int kind = 0; kind < N_KINDS; kind++) {
            printf(" {\"table\": \"%s\", \"round\": %"PRIu32, kind_names[kind],
                   round);
            for (int lookup = 0; lookup < N_LOOKUPS; lookup++) {
                printf(", \"%s_ns\": %.1f", lookup_names[lookup],
                       times[kind][lookup]);
            }
            printf("},\n");
        }
    }
    for (int kind = 0; kind < N_KINDS; kind++) {
        struct link_store *store = &b->stores[kind];
        const struct link_index *index
            = link_store_find_ns(store, OTHER)->index;
        int64_t n_buckets = index->by_ifindex.mask + 1;

        printf(" {\"table\": \"%s\", \"buckets\": %"PRId64, kind_names[kind],
               index == &store->shared ? -n_buckets : n_buckets);
        printf(", \"drop_ms\": %.2f}%s\n", measure_drop(store),
               kind < N_KINDS - 1 ? "," : "");
    }
    printf("]\n");
}

static uint32_t
argument(char *argv[], int i, unsigned int low, unsigned int high)
{
    unsigned int value;

    if (!str_to_uint(argv[i], 10, &value) || value < low || value > high) {
        ovs_fatal(0, "\"%s\": expected a number from %u to %u", argv[i], low,
                  high);
    }
    return value;
}

int
main(int argc, char *argv[])
{
    struct bench b;

    set_program_name(argv[0]);
    if (argc != 6) {
        ovs_fatal(0, "usage: link-lookup BUCKETS CHAIN OTHER LOOKUPS ROUNDS");
    }
    b.n_buckets = ROUND_UP_POW2(argument(argv, 1, 2, 1 << 20));
    b.n_links = b.n_buckets * argument(argv, 2, 1, 1024);
    b.n_other = argument(argv, 3, 1, b.n_links - 1);
    b.n_lookups = argument(argv, 4, 1, INT_MAX);
    b.n_rounds = argument(argv, 5, 1, 1000);

    random_set_seed(1);
    b.sequence = xcalloc(b.n_lookups, sizeof *b.sequence);
    for (uint32_t i = 0; i < b.n_lookups; i++) {
        b.sequence[i] = random_range(b.n_other);
    }
    for (int kind = 0; kind < N_KINDS; kind++) {
        fill_store(&b.stores[kind], &b, kind);
    }
    run(&b);
    for (int kind = 0; kind < N_KINDS; kind++) {
        struct ovs_list removed = OVS_LIST_INITIALIZER(&removed);
        struct link *link;

        link_store_uninit(&b.stores[kind], &removed);
        LIST_FOR_EACH_POP (link, node, &removed) {
            link_free(link);
        }
    }
    free(b.sequence);
    return 0;
}
