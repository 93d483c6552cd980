/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_UPCALL_ENGINE_H
#define KDP_UPCALL_ENGINE_H 1

/* Receive engines by name
 * =======================
 *
 * What an engine is and does is in upcall-engine-provider.h.
 *
 * Thread safety: the classes are constant. */

#include "upcall/upcall-engine-provider.h"

/* Finds the class called 'name', or returns NULL. */
const struct upcall_engine_class *upcall_engine_lookup(const char *name);

#endif /* lib/upcall/upcall-engine.h */
