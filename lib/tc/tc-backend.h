/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_TC_TC_BACKEND_H
#define KDP_TC_TC_BACKEND_H 1

/* The tc side of the offload engine
 * =================================
 *
 * Carries out the engine's requests for flows on rules in tc: adds, deletes
 * and reads them in batches.  The engine stores what we know about a rule
 * (tc/tc-rules.h).
 *
 * Thread safety: any thread, see struct offload_backend. */

#include "offload/offload-backend.h"

struct kdp_tc;

struct offload_backend kdp_tc_backend(struct kdp_tc *);

#endif /* lib/tc/tc-backend.h */
