/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_TC_TC_BACKEND_H
#define KDP_TC_TC_BACKEND_H 1

/* The tc side of the offload engine
 * =================================
 *
 * Does with rules in tc what the engine asks for with flows: adds, deletes and
 * reads them in batches.  The engine keeps what we know of a rule
 * (tc/tc-rules.h).
 *
 * Thread safety: any thread, see struct offload_backend. */

#include "offload/offload-backend.h"

struct kdp_tc;

struct offload_backend kdp_tc_backend(struct kdp_tc *);

#endif /* lib/tc/tc-backend.h */
