/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "upcall/upcall-engine.h"

#include <string.h>

#include "util.h"

const struct upcall_engine_class *
upcall_engine_lookup(const char *name)
{
    static const struct upcall_engine_class *const classes[] = {
        &upcall_engine_epoll, &upcall_engine_uring,
    };

    for (size_t i = 0; i < ARRAY_SIZE(classes); i++) {
        if (!strcmp(classes[i]->name, name)) {
            return classes[i];
        }
    }
    return NULL;
}
