/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_UPCALL_SHARED_H
#define KDP_UPCALL_SHARED_H 1

/* Ports that share channels
 * =========================
 *
 * Private to lib/upcall.  A port without a channel of its own sends its
 * upcalls to channels that belong to no port.  The port's entry here counts
 * them by the port number in each upcall.
 *
 * Thread safety
 * -------------
 *
 *      init, uninit               no other call
 *      add, del, get              one thread at a time: the caller holds a
 *                                 mutex
 *      has, count                 any thread, any time; RCU readers */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ovs-atomic.h"
#include "ovs-rcu.h"

/* Several handlers may count at the same time. */
struct upcall_shared_port {
    char *name;
    atomic_uint64_t received;
};

typedef OVSRCU_TYPE(struct upcall_shared_port *) upcall_shared_slot;

struct upcall_shared {
    upcall_shared_slot *slots;  /* UPCALL_MAX_PORTS, mostly untouched. */
    size_t n;                   /* Ports that share. */
};

void upcall_shared_init(struct upcall_shared *);

/* Frees the memory from upcall_shared_init().  No port may share any more. */
void upcall_shared_uninit(struct upcall_shared *);

/* Makes 'port_no', below UPCALL_MAX_PORTS and called 'name', share.  Does
 * nothing if it already shares. */
void upcall_shared_add(struct upcall_shared *, uint32_t port_no,
                       const char *name);

/* Ends the sharing of 'port_no', if it shares. */
void upcall_shared_del(struct upcall_shared *, uint32_t port_no);

/* Returns the entry of 'port_no', or NULL. */
struct upcall_shared_port *upcall_shared_get(const struct upcall_shared *,
                                             uint32_t port_no);

bool upcall_shared_has(const struct upcall_shared *, uint32_t port_no);

/* Counts an upcall of 'port_no', if it shares. */
void upcall_shared_count(struct upcall_shared *, uint32_t port_no);

#endif /* lib/upcall/upcall-shared.h */
