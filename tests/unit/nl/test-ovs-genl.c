/* SPDX-License-Identifier: Apache-2.0 */

/* Requests to the openvswitch module: what they say, what becomes of answers
 * and errors, and that no request is leaked.  The kernel's part is made up:
 * requests come to __wrap_nl_conn_transact(). */

#include <config.h>
#include "nl/ovs-genl.h"

#include <errno.h>
#include <linux/genetlink.h>
#include <stdlib.h>
#include <string.h>

#include "harness/kernel-messages.h"
#include "harness/unit.h"
#include "odp-netlink.h"
#include "util.h"

/* Numbers of families. */
enum { DATAPATH = 0x21, VPORT, PACKET, FLOW };

/* The kernel: what it answers, and what it was asked last. */
static struct {
    struct unit_msg answers[3];
    size_t n_answers;
    int error;                  /* After these. */
    const char *no_family;      /* It does not know that one. */

    const void *request;        /* Address of the request, and... */
    char copy[8192];            /* ...its contents. */
    unsigned int n_freed;       /* Times that the request was freed. */
    unsigned int n_open;        /* Connections. */
} kernel;

void __wrap_free(void *);
void __real_free(void *);
void
__wrap_free(void *p)
{
    kernel.n_freed += p && p == kernel.request;
    __real_free(p);
}

int __wrap_nl_conn_open(int protocol, struct nl_conn **);
int
__wrap_nl_conn_open(int protocol, struct nl_conn **connp)
{
    assert_int_equal(protocol, NETLINK_GENERIC);
    *connp = NULL;
    if (kernel.error) {
        return kernel.error;
    }
    *connp = (struct nl_conn *) &kernel;
    kernel.n_open++;
    return 0;
}

void __wrap_nl_conn_close(struct nl_conn *);
void
__wrap_nl_conn_close(struct nl_conn *conn)
{
    kernel.n_open -= conn != NULL;
}

const char *__wrap_nl_conn_ext_error(const struct nl_conn *);
const char *
__wrap_nl_conn_ext_error(const struct nl_conn *conn OVS_UNUSED)
{
    return "";
}

int __wrap_genl_family_lookup(struct nl_conn *, const char *name,
                              const char *mcgroup, struct genl_family *);
int
__wrap_genl_family_lookup(struct nl_conn *conn OVS_UNUSED, const char *name,
                          const char *mcgroup, struct genl_family *family)
{
    static const struct {
        const char *name, *mcgroup;
        uint16_t id;
    } families[] = {
        { OVS_DATAPATH_FAMILY, OVS_DATAPATH_MCGROUP, DATAPATH },
        { OVS_VPORT_FAMILY, OVS_VPORT_MCGROUP, VPORT },
        { OVS_PACKET_FAMILY, NULL, PACKET },
        { OVS_FLOW_FAMILY, NULL, FLOW },
    };

    if (kernel.no_family && !strcmp(name, kernel.no_family)) {
        return ENOENT;
    }
    for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
        if (!strcmp(name, families[i].name)) {
            assert_int_equal(!mcgroup, !families[i].mcgroup);
            family->id = families[i].id;
            family->mcgroup = mcgroup ? 1 : 0;
            return 0;
        }
    }
    fail();
    return ENOENT;
}

int __wrap_nl_conn_transact(struct nl_conn *, struct nlmsghdr *,
                            nl_reply_func *, void *aux);
int
__wrap_nl_conn_transact(struct nl_conn *conn OVS_UNUSED,
                        struct nlmsghdr *request, nl_reply_func *reply,
                        void *aux)
{
    int error = 0;

    kernel.request = request;
    kernel.n_freed = 0;
    unit_check(request->nlmsg_len <= sizeof kernel.copy);
    memcpy(kernel.copy, request, request->nlmsg_len);
    for (size_t i = 0; i < kernel.n_answers && !error; i++) {
        if (reply) {
            error = reply((struct nlmsghdr *) kernel.answers[i].buf, aux);
        }
    }
    return error ? error : kernel.error;
}

static int
setup(void **state)
{
    struct ovs_genl *genl = xzalloc(sizeof *genl);

    memset(&kernel, 0, sizeof kernel);
    assert_int_equal(ovs_genl_open(genl), 0);
    *state = genl;
    return 0;
}

