/* SPDX-License-Identifier: Apache-2.0 */

/* Dumps of made-up rules. */

#include <config.h>
#include "fake/tc-fake-private.h"

#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>

#include "harness/unit.h"
#include "netlink-socket.h"
#include "openvswitch/ofpbuf.h"
#include "tc.h"
#include "tc/tc-transact.h"
#include "util.h"

static int dump_error OVS_GUARDED_BY(unit_tc_mutex);
static unsigned int dump_limit OVS_GUARDED_BY(unit_tc_mutex);
static unsigned int dump_delay OVS_GUARDED_BY(unit_tc_mutex);
static unsigned int n_dumps OVS_GUARDED_BY(unit_tc_mutex);

void
unit_tc_dumps_reset(void)
{
    ovs_mutex_lock(&unit_tc_mutex);
    dump_error = 0;
    dump_delay = 0;
    unit_check(!n_dumps);
    ovs_mutex_unlock(&unit_tc_mutex);
}

void
unit_tc_fail_dumps(int error, unsigned int n)
{
    ovs_mutex_lock(&unit_tc_mutex);
    dump_error = error;
    dump_limit = n;
    ovs_mutex_unlock(&unit_tc_mutex);
}

void
unit_tc_delay_dumps(unsigned int ms)
{
    ovs_mutex_lock(&unit_tc_mutex);
    dump_delay = ms;
    ovs_mutex_unlock(&unit_tc_mutex);
}

unsigned int
unit_tc_n_dumps(void)
{
    unsigned int n;

    ovs_mutex_lock(&unit_tc_mutex);
    n = n_dumps;
    ovs_mutex_unlock(&unit_tc_mutex);
    return n;
}

/* What a dump has to show.  A struct nl_dump has the address of this in place
 * of its socket. */
struct dumped {
    struct ofpbuf *msgs;
    size_t n;
    size_t next;
    int error;
};

static struct dumped *
dumped_cast(const struct nl_dump *dump)
{
    return (void *) dump->sock;
}

int __wrap_tc_dump_flower_start(struct tcf_id *, struct nl_dump *, bool terse);
bool __wrap_kdp_stock_nl_dump_next(struct nl_dump *, struct ofpbuf *msg,
                                   struct ofpbuf *buffer);
int __wrap_nl_dump_done(struct nl_dump *);

int
__wrap_tc_dump_flower_start(struct tcf_id *place, struct nl_dump *dump,
                            bool terse)
{
    struct dumped *dumped = xzalloc(sizeof *dumped);
    unsigned int delay;
    struct unit_tc_rule *rule;

    ovs_mutex_lock(&unit_tc_mutex);
    n_dumps++;
    delay = dump_delay;
    unit_tc_is_terse = terse;
    dumped->error = dump_error;
    dumped->msgs = xcalloc(hmap_count(&unit_tc_rules) + 1,
                           sizeof *dumped->msgs);
    HMAP_FOR_EACH (rule, node, &unit_tc_rules) {
        if (dump_error && dumped->n >= dump_limit) {
            break;
        }
        if (rule->id.ifindex == place->ifindex) {
            struct ofpbuf *msg = &dumped->msgs[dumped->n++];

            ofpbuf_init(msg, 0);
            unit_tc_put_rule(msg, RTM_NEWTFILTER, rule);
        }
    }
    unit_tc_is_terse = false;
    ovs_mutex_unlock(&unit_tc_mutex);
    xnanosleep(delay * 1000000LL);
    memset(dump, 0, sizeof *dump);
    dump->sock = (void *) dumped;
    return 0;
}

bool
__wrap_kdp_stock_nl_dump_next(struct nl_dump *dump, struct ofpbuf *msg,
                              struct ofpbuf *buffer)
{
    struct dumped *dumped = dumped_cast(dump);
    const struct ofpbuf *next;

    /* Threads share it. */
    ovs_mutex_lock(&unit_tc_mutex);
    next = (dumped->next < dumped->n ? &dumped->msgs[dumped->next++] : NULL);
    ovs_mutex_unlock(&unit_tc_mutex);
    if (!next) {
        return false;
    }
    ofpbuf_clear(buffer);
    ofpbuf_put(buffer, next->data, next->size);
    ofpbuf_use_const(msg, buffer->data, buffer->size);
    return true;
}

int
__wrap_nl_dump_done(struct nl_dump *dump)
{
    struct dumped *dumped = dumped_cast(dump);
    int error = dumped->error;

    for (size_t i = 0; i < dumped->n; i++) {
        ofpbuf_uninit(&dumped->msgs[i]);
    }
    free(dumped->msgs);
    free(dumped);
    ovs_mutex_lock(&unit_tc_mutex);
    n_dumps--;
    ovs_mutex_unlock(&unit_tc_mutex);
    return error;
}

int __wrap_kdp_tc_dump_actions(const char *kind, kdp_tc_actions_cb *,
                               void *aux);

/* There are none. */
int
__wrap_kdp_tc_dump_actions(const char *kind OVS_UNUSED,
                           kdp_tc_actions_cb *cb OVS_UNUSED,
                           void *aux OVS_UNUSED)
{
    return 0;
}
