/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "recirc-ids.h"

#include <stdint.h>

#include "dpif-netlink/takeover.h"

/* The next id that Open vSwitch tries to allocate.  build-aux/ovs-build makes
 * this variable of ofproto-dpif-rid.c global. */
extern uint32_t kdp_next_recirc_id;

/* No handler or revalidator has a flow or an upcall to translate at this
 * moment, and they see the main thread's changes before they get one. */
static void
begin_with(uint32_t first)
{
    if (kdp_next_recirc_id < first) {
        kdp_next_recirc_id = first;
    }
}

void
recirc_ids_init(void)
{
    takeover_set_recirc_cb(begin_with);
}
