/* SPDX-License-Identifier: Apache-2.0 */

/* Netlink requests to the running kernel, in a network namespace with nothing
 * but a loopback device in it. */

#include <config.h>
#include "nl/nl-conn.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/genetlink.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "coverage.h"
#include "harness/descriptors.h"
#include "harness/kernel-messages.h"
#include "harness/netns.h"
#include "harness/see-links.h"
#include "harness/unit.h"
#include "util.h"

/* Interface index of the loopback device. */
#define LO 1

static int
setup(void **state)
{
    *state = unit_ns_own();
    return 0;
}

static int
teardown(void **state)
{
    unit_ns_destroy(*state);
    return 0;
}

#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)

/* Requests about links. */

struct request {
    char buf[1024] __attribute__((aligned(NLMSG_ALIGNTO)));
    struct nlmsghdr *nlh;
};

static void
link_request(struct request *request, uint16_t type, uint16_t flags,
             int ifindex)
{
    struct ifinfomsg *ifi;

    request->nlh = mnl_nlmsg_put_header(request->buf);
    request->nlh->nlmsg_type = type;
    request->nlh->nlmsg_flags = NLM_F_REQUEST | flags;
    ifi = mnl_nlmsg_put_extra_header(request->nlh, sizeof *ifi);
    ifi->ifi_index = ifindex;
}

/* Notes what the answer says in 'seen', unless it is NULL. */
static int
transact(struct unit_ns *ns, struct request *request, struct unit_seen *seen)
{
    return nl_conn_transact(ns->conn, request->nlh,
                            seen ? unit_see_link : NULL, seen);
}

static int
dump_links(struct unit_ns *ns, struct unit_seen *seen)
{
    struct request request;

    link_request(&request, RTM_GETLINK, NLM_F_DUMP, 0);
    return transact(ns, &request, seen);
}

/* Generic netlink families. */

static void
family_and_its_group_are_found(void **state OVS_UNUSED)
{
    struct genl_family family, again;
    struct nl_conn *conn;

    assert_int_equal(nl_conn_open(NETLINK_GENERIC, &conn), 0);
    assert_int_equal(genl_family_lookup(conn, "nlctrl", "notify", &family),
                     0);
    assert_int_equal(family.id, GENL_ID_CTRL);
    assert_int_not_equal(family.mcgroup, 0);

    assert_int_equal(genl_family_lookup(conn, "nlctrl", NULL, &again), 0);
    assert_int_equal(again.id, GENL_ID_CTRL);
    assert_int_equal(again.mcgroup, 0);
    nl_conn_close(conn);
}

static void
unknown_family_does_not_exist(void **state OVS_UNUSED)
{
    struct genl_family family;
    struct nl_conn *conn;

    assert_int_equal(nl_conn_open(NETLINK_GENERIC, &conn), 0);
    assert_int_equal(genl_family_lookup(conn, "no_such_family", NULL,
                                        &family), ENOENT);

    /* The connection is as good as before. */
    assert_int_equal(genl_family_lookup(conn, "nlctrl", NULL, &family), 0);
    nl_conn_close(conn);
}

static void
unknown_group_does_not_exist(void **state OVS_UNUSED)
{
    struct genl_family family;
    struct nl_conn *conn;

    assert_int_equal(nl_conn_open(NETLINK_GENERIC, &conn), 0);
    assert_int_equal(genl_family_lookup(conn, "nlctrl", "no_such_group",
                                        &family), ENOENT);
    assert_int_equal(genl_family_lookup(conn, "nlctrl", "", &family), ENOENT);
    nl_conn_close(conn);
}

static void
name_that_is_too_long_is_an_error_and_no_overflow(void **state OVS_UNUSED)
{
    struct genl_family family;
    struct nl_conn *conn;
    char name[64];

    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    assert_int_equal(nl_conn_open(NETLINK_GENERIC, &conn), 0);
    assert_int_not_equal(genl_family_lookup(conn, name, NULL, &family), 0);
    nl_conn_close(conn);
}

/* Transactions. */

static void
dump_shows_everything_once(void **state)
{
    struct unit_ns *ns = *state;
    struct unit_seen seen = { .n = 0 };

    assert_int_equal(dump_links(ns, &seen), 0);
    assert_int_equal(seen.n, 1);
    assert_int_equal(seen.n_lo, 1);
    assert_int_equal(seen.type, RTM_NEWLINK);
}

