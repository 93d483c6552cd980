/* SPDX-License-Identifier: Apache-2.0 */

/* Requests to tc: how they are sent, and what becomes of the answers (O6). */

#include <config.h>
#include "tc/tc-transact.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "netdev-provider.h"
#include "netlink.h"
#include "openvswitch/ofpbuf.h"
#include "fake/tc-fake.h"
#include "harness/unit.h"
#include "tc/tc-kind.h"
#include "util.h"

#define INFO (4 << 16 | 8)

static int
setup(void **state OVS_UNUSED)
{
    unit_tc_init();
    return 0;
}

static int
teardown(void **state OVS_UNUSED)
{
    unit_tc_uninit();
    return 0;
}

/* A request about rule number 'flow'. */
struct req {
    struct kdp_tc_request request;
    struct ofpbuf rule;
};

static void
req_init(struct req *req, enum kdp_tc_request_type type, uint32_t flow)
{
    const ovs_u128 id = unit_tc_ufid(flow);

    /* What is not set has to be set by those who answer. */
    memset(req, 0xee, sizeof *req);
    ofpbuf_init(&req->rule, 0);
    unit_tc_make_rule(&id, INFO, flow, &req->rule);
    req->request.type = type;
    kdp_tc_id_parse(&req->rule, &req->request.id);
    req->request.id.handle = 0x10000000 + flow;
    req->request.rule = type == KDP_TC_ADD ? &req->rule : NULL;
}

/* Sends 'n' requests together. */
static void
transact(struct req reqs[], size_t n)
{
    struct kdp_tc_request *requests[256];

    assert_true(n <= ARRAY_SIZE(requests));
    for (size_t i = 0; i < n; i++) {
        requests[i] = &reqs[i].request;
    }
    kdp_tc_transact(requests, n);
    for (size_t i = 0; i < n; i++) {
        ofpbuf_uninit(&reqs[i].rule);
    }
}

/* Sends one request and returns its error. */
static int
transact_one(struct req *req, enum kdp_tc_request_type type, uint32_t flow)
{
    req_init(req, type, flow);
    transact(req, 1);
    return req->request.error;
}

static void
add(uint32_t flow)
{
    struct req req;

    assert_int_equal(transact_one(&req, KDP_TC_ADD, flow), 0);
}

static void
packets(uint32_t flow, unsigned int n)
{
    const ovs_u128 id = unit_tc_ufid(flow);

    while (n--) {
        assert_true(unit_tc_packet(&id, 100));
    }
}

#define CHECK_REPLY(REQ, FLOW, N_PACKETS)                               \
    check_reply(&(REQ).request, FLOW, N_PACKETS)

static void
check_reply(const struct kdp_tc_request *request, uint32_t flow,
            uint64_t n_packets)
{
    assert_int_equal(request->error, 0);
    assert_true(ovs_u128_equals(request->reply.ufid, unit_tc_ufid(flow)));
    assert_memory_equal(&request->reply.id, &request->id, sizeof request->id);
    assert_int_equal(request->reply.stats.n_packets, n_packets);
    assert_int_equal(request->reply.stats.n_bytes, n_packets * 100);
    assert_int_equal(request->reply.n_sw_packets, n_packets);
    assert_false(request->reply.in_hw);
}

static void
check_no_reply(const struct kdp_tc_request *request, int error)
{
    assert_int_equal(request->error, error);
    assert_int_equal(request->reply.stats.n_packets, 0);
    assert_int_equal(request->reply.id.handle, 0);
}

static void
one_message_adds_reads_and_deletes_in_order(void **state OVS_UNUSED)
{
    static const struct {
        enum kdp_tc_request_type type;
        int error;
    } steps[] = {
        { KDP_TC_GET, ENOENT },
        { KDP_TC_DEL, ENOENT },
        { KDP_TC_ADD, 0 },
        { KDP_TC_ADD, EEXIST },
        { KDP_TC_GET, 0 },
        { KDP_TC_DEL, 0 },
        { KDP_TC_GET, ENOENT },
        { KDP_TC_ADD, 0 },
        { KDP_TC_GET, 0 },
    };
    struct req reqs[ARRAY_SIZE(steps)];
    size_t n_messages, n_requests;

    for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
        req_init(&reqs[i], steps[i].type, 1);
    }
    transact(reqs, ARRAY_SIZE(steps));
    for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
        if (steps[i].error || steps[i].type == KDP_TC_ADD) {
            check_no_reply(&reqs[i].request, steps[i].error);
        } else {
            CHECK_REPLY(reqs[i], 1, 0);
        }
    }
    unit_tc_get_load(&n_messages, &n_requests);
    assert_int_equal(n_messages, 1);
    assert_int_equal(unit_tc_count(), 1);
}

