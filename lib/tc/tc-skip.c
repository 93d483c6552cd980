/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "tc/tc-skip.h"

#include <inttypes.h>
#include <linux/pkt_cls.h>

#include "hash.h"
#include "offload/offload.h"
#include "openvswitch/vlog.h"
#include "ovs-thread.h"
#include "tc/tc-explain.h"
#include "timeval.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(kdp_tc_skip);

static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(5, 5);

/* A port has few kinds of flows, as OpenFlow tables have few shapes. */
#define N_PLACES 1024

/* What is known about a kind of flows of a port. */
struct place {
    uint32_t port;
    uint32_t kind;              /* 0 if the place is empty. */
    long long int asked;        /* In ms. */
    const char *why;
};

static struct ovs_mutex mutex = OVS_MUTEX_INITIALIZER;
static struct place places[N_PLACES] OVS_GUARDED_BY(mutex);

static struct place *
place_of(const struct offload_desc *desc)
    OVS_REQUIRES(mutex)
{
    return &places[hash_2words(desc->in_port, desc->kind) % N_PLACES];
}

static bool
place_is_of(const struct place *place, const struct offload_desc *desc)
{
    return place->kind == desc->kind && place->port == desc->in_port;
}

bool
kdp_tc_skip_ask(const struct kdp_tc_request *request,
                const struct offload_desc *desc, const char **why)
{
    struct place *place;
    bool ask;

    *why = NULL;
    if (!desc->kind || !kdp_tc_may_be_skipped(request)) {
        return false;
    }
    ovs_mutex_lock(&mutex);
    place = place_of(desc);
    ask = (!place_is_of(place, desc)
           || time_msec() >= place->asked + KDP_TC_SKIP_MSEC);
    if (!ask) {
        *why = place->why;
    } else {
        /* Other threads need not ask until the answer arrives. */
        place->why = place_is_of(place, desc) ? place->why : NULL;
        place->port = desc->in_port;
        place->kind = desc->kind;
        place->asked = time_msec();
    }
    ovs_mutex_unlock(&mutex);
    return ask;
}

void
kdp_tc_skip_learn(const struct offload_desc *desc, const char *why)
{
    struct place *place;
    bool is_new = false;

    ovs_mutex_lock(&mutex);
    place = place_of(desc);
    if (place_is_of(place, desc)) {
        is_new = why && why != place->why;
        place->why = why;
    }
    ovs_mutex_unlock(&mutex);
    if (is_new) {
        VLOG_INFO_RL(&rl, "port %"PRIu32": rules of a kind are done by tc's "
                     "software: %s", desc->in_port, why);
    }
}
