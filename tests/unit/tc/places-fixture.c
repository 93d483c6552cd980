/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "unit/tc/places-fixture.h"

#include <linux/rtnetlink.h>

#include "fake/tc-fake.h"
#include "harness/unit.h"
#include "netdev-linux/ingress-qdisc.h"
#include "netdev-provider.h"
#include "netlink.h"
#include "odp-util.h"
#include "openvswitch/ofpbuf.h"
#include "ovs/compat-offload.h"
#include "tc/tc-transact.h"
#include "timeval.h"
#include "util.h"

int places_error;
bool places_twice;
void (*places_meanwhile)(void);
static uint32_t next_rule;

void __wrap_ovs_compat_ports_traverse(const char *dpif_type,
                                      bool (*cb)(struct netdev *, odp_port_t,
                                                 void *aux),
                                      void *aux);
int __wrap_ingress_qdisc_for_each(void (*)(const struct ingress_qdisc *,
                                           void *aux),
                                  void *aux);

void
__wrap_ovs_compat_ports_traverse(const char *dpif_type,
                                 bool (*cb)(struct netdev *, odp_port_t,
                                            void *aux),
                                 void *aux)
{
    struct netdev *netdev;

    unit_check(!strcmp(dpif_type, "system"));
    unit_check(!netdev_open("lo", "system", &netdev));
    cb(netdev, u32_to_odp(PORT_NO), aux);
    netdev_close(netdev);
}

int
__wrap_ingress_qdisc_for_each(void (*cb)(const struct ingress_qdisc *,
                                         void *aux),
                              void *aux)
{
    static const int devices[] = { OTHER, PORT, VM };

    for (int i = 0; i <= places_twice; i++) {
        for (size_t j = 0; j < ARRAY_SIZE(devices); j++) {
            cb(&(struct ingress_qdisc) { .ifindex = devices[j] }, aux);
        }
    }
    if (places_meanwhile) {
        places_meanwhile();
    }
    return places_error;
}

void
places_reset(void)
{
    places_error = 0;
    places_twice = false;
    places_meanwhile = NULL;
    next_rule = 1;

    /* Open vSwitch's clock registers a command when it is first read.  The
     * thread that makes passes opens the first device, which registers
     * commands, too. */
    time_msec();
}

void
places_add_rule_of(const ovs_u128 *ufid, int ifindex, uint32_t handle)
{
    struct kdp_tc_request request = { .type = KDP_TC_ADD };
    struct ofpbuf rule;
    struct tcmsg *tcm;

    ofpbuf_init(&rule, 0);
    unit_tc_make_rule(ufid, 4 << 16 | 8, 0, &rule);
    tcm = ofpbuf_at_assert(&rule, NLMSG_HDRLEN, sizeof *tcm);
    tcm->tcm_ifindex = ifindex;
    request.rule = &rule;
    kdp_tc_id_parse(&rule, &request.id);
    request.id.handle = handle;
    kdp_tc_transact((struct kdp_tc_request *[]) { &request }, 1);
    assert_int_equal(request.error, 0);
    ofpbuf_uninit(&rule);
}

void
places_add_rule(int ifindex, uint32_t handle)
{
    const ovs_u128 ufid = unit_tc_ufid(next_rule++);

    places_add_rule_of(&ufid, ifindex, handle);
}
