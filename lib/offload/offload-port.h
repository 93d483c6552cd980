/* SPDX-License-Identifier: Apache-2.0 */

#ifndef OFFLOAD_PORT_H
#define OFFLOAD_PORT_H 1

/* Ports, and what is known about their devices
 * ============================================
 *
 * Decides whether ports permit that a flow is offered to tc.  A port exists
 * from offload_ports_add() on.  It is cleared when the flows of an earlier
 * port with its number have been dropped, and ready when the rules that were
 * on it are known.  While its device backs off because it was full, no flow is
 * offered.  A port also remembers which kinds of flows its device has
 * rejected:
 *
 *     error             other flows of the kind are not tried
 *     ---------------   -----------------------------------------------------
 *     EOPNOTSUPP        for OFFLOAD_REFUSED_MSEC; then one flow is tried, and
 *                       the others are if the device accepts that one
 *     EINVAL, ENOENT    for a pause that grows, once OFFLOAD_KIND_FAILURES in
 *                       a row have failed: it may be one flow, or its value
 *     others            they are tried, as the error says nothing about them
 *
 * The result for a flow also depends on the ports that it sends to and the
 * meters that it names.  When one of these changes, remembered rejections that
 * depend on it become invalid: offload_ports_reset(),
 * offload_ports_meters_changed().  To that end each change has a number, and a
 * flow has the largest number of the changes that it depends on
 * (offload_ports_seq()).
 *
 * This module also knows whether rules of recirculation chains that were on a
 * port are kept for now, on which ports some were, and on which ports rules of
 * a previous run forward packets.
 *
 * Thread safety: any thread, any time, except for _init and _destroy. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "offload/offload-backend.h"
#include "offload/offload-info.h"
#include "openvswitch/hmap.h"
#include "openvswitch/thread.h"
#include "ovs-thread.h"

/* A port, and where its rules are if that is known.  */
struct offload_located_port {
    uint32_t port;
    uint64_t id;                /* See offload_ports_add(). */
    bool kept_chains;           /* See offload_ports_keeps_chain(). */
    bool located;
    struct offload_place place;
};

struct offload_ports {
    struct ovs_mutex mutex;
    struct hmap hmap OVS_GUARDED;       /* struct port, by number. */
    uint64_t seq OVS_GUARDED;           /* Of the latest change... */
    uint64_t meters_seq OVS_GUARDED;    /* ...and the latest one of meters. */
    bool keep_chains OVS_GUARDED;       /* For now. */
};

void offload_ports_init(struct offload_ports *);
void offload_ports_destroy(struct offload_ports *);
uint64_t offload_ports_add(struct offload_ports *, uint32_t port_no,
                           const struct offload_place *);
bool offload_ports_remove(struct offload_ports *, uint32_t port_no,
                          struct offload_place *);
bool offload_ports_exists(struct offload_ports *, uint32_t port_no,
                          uint64_t id);
void offload_ports_reset(struct offload_ports *, uint32_t port_no);
void offload_ports_set_cleared(struct offload_ports *, uint32_t port_no,
                               uint64_t id);
bool offload_ports_is_cleared(struct offload_ports *, uint32_t port_no);
bool offload_ports_is_known(struct offload_ports *, uint32_t port_no,
                            const struct offload_place *);
bool offload_ports_keep_any_chain(struct offload_ports *);
bool offload_ports_set_ready(struct offload_ports *, uint32_t port_no,
                             uint64_t id);
size_t offload_ports_count(struct offload_ports *);
size_t offload_ports_list(struct offload_ports *,
                          struct offload_located_port **);
void offload_ports_keep_chains(struct offload_ports *, bool keep);
void offload_ports_set_had_rules(struct offload_ports *, uint32_t port_no,
                                 uint64_t id);
bool offload_ports_had_rules(struct offload_ports *, uint32_t port_no);
bool offload_ports_keeps_chain(struct offload_ports *, uint32_t port_no,
                               uint64_t id);
uint64_t offload_ports_seq(struct offload_ports *,
                           const struct offload_desc *);
enum offload_reason offload_ports_admit(struct offload_ports *,
                                        const struct offload_desc *);
void offload_ports_failed(struct offload_ports *, const struct offload_desc *,
                          int error, unsigned int backoff);
void offload_ports_succeeded(struct offload_ports *,
                             const struct offload_desc *);
void offload_ports_has_room(struct offload_ports *, uint32_t port_no);
void offload_ports_set_n_in_hw(struct offload_ports *, uint32_t port_no,
                               uint32_t n);
uint32_t offload_ports_get_n_in_hw(struct offload_ports *, uint32_t port_no);
void offload_ports_meters_changed(struct offload_ports *);
uint32_t offload_ports_backing_off(struct offload_ports *);

#endif /* lib/offload/offload-port.h */
