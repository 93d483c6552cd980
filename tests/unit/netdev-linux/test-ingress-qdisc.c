/* SPDX-License-Identifier: Apache-2.0 */

/* Queueing disciplines at the ingress, as the kernel tells of them (O5). */

#include <config.h>
#include "netdev-linux/ingress-qdisc.h"

#include <errno.h>
#include <linux/rtnetlink.h>

#include "harness/unit.h"
#include "netlink.h"
#include "netlink-socket.h"
#include "openvswitch/ofpbuf.h"
#include "util.h"

/* What the dump tells. */
#define MAX_MSGS 16
static struct ofpbuf msgs[MAX_MSGS];
static size_t n_msgs, n_told;
static int dump_error;
static unsigned int n_dumps;

void __wrap_nl_dump_start(struct nl_dump *, int protocol,
                          const struct ofpbuf *request);
bool __wrap_kdp_stock_nl_dump_next(struct nl_dump *, struct ofpbuf *msg,
                                   struct ofpbuf *buffer);
int __wrap_nl_dump_done(struct nl_dump *);

void
__wrap_nl_dump_start(struct nl_dump *dump OVS_UNUSED, int protocol,
                     const struct ofpbuf *request)
{
    const struct tcmsg *tcm = ofpbuf_at_assert(request, NLMSG_HDRLEN,
                                               sizeof *tcm);

    assert_int_equal(protocol, NETLINK_ROUTE);
    assert_int_equal(nl_msg_nlmsghdr(request)->nlmsg_type, RTM_GETQDISC);
    assert_int_equal(tcm->tcm_ifindex, 0);
    n_told = 0;
    n_dumps++;
}

bool
__wrap_kdp_stock_nl_dump_next(struct nl_dump *dump OVS_UNUSED,
                              struct ofpbuf *msg,
                              struct ofpbuf *buffer OVS_UNUSED)
{
    if (n_told == n_msgs) {
        return false;
    }
    ofpbuf_use_const(msg, msgs[n_told].data, msgs[n_told].size);
    n_told++;
    return true;
}

int
__wrap_nl_dump_done(struct nl_dump *dump OVS_UNUSED)
{
    n_dumps--;
    return dump_error;
}

/* Adds a message about a queueing discipline of 'kind', or none if that is
 * NULL, on device 'ifindex'. */
static struct ofpbuf *
add_msg(int ifindex, const char *kind)
{
    struct ofpbuf *msg = &msgs[n_msgs++];
    struct tcmsg *tcm;

    assert_true(n_msgs <= MAX_MSGS);
    ofpbuf_init(msg, 64);
    nl_msg_put_nlmsghdr(msg, sizeof *tcm, RTM_NEWQDISC, 0);
    tcm = ofpbuf_put_zeros(msg, sizeof *tcm);
    tcm->tcm_ifindex = ifindex;
    if (kind) {
        nl_msg_put_string(msg, TCA_KIND, kind);
    }
    return msg;
}

static struct ingress_qdisc qdiscs[MAX_MSGS];
static size_t n_qdiscs;

/* The dump is over by then, so that requests may be made. */
static void
note_qdisc(const struct ingress_qdisc *qdisc, void *aux)
{
    assert_ptr_equal(aux, qdiscs);
    assert_int_equal(n_dumps, 0);
    assert_true(n_qdiscs < MAX_MSGS);
    qdiscs[n_qdiscs++] = *qdisc;
}

static int
list(void)
{
    n_qdiscs = 0;
    return ingress_qdisc_for_each(note_qdisc, qdiscs);
}

static void
check_qdisc(size_t i, int ifindex, uint32_t block_id, bool is_clsact)
{
    assert_true(i < n_qdiscs);
    assert_int_equal(qdiscs[i].ifindex, ifindex);
    assert_int_equal(qdiscs[i].block_id, block_id);
    assert_int_equal(qdiscs[i].is_clsact, is_clsact);
}

static int
setup(void **state OVS_UNUSED)
{
    n_msgs = 0;
    dump_error = 0;
    return 0;
}

static int
teardown(void **state OVS_UNUSED)
{
    for (size_t i = 0; i < n_msgs; i++) {
        ofpbuf_uninit(&msgs[i]);
    }
    assert_int_equal(n_dumps, 0);
    return 0;
}

static void
disciplines_are_those_at_the_ingress(void **state OVS_UNUSED)
{
    add_msg(1, "noqueue");
    add_msg(2, "ingress");
    add_msg(3, "fq_codel");
    add_msg(4, "clsact");
    nl_msg_put_u32(add_msg(5, "ingress"), TCA_INGRESS_BLOCK, 77);
    nl_msg_put_u32(add_msg(6, "clsact"), TCA_INGRESS_BLOCK, 77);
    assert_int_equal(list(), 0);
    assert_int_equal(n_qdiscs, 4);
    check_qdisc(0, 2, 0, false);
    check_qdisc(1, 4, 0, true);
    check_qdisc(2, 5, 77, false);
    check_qdisc(3, 6, 77, true);
}

static void
messages_of_another_form_tell_nothing(void **state OVS_UNUSED)
{
    add_msg(1, NULL);
    add_msg(2, "");
    add_msg(3, "ingres");
    add_msg(4, "ingresss");
    nl_msg_put_unspec(add_msg(5, NULL), TCA_KIND, "ingress", 7);
    add_msg(6, "ingress")->size = NLMSG_HDRLEN + sizeof(struct tcmsg) - 1;
    add_msg(7, "ingress")->size -= 4;
    assert_int_equal(list(), 0);
    assert_int_equal(n_qdiscs, 0);

    /* A block of another size is none. */
    nl_msg_put_u16(add_msg(8, "ingress"), TCA_INGRESS_BLOCK, 77);
    assert_int_equal(list(), 0);
    assert_int_equal(n_qdiscs, 1);
    check_qdisc(0, 8, 0, false);
}

static void
error_of_the_kernel_is_told(void **state OVS_UNUSED)
{
    add_msg(1, "ingress");
    dump_error = ENOBUFS;
    assert_int_equal(list(), ENOBUFS);
    assert_int_equal(n_qdiscs, 1);
}

int
main(int argc OVS_UNUSED, char *argv[])
{
#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(disciplines_are_those_at_the_ingress),
        TEST(messages_of_another_form_tell_nothing),
        TEST(error_of_the_kernel_is_told),
    };

    unit_init(argv[0]);
    return cmocka_run_group_tests_name("ingress-qdisc", tests, NULL, NULL);
}