static void
forget_answers(void)
{
    while (kernel.n_answers) {
        unit_msg_uninit(&kernel.answers[--kernel.n_answers]);
    }
}

static int
teardown(void **state)
{
    forget_answers();
    ovs_genl_close(*state);
    assert_int_equal(kernel.n_open, 0);
    free(*state);
    return 0;
}

/* Checks the headers of the last request. */
static void
check_request(uint16_t family, uint8_t cmd, uint16_t flags, int dp_ifindex)
{
    const struct nlmsghdr *nlh = (const void *) kernel.copy;
    const struct genlmsghdr *genl = mnl_nlmsg_get_payload(nlh);
    const struct ovs_header *ovs
        = mnl_nlmsg_get_payload_offset(nlh, sizeof *genl);

    assert_int_equal(nlh->nlmsg_type, family);
    assert_int_equal(nlh->nlmsg_flags, NLM_F_REQUEST | flags);
    assert_int_equal(genl->cmd, cmd);
    assert_int_equal(ovs->dp_ifindex, dp_ifindex);
}

/* The attribute of 'type' of the last request, or NULL. */
static const struct nlattr *
find(uint16_t type)
{
    const struct nlmsghdr *nlh = (const void *) kernel.copy;
    const struct nlattr *attr;

    mnl_attr_for_each (attr, nlh, (sizeof(struct genlmsghdr)
                                   + sizeof(struct ovs_header))) {
        if (mnl_attr_get_type(attr) == type) {
            return attr;
        }
    }
    return NULL;
}

static void
check_u32(uint16_t type, uint32_t value)
{
    const struct nlattr *attr = find(type);

    assert_non_null(attr);
    assert_int_equal(mnl_attr_get_u32(attr), value);
}

static void
check_string(uint16_t type, const char *value)
{
    const struct nlattr *attr = find(type);

    assert_non_null(attr);
    assert_string_equal(mnl_attr_get_str(attr), value);
}

/* Answers. */

static struct unit_msg *
answer(uint16_t family, uint8_t cmd)
{
    struct unit_msg *msg = &kernel.answers[kernel.n_answers++];

    unit_msg_init(msg, family, cmd, UNIT_DP_IFINDEX);
    return msg;
}

static void
put_u32(struct unit_msg *msg, uint16_t type, uint32_t value)
{
    unit_msg_put(msg, type, &value, sizeof value);
}

static void
put_string(struct unit_msg *msg, uint16_t type, const char *value)
{
    unit_msg_put(msg, type, value, strlen(value) + 1);
}

static struct unit_msg *
answer_datapath(const char *name)
{
    struct unit_msg *msg = answer(DATAPATH, OVS_DP_CMD_NEW);

    if (name) {
        put_string(msg, OVS_DP_ATTR_NAME, name);
    }
    return msg;
}

static struct unit_msg *
answer_vport(uint32_t port_no)
{
    struct unit_msg *msg = answer(VPORT, OVS_VPORT_CMD_NEW);

    put_u32(msg, OVS_VPORT_ATTR_PORT_NO, port_no);
    put_u32(msg, OVS_VPORT_ATTR_TYPE, OVS_VPORT_TYPE_INTERNAL);
    put_string(msg, OVS_VPORT_ATTR_NAME, "p");
    return msg;
}

/* Tests. */

static void
families_are_looked_up(void **state)
{
    static const char *const families[] = {
        OVS_DATAPATH_FAMILY, OVS_VPORT_FAMILY, OVS_PACKET_FAMILY,
        OVS_FLOW_FAMILY,
    };
    struct ovs_genl *genl = *state, other;

    assert_int_equal(genl->datapath.id, DATAPATH);
    assert_int_equal(genl->datapath.mcgroup, 1);
    assert_int_equal(genl->vport.id, VPORT);
    assert_int_equal(genl->vport.mcgroup, 1);
    assert_int_equal(genl->packet.id, PACKET);
    assert_int_equal(genl->flow.id, FLOW);

    /* A failure leaves nothing to close. */
    for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
        kernel.no_family = families[i];
        assert_int_equal(ovs_genl_open(&other), ENOENT);
        assert_int_equal(kernel.n_open, 1);
    }
    kernel.error = EMFILE;
    assert_int_equal(ovs_genl_open(&other), EMFILE);
    assert_int_equal(kernel.n_open, 1);
}

