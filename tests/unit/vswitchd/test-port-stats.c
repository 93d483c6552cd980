/* SPDX-License-Identifier: Apache-2.0 */

/* OpenFlow says the same of a port as with the stock daemon. */

#include <config.h>

#include <string.h>

#include "harness/unit.h"
#include "openvswitch/list.h"
#include "openvswitch/ofp-msgs.h"
#include "openvswitch/ofp-port.h"
#include "openvswitch/ofpbuf.h"
#include "util.h"

/* Sends statistics of a port with custom counter 'name' by 'version'.  Returns
 * how many custom counters are in the reply. */
static unsigned int
n_counters_sent(enum ofp_version version, const char *name)
{
    struct netdev_custom_counter counter = { .value = 5 };
    struct ofputil_port_stats stats = {
        .port_no = OFP_PORT_C(1),
        .stats = { .rx_packets = 7 },
        .custom_stats = { .size = 1, .counters = &counter },
    };
    struct ofpbuf *request, *reply, msg;
    struct ofputil_port_stats got;
    struct ovs_list replies;
    unsigned int n;

    ovs_strlcpy(counter.name, name, sizeof counter.name);
    request = ofputil_encode_dump_ports_request(version, OFPP_ANY);
    ofpmp_init(&replies, request->data);
    ofputil_append_port_stat(&replies, &stats);
    ofpbuf_delete(request);

    reply = ofpbuf_from_list(ovs_list_front(&replies));
    ofpmsg_update_length(reply);
    msg = ofpbuf_const_initializer(reply->data, reply->size);
    assert_int_equal(ofputil_decode_port_stats(&got, &msg), 0);
    assert_int_equal(got.stats.rx_packets, 7);
    n = got.custom_stats.size;
    free(got.custom_stats.counters);
    ofpbuf_list_delete(&replies);
    return n;
}

static void
counters_of_upcalls_are_not_sent(void **state OVS_UNUSED)
{
    assert_int_equal(n_counters_sent(OFP14_VERSION, "upcall_packets"), 0);
    assert_int_equal(n_counters_sent(OFP15_VERSION, "upcall_shed"), 0);
}

static void
other_counters_are_sent(void **state OVS_UNUSED)
{
    assert_int_equal(n_counters_sent(OFP14_VERSION, "custom_packets"), 1);
}

static void
versions_without_custom_counters(void **state OVS_UNUSED)
{
    assert_int_equal(n_counters_sent(OFP10_VERSION, "upcall_packets"), 0);
    assert_int_equal(n_counters_sent(OFP13_VERSION, "custom_packets"), 0);
}

int
main(int argc OVS_UNUSED, char *argv[])
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(counters_of_upcalls_are_not_sent),
        cmocka_unit_test(other_counters_are_sent),
        cmocka_unit_test(versions_without_custom_counters),
    };

    unit_init(argv[0]);
    return cmocka_run_group_tests_name("port statistics", tests, NULL, NULL);
}