static void
dump_of_many_datagrams_is_complete(void **state)
{
    struct unit_ns *ns = *state;
    struct unit_seen seen = { .n = 0 };
    char name[IFNAMSIZ], peer[IFNAMSIZ];

    /* A link's message takes more than 1 kB. */
    for (int i = 0; i < 50; i++) {
        snprintf(name, sizeof name, "v%da", i);
        snprintf(peer, sizeof peer, "v%db", i);
        assert_int_equal(unit_link_add_veth(ns, 0, name, ns, 0, peer), 0);
    }
    assert_int_equal(dump_links(ns, &seen), 0);
    assert_int_equal(seen.n, 101);
    assert_int_equal(seen.n_lo, 1);
    for (int i = 0; i < 50; i++) {
        snprintf(name, sizeof name, "v%da", i);
        assert_int_equal(unit_link_del(ns, if_nametoindex(name)), 0);
    }
    seen.n = 0;
    assert_int_equal(dump_links(ns, &seen), 0);
    assert_int_equal(seen.n, 1);
}

static void
dump_is_taken_part_by_part(void **state)
{
    struct unit_ns *ns = *state;
    struct unit_seen seen = { .n = 0 };
    struct request request;
    int n_parts = 0, most = 0, error;
    char name[IFNAMSIZ];

    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof name, "d%d", i);
        assert_int_equal(unit_link_add(ns, "ifb", 0, name), 0);
    }
    link_request(&request, RTM_GETLINK, NLM_F_DUMP, 0);
    assert_int_equal(nl_conn_start_dump(ns->conn, request.nlh), 0);
    do {
        int before = seen.n;

        error = nl_conn_continue_dump(ns->conn, unit_see_link, &seen);
        n_parts++;
        most = MAX(most, seen.n - before);
    } while (error == EINPROGRESS);
    assert_int_equal(error, 0);
    assert_int_equal(seen.n, 101);
    assert_true(n_parts > 2);
    assert_true(most <= 50);

    /* The next request finds nothing of it. */
    seen.n = 0;
    assert_int_equal(dump_links(ns, &seen), 0);
    assert_int_equal(seen.n, 101);

    /* One that is not wanted any more ends with the connection. */
    struct nl_conn *conn;
    assert_int_equal(nl_conn_open(NETLINK_ROUTE, &conn), 0);
    assert_int_equal(nl_conn_start_dump(conn, request.nlh), 0);
    assert_int_equal(nl_conn_continue_dump(conn, NULL, NULL), EINPROGRESS);
    nl_conn_close(conn);
    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof name, "d%d", i);
        assert_int_equal(unit_link_del(ns, if_nametoindex(name)), 0);
    }
}

static void
error_of_the_callback_is_returned_after_the_whole_answer(void **state)
{
    struct unit_ns *ns = *state;
    struct unit_seen seen = { .error = EXFULL };

    assert_int_equal(unit_link_add_veth(ns, 0, "va", ns, 0, "vb"), 0);
    assert_int_equal(dump_links(ns, &seen), EXFULL);
    assert_int_equal(seen.n, 1);

    /* Nothing of it is left for the next request. */
    seen = (struct unit_seen) { .n = 0 };
    assert_int_equal(dump_links(ns, &seen), 0);
    assert_int_equal(seen.n, 3);
    assert_int_equal(unit_link_del(ns, if_nametoindex("va")), 0);
}

static void
single_answer_is_passed_on(void **state)
{
    struct unit_ns *ns = *state;
    struct unit_seen seen = { .n = 0 };
    struct request request;

    assert_int_equal(unit_link_set_mtu(ns, LO, 4321), 0);
    link_request(&request, RTM_GETLINK, NLM_F_ACK, LO);
    assert_int_equal(transact(ns, &request, &seen), 0);
    assert_int_equal(seen.n, 1);
    assert_int_equal(seen.mtu, 4321);
}

static void
refusal_of_the_kernel_is_returned(void **state)
{
    struct unit_ns *ns = *state;
    struct unit_seen seen = { .n = 0 };
    struct request request;

    link_request(&request, RTM_GETLINK, NLM_F_ACK, 12345);
    assert_int_equal(transact(ns, &request, &seen), ENODEV);
    assert_int_equal(seen.n, 0);
    assert_int_equal(unit_link_add_veth(ns, 0, "va", ns, 0, "vb"), 0);
    assert_int_equal(unit_link_add_veth(ns, 0, "va", ns, 0, "vb"), EEXIST);
    assert_int_equal(unit_link_del(ns, if_nametoindex("va")), 0);
}

static void
explanation_of_an_error_lasts_until_the_next_request(void **state)
{
    struct unit_ns *ns = *state;
    struct unit_seen seen = { .n = 0 };
    struct request request;

    assert_string_equal(nl_conn_ext_error(ns->conn), "");

    /* An attribute that is too short; the kernel explains that in the words
     * of its attribute parser. */
    link_request(&request, RTM_NEWLINK, NLM_F_ACK, LO);
    mnl_attr_put_u8(request.nlh, IFLA_MTU, 1);
    assert_int_not_equal(transact(ns, &request, NULL), 0);
    assert_non_null(strstr(nl_conn_ext_error(ns->conn), "ttribute"));

    assert_int_equal(dump_links(ns, &seen), 0);
    assert_string_equal(nl_conn_ext_error(ns->conn), "");
}

