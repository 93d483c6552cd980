/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "link/link-stats.h"

#include "util.h"

const char *
link_reason_name(enum link_reason reason)
{
    switch (reason) {
    case LINK_REASON_START: return "start";
    case LINK_REASON_LOSS: return "loss";
    case LINK_REASON_NAMESPACE: return "namespace";
    case LINK_REASON_ASKED: return "asked";
    case LINK_N_REASONS: break;
    }
    OVS_NOT_REACHED();
}
