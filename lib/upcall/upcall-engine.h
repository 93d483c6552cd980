/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_UPCALL_ENGINE_H
#define KDP_UPCALL_ENGINE_H 1

/* Receive engines by name
 * =======================
 *
 * upcall-engine-provider.h describes engines.
 *
 * Thread safety: the classes are constant. */

#include "upcall/upcall-engine-provider.h"

/* Finds the class called 'name', or returns NULL. */
const struct upcall_engine_class *upcall_engine_lookup(const char *name);

#endif /* lib/upcall/upcall-engine.h */
