/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "vport/vport-stats.h"

#include "util.h"

const char *
vport_ask_name(enum vport_ask ask)
{
    switch (ask) {
    case VPORT_ASK_START: return "start";
    case VPORT_ASK_LOSS: return "loss";
    case VPORT_ASK_ORDER: return "order";
    case VPORT_ASK_DEVICE: return "device";
    case VPORT_ASK_NAME: return "name";
    case VPORT_ASK_NAMESPACE: return "namespace";
    case VPORT_ASK_UNSYNCED: return "unsynced";
    case VPORT_ASK_UNUSUAL: return "unusual";
    case VPORT_N_ASKS:
    default: OVS_NOT_REACHED();
    }
}