static void
many_requests_go_in_several_messages(void **state OVS_UNUSED)
{
    struct req reqs[200];
    size_t n_messages, n_requests;

    for (size_t i = 0; i < 200; i++) {
        req_init(&reqs[i], i < 100 ? KDP_TC_ADD : KDP_TC_GET, i % 100);
    }
    transact(reqs, 200);
    for (size_t i = 100; i < 200; i++) {
        CHECK_REPLY(reqs[i], i % 100, 0);
    }
    unit_tc_get_load(&n_messages, &n_requests);
    assert_int_equal(n_messages, DIV_ROUND_UP(200, KDP_TC_BATCH));
    assert_int_equal(n_requests, 200);

    kdp_tc_transact(NULL, 0);
    unit_tc_get_load(&n_messages, &n_requests);
    assert_int_equal(n_requests, 200);
}

static void
kinds_of_actions_are_loaded_or_not(void **state OVS_UNUSED)
{
    const struct unit_tc_plan plan = {
        .fault = UNIT_TC_REFUSED, .error = ENOENT, .type = RTM_NEWACTION,
        .skip = 3, .n = 2,
    };
    size_t n_messages, n_requests;
    char log[2000] = "";
    int fd = unit_log_open();

    kdp_tc_load_actions();
    assert_int_equal(unit_tc_n_kinds(), KDP_TC_N_KINDS);
    assert_int_equal(pread(fd, log, sizeof log - 1, 0), 0);
    unit_tc_plan(&plan);
    kdp_tc_load_actions();
    assert_int_equal(unit_tc_n_kinds(), 2 * KDP_TC_N_KINDS);

    /* Those that are missing are named. */
    assert_true(pread(fd, log, sizeof log - 1, 0) > 0);
    for (size_t i = 0; i < KDP_TC_N_KINDS; i++) {
        bool missing = i >= plan.skip && i < plan.skip + plan.n;
        char *named = xasprintf("the kernel has no actions of kind \"%s\"",
                                kdp_tc_kinds[i].name);

        assert_int_equal(!!strstr(log, named), missing);
        free(named);
    }
    close(fd);
    unit_tc_get_load(&n_messages, &n_requests);
    assert_int_equal(n_messages, 0);
}

uint32_t __wrap_netdev_get_block_id(struct netdev *);
uint32_t
__wrap_netdev_get_block_id(struct netdev *netdev)
{
    return strcmp(netdev_get_type(netdev), "internal") ? 77 : 0;
}

/* Packets that leave an internal port enter the datapath. */
static void
place_of_a_device_is_where_its_packets_enter(void **state OVS_UNUSED)
{
    for (int internal = 0; internal < 2; internal++) {
        const struct netdev_class class = {
            .type = internal ? "internal" : "system",
        };
        struct netdev netdev = { .netdev_class = &class };
        struct tcf_id place = kdp_tc_place(&netdev, 5);

        assert_int_equal(place.ifindex, 5);
        assert_int_equal(place.hook, internal ? TC_EGRESS : TC_INGRESS);
        assert_int_equal(place.block_id, internal ? 0 : 77);
        assert_int_equal(place.prio, 0);
        assert_int_equal(place.handle, 0);
        assert_int_equal(place.chain, 0);
    }
}

static void
last_statistics_come_with_a_deletion(void **state OVS_UNUSED)
{
    struct req req;

    add(1);
    packets(1, 7);
    assert_int_equal(transact_one(&req, KDP_TC_DEL, 1), 0);
    CHECK_REPLY(req, 1, 7);
    assert_int_equal(unit_tc_count(), 0);
}

/* Does something wrong about the second of three reads, or deletions, and
 * checks the others. */
static struct kdp_tc_request
second_of_three(enum kdp_tc_request_type type, enum unit_tc_fault fault)
{
    const struct unit_tc_plan plan = { .fault = fault, .skip = 1, .n = 1 };
    struct req reqs[3];

    for (uint32_t i = 0; i < 3; i++) {
        add(i);
        packets(i, i + 1);
    }
    for (uint32_t i = 0; i < 3; i++) {
        req_init(&reqs[i], type, i);
    }
    unit_tc_plan(&plan);
    transact(reqs, 3);
    CHECK_REPLY(reqs[0], 0, 1);
    CHECK_REPLY(reqs[2], 2, 3);
    unit_tc_uninit();
    return reqs[1].request;
}

static void
reply_that_is_missing_is_no_reply(void **state OVS_UNUSED)
{
    struct kdp_tc_request r;

    r = second_of_three(KDP_TC_GET, UNIT_TC_UNANSWERED);
    check_no_reply(&r, EPROTO);

    /* It is gone all the same. */
    r = second_of_three(KDP_TC_DEL, UNIT_TC_UNANSWERED);
    check_no_reply(&r, 0);
}

