/* SPDX-License-Identifier: Apache-2.0 */

/* Names of states and reasons. */

#include <config.h>
#include "offload/offload-info.h"

#include "util.h"

const char *
offload_state_to_string(enum offload_state state)
{
    switch (state) {
    case OFFLOAD_STATE_KERNEL: return "kernel";
    case OFFLOAD_STATE_QUEUED: return "queued";
    case OFFLOAD_STATE_PARKED: return "parked";
    case OFFLOAD_STATE_IN_TC: return "in tc";
    case OFFLOAD_STATE_MOVING_BACK: return "moving back";
    case OFFLOAD_STATE_REJECTED: return "rejected";
    case OFFLOAD_STATE_DELETING: return "deleting";
    case OFFLOAD_N_STATES:
    default: OVS_NOT_REACHED();
    }
}

const char *
offload_hw_to_string(enum offload_hw hw)
{
    switch (hw) {
    case OFFLOAD_HW_UNKNOWN: return "not read yet";
    case OFFLOAD_HW_NONE: return "only in software";
    case OFFLOAD_HW_PARTLY: return "partly in hardware";
    case OFFLOAD_HW_ALL: return "in hardware";
    case OFFLOAD_N_HW:
    default: OVS_NOT_REACHED();
    }
}

const char *
offload_reason_to_string(enum offload_reason reason)
{
    switch (reason) {
    case OFFLOAD_REASON_NONE: return "none";
    case OFFLOAD_REASON_DISABLED: return "offload is disabled";
    case OFFLOAD_REASON_NO_PORT: return "no such port";
    case OFFLOAD_REASON_RECONCILING: return "old rules are looked at first";
    case OFFLOAD_REASON_YOUNG: return "younger than the delay";
    case OFFLOAD_REASON_FULL: return "queue full";
    case OFFLOAD_REASON_BACKOFF: return "device backs off";
    case OFFLOAD_REASON_KIND: return "device rejects flows of this kind";
    case OFFLOAD_REASON_UNSUPPORTED: return "not supported";
    case OFFLOAD_REASON_NO_SPACE: return "no space in the device";
    case OFFLOAD_REASON_NO_DEVICE: return "device is gone";
    case OFFLOAD_REASON_EXISTS: return "another rule is in the way";
    case OFFLOAD_REASON_ERROR: return "error";
    case OFFLOAD_REASON_VANISHED: return "rule vanished from tc";
    case OFFLOAD_REASON_SOFTWARE: return "no room in the card";
    case OFFLOAD_REASON_OUTRANKED: return "flows with more packets go first";
    case OFFLOAD_N_REASONS:
    default: OVS_NOT_REACHED();
    }
}

/* Does 'reason' mean that a flow was tried and did not stay in tc? */
bool
offload_reason_is_rejection(enum offload_reason reason)
{
    return reason >= OFFLOAD_REASON_UNSUPPORTED;
}