static void
datapath_is_found_by_name(void **state)
{
    struct ovs_datapath dp;

    answer_datapath("ovs-system");
    assert_int_equal(ovs_datapath_get(*state, "ovs-system", &dp), 0);
    check_request(DATAPATH, OVS_DP_CMD_GET, NLM_F_ACK, 0);
    check_string(OVS_DP_ATTR_NAME, "ovs-system");
    assert_int_equal(dp.ifindex, UNIT_DP_IFINDEX);
    assert_string_equal(dp.name, "ovs-system");
    assert_int_equal(dp.user_features, 0);

    forget_answers();
    put_u32(answer_datapath("fifteen-letters"), OVS_DP_ATTR_USER_FEATURES,
            OVS_DP_F_VPORT_PIDS | OVS_DP_F_UNALIGNED);
    assert_int_equal(ovs_datapath_get(*state, "fifteen-letters", &dp), 0);
    assert_string_equal(dp.name, "fifteen-letters");
    assert_int_equal(dp.user_features,
                     OVS_DP_F_VPORT_PIDS | OVS_DP_F_UNALIGNED);

    forget_answers();
    kernel.error = ENODEV;
    assert_int_equal(ovs_datapath_get(*state, "none", &dp), ENODEV);
}

static void
acknowledgement_alone_is_no_answer_about_a_datapath(void **state)
{
    struct ovs_datapath dp;

    memset(&dp, 0xcc, sizeof dp);
    assert_int_equal(ovs_datapath_get(*state, "dp", &dp), EPROTO);
    assert_int_equal(dp.ifindex, 0);
    memset(&dp, 0xcc, sizeof dp);
    assert_int_equal(ovs_datapath_set_features(*state, 8, 6, NULL, 0, &dp),
                     EPROTO);
    assert_int_equal(dp.ifindex, 0);

    /* If the caller wants to know nothing, it is enough. */
    assert_int_equal(ovs_datapath_set_features(*state, 8, 6, NULL, 0, NULL),
                     0);
}

static void
malformed_datapath_is_refused(void **state)
{
    struct ovs_datapath dp;
    struct nlmsghdr *nlh;

    /* Without a name; with features of 16 bits; with headers alone, cut. */
    answer_datapath(NULL);
    assert_int_equal(ovs_datapath_get(*state, "x", &dp), EINVAL);
    forget_answers();
    unit_msg_put(answer_datapath("x"), OVS_DP_ATTR_USER_FEATURES, "ab", 2);
    assert_int_equal(ovs_datapath_get(*state, "x", &dp), EINVAL);
    forget_answers();
    nlh = (struct nlmsghdr *) answer_datapath(NULL)->buf;
    nlh->nlmsg_len -= 4;
    assert_int_equal(ovs_datapath_get(*state, "x", &dp), EINVAL);
}

static void
features_are_set_with_the_ids_of_cpus(void **state)
{
    uint32_t pids[1000];
    const struct nlattr *attr;
    struct ovs_datapath dp;

    for (uint32_t i = 0; i < ARRAY_SIZE(pids); i++) {
        pids[i] = 7 * i;
    }
    put_u32(answer_datapath("dp"), OVS_DP_ATTR_USER_FEATURES, 6);
    assert_int_equal(ovs_datapath_set_features(*state, 8, 6, pids,
                                               ARRAY_SIZE(pids), &dp), 0);
    check_request(DATAPATH, OVS_DP_CMD_SET, NLM_F_ECHO, 8);
    check_u32(OVS_DP_ATTR_USER_FEATURES, 6);
    attr = find(OVS_DP_ATTR_PER_CPU_PIDS);
    assert_non_null(attr);
    assert_int_equal(mnl_attr_get_payload_len(attr), sizeof pids);
    assert_memory_equal(mnl_attr_get_payload(attr), pids, sizeof pids);
    assert_int_equal(dp.user_features, 6);
    assert_int_equal(kernel.n_freed, 1);

    /* Without ids, and nobody wants to know the outcome. */
    assert_int_equal(ovs_datapath_set_features(*state, 8, 6, NULL, 0, NULL),
                     0);
    assert_null(find(OVS_DP_ATTR_PER_CPU_PIDS));
    assert_int_equal(kernel.n_freed, 1);

    forget_answers();
    kernel.error = EOPNOTSUPP;
    assert_int_equal(ovs_datapath_set_features(*state, 8, 6, pids, 1, NULL),
                     EOPNOTSUPP);
    assert_int_equal(kernel.n_freed, 1);
}

