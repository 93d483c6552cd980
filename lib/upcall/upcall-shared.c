/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "upcall/upcall-shared.h"

#include <stdlib.h>

#include "upcall/upcall-channel.h"
#include "util.h"

void
upcall_shared_init(struct upcall_shared *shared)
{
    shared->slots = xcalloc(UPCALL_MAX_PORTS, sizeof *shared->slots);
    shared->n = 0;
}

void
upcall_shared_uninit(struct upcall_shared *shared)
{
    ovs_assert(!shared->n);
    free(shared->slots);
}

struct upcall_shared_port *
upcall_shared_get(const struct upcall_shared *shared, uint32_t port_no)
{
    return (upcall_port_is_real(port_no)
            ? ovsrcu_get_protected(struct upcall_shared_port *,
                                   &shared->slots[port_no])
            : NULL);
}

void
upcall_shared_add(struct upcall_shared *shared, uint32_t port_no,
                  const char *name)
{
    if (!upcall_shared_get(shared, port_no)) {
        struct upcall_shared_port *port = xzalloc(sizeof *port);

        port->name = xstrdup(name);
        atomic_init(&port->received, 0);
        ovsrcu_set(&shared->slots[port_no], port);
        shared->n++;
    }
}

static void
shared_port_destroy(struct upcall_shared_port *port)
{
    free(port->name);
    free(port);
}

void
upcall_shared_del(struct upcall_shared *shared, uint32_t port_no)
{
    struct upcall_shared_port *port = upcall_shared_get(shared, port_no);

    if (port) {
        ovsrcu_set(&shared->slots[port_no], NULL);
        shared->n--;
        ovsrcu_postpone(shared_port_destroy, port);
    }
}

bool
upcall_shared_has(const struct upcall_shared *shared, uint32_t port_no)
{
    return (upcall_port_is_real(port_no)
            && ovsrcu_get(struct upcall_shared_port *,
                          &shared->slots[port_no]));
}

void
upcall_shared_count(struct upcall_shared *shared, uint32_t port_no)
{
    struct upcall_shared_port *port;

    if (upcall_port_is_real(port_no)) {
        port = ovsrcu_get(struct upcall_shared_port *,
                          &shared->slots[port_no]);
        if (port) {
            uint64_t orig;

            atomic_add_relaxed(&port->received, 1, &orig);
        }
    }
}
