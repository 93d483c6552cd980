/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_TC_TC_PLACES_H
#define KDP_TC_TC_PLACES_H 1

/* Places for rules
 * ================
 *
 * The kernel has rules at the ingress and the egress of devices, and in blocks
 * that devices share, such as the members of a bond.  This is a list of such
 * places: all that exist, or the places of ports.
 *
 * Thread safety: a list belongs to one thread. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "offload/offload-backend.h"
#include "tc.h"

struct kdp_tc_place {
    struct tcf_id id;
    uint32_t port_no;           /* Of the port there, or UINT32_MAX. */
};

/* All zeros is an empty list. */
struct kdp_tc_places {
    struct kdp_tc_place *array; /* Sorted.  A block is there once for each
                                 * device that shares it. */
    size_t n, allocated;
};

void kdp_tc_places_uninit(struct kdp_tc_places *);

/* Adds all places of our network namespace.  Takes the RTNL lock.  Returns 0
 * or a positive errno value; then some are missing. */
int kdp_tc_places_add_all(struct kdp_tc_places *);

/* Adds the places where ports of datapaths of type 'dpif_type' have rules. */
void kdp_tc_places_add_ports(struct kdp_tc_places *, const char *dpif_type);

/* Returns the first element that is the place 'id', or NULL. */
const struct kdp_tc_place *kdp_tc_places_find(const struct kdp_tc_places *,
                                              const struct tcf_id *id);

/* Are 'a' and 'b' the same place? */
bool kdp_tc_places_is_same(const struct kdp_tc_place *a,
                           const struct kdp_tc_place *b);

/* Converts 'id' to the form of the engine: the arguments of
 * tc_make_tcf_id(). */
struct offload_place kdp_tc_place_for_engine(const struct tcf_id *id);

/* Returns the device whose rules are in 'id', or the bond that owns the block
 * there. */
int kdp_tc_place_device(const struct tcf_id *id);

#endif /* lib/tc/tc-places.h */