static void
explanation_is_found_behind_a_long_request(void **state)
{
    struct unit_ns *ns = *state;
    struct request request;
    char alias[200];

    /* The kernel sends the request back in front of it. */
    memset(alias, 'x', sizeof alias);
    link_request(&request, RTM_NEWLINK, NLM_F_ACK, LO);
    mnl_attr_put(request.nlh, IFLA_IFALIAS, sizeof alias, alias);
    mnl_attr_put_u8(request.nlh, IFLA_MTU, 1);
    assert_int_not_equal(transact(ns, &request, NULL), 0);
    assert_non_null(strstr(nl_conn_ext_error(ns->conn), "ttribute"));
}

static void
request_nobody_understands_is_an_error(void **state)
{
    struct unit_ns *ns = *state;
    struct request request;

    link_request(&request, 0x7fff, NLM_F_ACK, 0);
    assert_int_equal(transact(ns, &request, NULL), EOPNOTSUPP);
}

/* Other processes. */

/* Counts datagrams that were dropped because they were not the kernel's. */
extern struct coverage_counter counter_nl_not_kernel;

/* Port id of the connection that was opened as descriptor 'fd'. */
static uint32_t
port_id(int fd)
{
    struct sockaddr_nl addr;
    socklen_t len = sizeof addr;

    assert_int_equal(getsockname(fd, (struct sockaddr *) &addr, &len), 0);
    assert_int_equal(addr.nl_family, AF_NETLINK);
    return addr.nl_pid;
}

/* Acknowledges the next request on 'port', number 'seq', in place of the
 * kernel, which has not been asked yet. */
static void
forge_acknowledgement(int stranger, uint32_t port, uint32_t seq)
{
    struct {
        struct nlmsghdr nlh;
        struct nlmsgerr err;
    } ack = {
        .nlh = { .nlmsg_len = sizeof ack, .nlmsg_type = NLMSG_ERROR,
                 .nlmsg_seq = seq, .nlmsg_pid = port },
        .err = { .msg = { .nlmsg_len = sizeof ack.err.msg } },
    };

    assert_int_equal(unit_send(stranger, port, &ack, sizeof ack), 0);
}

static void
answers_of_other_processes_are_dropped(void **state OVS_UNUSED)
{
    int stranger = unit_sender_open();
    int fd = fcntl(stranger, F_DUPFD, 0);
    struct genl_family family;
    struct nl_conn *conn;

    /* The connection gets the lowest number that is free. */
    close(fd);
    assert_int_equal(nl_conn_open(NETLINK_GENERIC, &conn), 0);
    for (uint32_t seq = 1; seq <= 3; seq++) {
        forge_acknowledgement(stranger, port_id(fd), seq);
        assert_int_equal(genl_family_lookup(conn, "nlctrl", NULL, &family),
                         0);
        assert_int_equal(family.id, GENL_ID_CTRL);
        assert_int_equal(counter_nl_not_kernel.count(), 1);
    }
    nl_conn_close(conn);
    close(stranger);
}

static void
closing_nothing_is_harmless(void **state OVS_UNUSED)
{
    size_t n_fds = unit_count_fds();
    struct nl_conn *conn;

    nl_conn_close(NULL);
    assert_int_equal(nl_conn_open(NETLINK_ROUTE, &conn), 0);
    assert_int_equal(unit_count_fds(), n_fds + 1);
    nl_conn_close(conn);
    assert_int_equal(unit_count_fds(), n_fds);
}

static void
unknown_protocol_cannot_be_opened(void **state OVS_UNUSED)
{
    struct nl_conn *conn;

    assert_int_equal(nl_conn_open(NETLINK_GENERIC + 1000, &conn),
                     EPROTONOSUPPORT);
    assert_null(conn);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(family_and_its_group_are_found),
        TEST(unknown_family_does_not_exist),
        TEST(unknown_group_does_not_exist),
        TEST(name_that_is_too_long_is_an_error_and_no_overflow),
        TEST(dump_shows_everything_once),
        TEST(dump_of_many_datagrams_is_complete),
        TEST(dump_is_taken_part_by_part),
        TEST(error_of_the_callback_is_returned_after_the_whole_answer),
        TEST(single_answer_is_passed_on),
        TEST(refusal_of_the_kernel_is_returned),
        TEST(explanation_of_an_error_lasts_until_the_next_request),
        TEST(explanation_is_found_behind_a_long_request),
        TEST(request_nobody_understands_is_an_error),
        TEST(answers_of_other_processes_are_dropped),
        TEST(closing_nothing_is_harmless),
        TEST(unknown_protocol_cannot_be_opened),
    };

    unit_init("test-nl-conn");
    return cmocka_run_group_tests_name("nl-conn", tests, NULL, NULL);
}