static void
flush_has_the_error_of_the_kernel(void **state)
{
    assert_int_equal(ovs_flow_flush(*state, 8), 0);
    check_request(FLOW, OVS_FLOW_CMD_DEL, NLM_F_ACK, 8);
    kernel.error = ENODEV;
    assert_int_equal(ovs_flow_flush(*state, 8), ENODEV);
}

static void
check_pids(const uint32_t pids[], size_t n)
{
    const struct nlattr *attr = find(OVS_VPORT_ATTR_UPCALL_PID);

    assert_non_null(attr);
    assert_int_equal(mnl_attr_get_payload_len(attr), n * sizeof *pids);
    assert_memory_equal(mnl_attr_get_payload(attr), pids, n * sizeof *pids);
}

static void
vport_is_made_as_asked_for(void **state)
{
    static const char options[2000];
    static const uint32_t pids[] = { 99, 98 };
    struct ovs_vport vport = {
        .dp_ifindex = 8, .port_no = UINT32_MAX, .name = "p",
        .type = OVS_VPORT_TYPE_GENEVE,
    };

    answer_vport(5);
    assert_int_equal(ovs_vport_new(*state, &vport, pids, 2, options,
                                   sizeof options), 0);
    check_request(VPORT, OVS_VPORT_CMD_NEW, NLM_F_ECHO, 8);
    assert_null(find(OVS_VPORT_ATTR_PORT_NO));
    check_u32(OVS_VPORT_ATTR_TYPE, OVS_VPORT_TYPE_GENEVE);
    check_pids(pids, 2);
    check_string(OVS_VPORT_ATTR_NAME, "p");
    assert_int_equal(mnl_attr_get_payload_len(find(OVS_VPORT_ATTR_OPTIONS)),
                     sizeof options);
    assert_int_equal(vport.port_no, 5);
    assert_int_equal(vport.dp_ifindex, UNIT_DP_IFINDEX);
    assert_int_equal(kernel.n_freed, 1);

    /* A port that is not made stays as it was asked for. */
    forget_answers();
    kernel.error = EBUSY;
    vport.dp_ifindex = 8;
    assert_int_equal(ovs_vport_new(*state, &vport, pids, 1, NULL, 0),
                     EBUSY);
    check_u32(OVS_VPORT_ATTR_PORT_NO, 5);
    assert_null(find(OVS_VPORT_ATTR_OPTIONS));
    assert_int_equal(vport.dp_ifindex, 8);
    assert_int_equal(vport.port_no, 5);
    assert_int_equal(kernel.n_freed, 1);
}

static void
acknowledgement_alone_is_no_answer_about_a_vport(void **state)
{
    struct ovs_vport vport;

    memset(&vport, 0xcc, sizeof vport);
    assert_int_equal(ovs_vport_get_by_number(*state, 8, 5, &vport), EPROTO);
    check_request(VPORT, OVS_VPORT_CMD_GET, NLM_F_ACK, 8);
    check_u32(OVS_VPORT_ATTR_PORT_NO, 5);
    assert_int_equal(ovs_vport_get_by_name(*state, 8, "p", &vport), EPROTO);
    check_string(OVS_VPORT_ATTR_NAME, "p");

    answer_vport(5);
    assert_int_equal(ovs_vport_get_by_number(*state, 8, 5, &vport), 0);
    assert_int_equal(vport.port_no, 5);
    assert_int_equal(vport.type, OVS_VPORT_TYPE_INTERNAL);
    assert_int_equal(vport.nsid, OVS_VPORT_LOCAL);
    assert_int_equal(vport.n_pids, 0);
    assert_int_equal(ovs_vport_get_by_name(*state, 8, "p", &vport), 0);

    /* An error is that of the kernel, or of what it said. */
    forget_answers();
    kernel.error = ENODEV;
    assert_int_equal(ovs_vport_get_by_number(*state, 8, 5, &vport), ENODEV);
    kernel.error = 0;
    answer(VPORT, OVS_VPORT_CMD_NEW);
    assert_int_equal(ovs_vport_get_by_number(*state, 8, 5, &vport), EINVAL);
}

