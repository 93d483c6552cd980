/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_UPCALL_DIAGNOSE_H
#define KDP_UPCALL_DIAGNOSE_H 1

/* Findings about upcalls, for kdp/doctor (unixctl/findings.h).
 *
 * Thread safety: a pure function of its arguments. */

#include <stddef.h>
#include <stdint.h>

#include "upcall/upcall-store.h"

struct findings;
struct upcall_table_info;

/* Resource limits of the process. */
struct upcall_limits {
    size_t max_channels;        /* upcall_fd_limit_max_channels(). */
    unsigned int n_clamped;     /* upcall_rcvbuf_n_clamped(). */
    struct upcall_store_info store;     /* upcall_store_get_info(). */
};

void upcall_diagnose(const struct upcall_table_info *,
                     const struct upcall_limits *, struct findings *);

#endif /* lib/upcall/upcall-diagnose.h */
