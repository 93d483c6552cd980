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
    atomic_init(&shared->period, 1);
    atomic_init(&shared->period_at, 0);
    atomic_init(&shared->n_active, 0);
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
        atomic_init(&port->period, 0);
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

/* Notes that an upcall of 'port' came at time 'now'. */
static uint32_t
upcall_shared_note(struct upcall_shared *shared,
                   struct upcall_shared_port *port, uint64_t now)
{
    uint64_t period_at;
    uint32_t period, last, n, orig;

    atomic_read_relaxed(&shared->period, &period);
    atomic_read_relaxed(&port->period, &last);
    if (last != period) {
        atomic_store_relaxed(&port->period, period);
        atomic_add_relaxed(&shared->n_active, 1, &orig);
    }

    atomic_read_relaxed(&shared->period_at, &period_at);
    if (now - period_at < UPCALL_SHARED_PERIOD
        || !atomic_compare_exchange_strong_relaxed(&shared->period_at,
                                                   &period_at, now)) {
        return 0;
    }

    /* Only one thread gets here in a period.  What others count at this moment
     * may be missed by this period and be part of the next one. */
    atomic_read_relaxed(&shared->n_active, &n);
    atomic_sub_relaxed(&shared->n_active, n, &orig);
    atomic_add_relaxed(&shared->period, 1, &orig);
    return n;
}

uint32_t
upcall_shared_count(struct upcall_shared *shared, uint32_t port_no,
                    uint64_t now)
{
    struct upcall_shared_port *port;
    uint64_t orig;

    if (!upcall_port_is_real(port_no)) {
        return 0;
    }
    port = ovsrcu_get(struct upcall_shared_port *, &shared->slots[port_no]);
    if (!port) {
        return 0;
    }
    atomic_add_relaxed(&port->received, 1, &orig);
    return upcall_shared_note(shared, port, now);
}