static void
reply_that_is_cut_off_is_no_reply(void **state OVS_UNUSED)
{
    struct kdp_tc_request r;

    r = second_of_three(KDP_TC_GET, UNIT_TC_CUT);
    assert_int_equal(r.error, EPROTO);
    assert_int_equal(r.reply.stats.n_packets, 0);
    r = second_of_three(KDP_TC_DEL, UNIT_TC_CUT);
    assert_int_equal(r.error, 0);
    assert_int_equal(r.reply.stats.n_packets, 0);
}

static void
reply_about_another_rule_tells_which(void **state OVS_UNUSED)
{
    struct kdp_tc_request r = second_of_three(KDP_TC_GET, UNIT_TC_MISTAKEN);

    assert_int_equal(r.error, 0);
    assert_false(ovs_u128_equals(r.reply.ufid, unit_tc_ufid(1)));
}

static void
replies_come_to_their_requests_among_those_without(void **state OVS_UNUSED)
{
    struct req reqs[6];

    add(1);
    add(2);
    packets(1, 1);
    packets(2, 2);
    req_init(&reqs[0], KDP_TC_ADD, 3);
    req_init(&reqs[1], KDP_TC_GET, 9);
    req_init(&reqs[2], KDP_TC_GET, 1);
    req_init(&reqs[3], KDP_TC_ADD, 4);
    req_init(&reqs[4], KDP_TC_DEL, 2);
    req_init(&reqs[5], KDP_TC_GET, 3);
    transact(reqs, 6);
    check_no_reply(&reqs[0].request, 0);
    check_no_reply(&reqs[1].request, ENOENT);
    CHECK_REPLY(reqs[2], 1, 1);
    check_no_reply(&reqs[3].request, 0);
    CHECK_REPLY(reqs[4], 2, 2);
    CHECK_REPLY(reqs[5], 3, 0);
}

static void
errors_are_those_of_tc(void **state OVS_UNUSED)
{
    static const struct {
        int error;
        int of_add;
        int of_get;
        int of_del;
    } cases[] = {
        { ENOENT, ENOENT, ENOENT, ENOENT },
        { EINVAL, EINVAL, ENOENT, ENOENT },
        { ENODEV, ENODEV, ENOENT, ENODEV },
        { EEXIST, EEXIST, EEXIST, EEXIST },
        { ENOSPC, ENOSPC, ENOSPC, ENOSPC },
        { EOPNOTSUPP, EOPNOTSUPP, EOPNOTSUPP, EOPNOTSUPP },
        { EBUSY, EBUSY, EBUSY, EBUSY },
    };

    add(1);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct unit_tc_plan plan = {
            .fault = UNIT_TC_REFUSED, .error = cases[i].error, .n = 3,
        };
        struct req req;

        unit_tc_plan(&plan);
        assert_int_equal(transact_one(&req, KDP_TC_ADD, 2), cases[i].of_add);
        assert_int_equal(transact_one(&req, KDP_TC_GET, 1), cases[i].of_get);
        check_no_reply(&req.request, cases[i].of_get);
        assert_int_equal(transact_one(&req, KDP_TC_DEL, 1), cases[i].of_del);
        check_no_reply(&req.request, cases[i].of_del);
    }
    assert_int_equal(unit_tc_count(), 1);
}

static void
failure_to_send_or_receive_is_that_of_all(void **state OVS_UNUSED)
{
    static const int errors[] = { EMFILE, ENOMEM, ENOBUFS };

    for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
        struct unit_tc_plan plan = {
            .fault = UNIT_TC_NOT_SENT, .error = errors[i], .n = 1,
        };
        struct req reqs[3];

        for (uint32_t j = 0; j < 3; j++) {
            req_init(&reqs[j], KDP_TC_ADD + j, 1);
        }
        unit_tc_plan(&plan);
        transact(reqs, 3);
        for (uint32_t j = 0; j < 3; j++) {
            check_no_reply(&reqs[j].request, errors[i]);
        }
        assert_int_equal(unit_tc_count(), 0);
    }
}

int
main(int argc OVS_UNUSED, char *argv[])
{
#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(one_message_adds_reads_and_deletes_in_order),
        TEST(many_requests_go_in_several_messages),
        TEST(kinds_of_actions_are_loaded_or_not),
        TEST(place_of_a_device_is_where_its_packets_enter),
        TEST(last_statistics_come_with_a_deletion),
        TEST(reply_that_is_missing_is_no_reply),
        TEST(reply_that_is_cut_off_is_no_reply),
        TEST(reply_about_another_rule_tells_which),
        TEST(replies_come_to_their_requests_among_those_without),
        TEST(errors_are_those_of_tc),
        TEST(failure_to_send_or_receive_is_that_of_all),
    };

    unit_init(argv[0]);
    return cmocka_run_group_tests_name("tc-transact", tests, NULL, NULL);
}