static void
vport_may_have_several_port_ids(void **state)
{
    static const uint32_t pids[] = { 77, 88, 99 };
    struct ovs_vport vport;

    for (size_t n = 0; n <= ARRAY_SIZE(pids); n++) {
        unit_msg_put(answer_vport(5), OVS_VPORT_ATTR_UPCALL_PID, pids,
                     n * sizeof *pids);
        assert_int_equal(ovs_vport_get_by_number(*state, 8, 5, &vport), 0);
        assert_int_equal(vport.n_pids, n);
        assert_int_equal(vport.pid, n ? 77 : 0);
        forget_answers();
    }
}

static void
name_that_no_request_holds_is_refused(void **state)
{
    struct ovs_vport vport;
    char name[4096];

    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    kernel.request = NULL;
    assert_int_equal(ovs_vport_get_by_name(*state, 8, name, &vport), ERANGE);
    assert_null(kernel.request);
}

static void
vport_is_changed_and_deleted_by_number(void **state)
{
    static const uint32_t pids[] = { 77, 78 };

    assert_int_equal(ovs_vport_set_pids(*state, 8, 5, pids, 2), 0);
    check_request(VPORT, OVS_VPORT_CMD_SET, NLM_F_ACK, 8);
    check_u32(OVS_VPORT_ATTR_PORT_NO, 5);
    check_pids(pids, 2);
    assert_int_equal(ovs_vport_del(*state, 8, 6), 0);
    check_request(VPORT, OVS_VPORT_CMD_DEL, NLM_F_ACK, 8);
    check_u32(OVS_VPORT_ATTR_PORT_NO, 6);
    kernel.error = ENODEV;
    assert_int_equal(ovs_vport_set_pids(*state, 8, 5, pids, 2), ENODEV);
    assert_int_equal(ovs_vport_del(*state, 8, 6), ENODEV);
}

static int
take_vport(const struct ovs_vport *vport, void *sum_)
{
    uint32_t *sum = sum_;

    *sum += vport->port_no;
    return *sum > 100 ? E2BIG : 0;
}

static void
dump_skips_what_is_malformed(void **state)
{
    uint32_t sum = 0;

    answer_vport(5);
    answer(VPORT, OVS_VPORT_CMD_NEW);
    answer_vport(7);
    assert_int_equal(ovs_vport_dump(*state, 8, take_vport, &sum), 0);
    check_request(VPORT, OVS_VPORT_CMD_GET, NLM_F_DUMP, 8);
    assert_int_equal(sum, 5 + 7);

    /* Until the caller has enough. */
    sum = 94;
    assert_int_equal(ovs_vport_dump(*state, 8, take_vport, &sum), E2BIG);
    kernel.error = EIO;
    sum = 0;
    assert_int_equal(ovs_vport_dump(*state, 8, take_vport, &sum), EIO);
}

int
main(int argc OVS_UNUSED, char *argv[])
{
    static const struct CMUnitTest tests[] = {
#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)
        TEST(families_are_looked_up),
        TEST(datapath_is_found_by_name),
        TEST(acknowledgement_alone_is_no_answer_about_a_datapath),
        TEST(malformed_datapath_is_refused),
        TEST(features_are_set_with_the_ids_of_cpus),
        TEST(flush_has_the_error_of_the_kernel),
        TEST(vport_is_made_as_asked_for),
        TEST(acknowledgement_alone_is_no_answer_about_a_vport),
        TEST(vport_may_have_several_port_ids),
        TEST(name_that_no_request_holds_is_refused),
        TEST(vport_is_changed_and_deleted_by_number),
        TEST(dump_skips_what_is_malformed),
    };

    unit_init(argv[0]);
    return cmocka_run_group_tests_name("ovs-genl", tests, NULL, NULL);
}
