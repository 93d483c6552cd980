/* SPDX-License-Identifier: Apache-2.0 */

/* Invariant L2 where devices disappear during a dump of queueing disciplines:
 * the table has every discipline that the kernel has.
 *
 * The kernel of these tests is scripted.  As Linux does, it continues a dump of
 * disciplines at the position in its list of devices where the last part
 * ended, sets no NLM_F_DUMP_INTR, and writes the next part of a dump when the
 * last one is received. */

#include <config.h>
#include "link/link-resync.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/net_namespace.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>

#include "harness/clock.h"
#include "harness/unit.h"
#include "link/link-listener.h"
#include "link/link-qdisc.h"
#include "link/link-table.h"
#include "timeval.h"
#include "util.h"

#define N_DEVICES 6
#define PART_DEVICES 2
#define MAX_EVENTS (4 * LINK_RUN_DATAGRAMS)
#define TURN_MSEC 10

struct datagram {
    size_t len;
    char buf[1024] __attribute__((aligned(NLMSG_ALIGNTO)));
};

static struct {
    int devices[N_DEVICES];     /* Their indexes, in order. */
    size_t n_devices;

    struct datagram events[MAX_EVENTS];
    size_t n_events, next_event;

    /* The dump in progress. */
    const struct mnl_socket *dump_sock;
    uint16_t dump_type;
    uint32_t dump_seq;
    size_t position;
    struct datagram part;
    bool done;

    struct datagram answer;     /* To a single request. */

    unsigned int n_qdisc_dumps;
    size_t n_noise;             /* Events before the removal... */
    int remove_after;           /* ...of the first device, after so many more
                                 * parts of dumps of disciplines. */
} kernel;

static struct link_table *table;
static struct link_qdiscs *qdiscs;
static struct link_listener *listener;

/* The kernel. */

static struct nlmsghdr *
put_header(struct datagram *d, uint16_t type, uint32_t seq, uint16_t flags)
{
    struct nlmsghdr *nlh = mnl_nlmsg_put_header(d->buf + d->len);

    nlh->nlmsg_type = type;
    nlh->nlmsg_seq = seq;
    nlh->nlmsg_flags = flags;
    return nlh;
}

static void
put_link(struct datagram *d, uint16_t type, uint32_t seq, uint16_t flags,
         int ifindex)
{
    struct nlmsghdr *nlh = put_header(d, type, seq, flags);
    struct ifinfomsg *ifi = mnl_nlmsg_put_extra_header(nlh, sizeof *ifi);
    char name[] = "dev?";

    name[3] = '0' + ifindex;
    ifi->ifi_index = ifindex;
    mnl_attr_put_strz(nlh, IFLA_IFNAME, name);
    mnl_attr_put_u32(nlh, IFLA_MTU, 1500);
    d->len += NLMSG_ALIGN(nlh->nlmsg_len);
}

static void
put_qdisc(struct datagram *d, uint32_t seq, int ifindex)
{
    struct nlmsghdr *nlh = put_header(d, RTM_NEWQDISC, seq, NLM_F_MULTI);
    struct tcmsg *tcm = mnl_nlmsg_put_extra_header(nlh, sizeof *tcm);

    tcm->tcm_ifindex = ifindex;
    tcm->tcm_parent = TC_H_INGRESS;
    tcm->tcm_handle = TC_H_MAKE(TC_H_INGRESS, 0);
    mnl_attr_put_strz(nlh, TCA_KIND, "ingress");
    d->len += NLMSG_ALIGN(nlh->nlmsg_len);
}

static void
put_status(struct datagram *d, uint16_t type, uint32_t seq)
{
    struct nlmsghdr *nlh = put_header(d, type, seq, 0);
    struct nlmsgerr *err = mnl_nlmsg_put_extra_header(nlh, sizeof *err);

    err->error = 0;
    d->len += NLMSG_ALIGN(nlh->nlmsg_len);
}

static void
kernel_announce(uint16_t type, int ifindex)
{
    assert_true(kernel.n_events < MAX_EVENTS);
    struct datagram *d = &kernel.events[kernel.n_events++];

    d->len = 0;
    put_link(d, type, 0, 0, ifindex);
}

static void
kernel_remove_first(void)
{
    for (size_t i = 0; i < kernel.n_noise; i++) {
        kernel_announce(RTM_NEWLINK, kernel.devices[1]);
    }
    kernel_announce(RTM_DELLINK, kernel.devices[0]);
    kernel.n_devices--;
    memmove(kernel.devices, kernel.devices + 1,
            kernel.n_devices * sizeof *kernel.devices);
}

static void
kernel_write_part(void)
{
    bool is_qdiscs = kernel.dump_type == RTM_GETQDISC;
    size_t n = 0;

    kernel.part.len = 0;
    if (is_qdiscs || kernel.dump_type == RTM_GETLINK) {
        while (kernel.position < kernel.n_devices && n++ < PART_DEVICES) {
            int ifindex = kernel.devices[kernel.position++];

            if (is_qdiscs) {
                put_qdisc(&kernel.part, kernel.dump_seq, ifindex);
            } else {
                put_link(&kernel.part, RTM_NEWLINK, kernel.dump_seq,
                         NLM_F_MULTI, ifindex);
            }
        }
    }
    if (!n) {
        put_status(&kernel.part, NLMSG_DONE, kernel.dump_seq);
        kernel.done = true;
    }
}

ssize_t __wrap_mnl_socket_sendto(const struct mnl_socket *, const void *,
                                 size_t);
ssize_t
__wrap_mnl_socket_sendto(const struct mnl_socket *sock, const void *buf,
                         size_t len)
{
    const struct nlmsghdr *nlh = buf;

    if ((nlh->nlmsg_flags & NLM_F_DUMP) == NLM_F_DUMP) {
        kernel.dump_sock = sock;
        kernel.dump_type = nlh->nlmsg_type;
        kernel.dump_seq = nlh->nlmsg_seq;
        kernel.position = 0;
        kernel.done = false;
        kernel.n_qdisc_dumps += nlh->nlmsg_type == RTM_GETQDISC;
        kernel_write_part();
        return len;
    }

    assert_int_equal(nlh->nlmsg_type, RTM_GETNSID);
    kernel.answer.len = 0;
    struct nlmsghdr *reply = put_header(&kernel.answer, RTM_NEWNSID,
                                        nlh->nlmsg_seq, 0);
    mnl_nlmsg_put_extra_header(reply, sizeof(struct rtgenmsg));
    mnl_attr_put_u32(reply, NETNSA_NSID, -1);
    kernel.answer.len += NLMSG_ALIGN(reply->nlmsg_len);
    put_status(&kernel.answer, NLMSG_ERROR, nlh->nlmsg_seq);
    return len;
}

ssize_t __wrap_nl_kernel_recv(const struct mnl_socket *, void *, size_t);
ssize_t
__wrap_nl_kernel_recv(const struct mnl_socket *sock, void *buf,
                      size_t size OVS_UNUSED)
{
    const struct datagram *d = (sock == kernel.dump_sock ? &kernel.part
                                : &kernel.answer);
    size_t n = d->len;

    memcpy(buf, d->buf, n);
    if (sock == kernel.dump_sock) {
        if (kernel.dump_type == RTM_GETQDISC && kernel.remove_after
            && !--kernel.remove_after) {
            kernel_remove_first();
        }
        if (kernel.done) {
            kernel.dump_sock = NULL;
        } else {
            kernel_write_part();
        }
    }
    return n;
}

ssize_t __wrap_recvmsg(int, struct msghdr *, int);
ssize_t
__wrap_recvmsg(int fd OVS_UNUSED, struct msghdr *msg, int flags OVS_UNUSED)
{
    struct sockaddr_nl *addr = msg->msg_name;

    if (kernel.next_event == kernel.n_events) {
        kernel.next_event = kernel.n_events = 0;
        errno = EAGAIN;
        return -1;
    }

    const struct datagram *d = &kernel.events[kernel.next_event++];
    assert_true(d->len <= msg->msg_iov->iov_len);
    memcpy(msg->msg_iov->iov_base, d->buf, d->len);
    memset(addr, 0, sizeof *addr);
    addr->nl_family = AF_NETLINK;
    msg->msg_controllen = 0;
    msg->msg_flags = 0;
    return d->len;
}

/* Tests. */

static int
setup(void **state OVS_UNUSED)
{
    unit_check(!unshare(CLONE_NEWNET));
    memset(&kernel, 0, sizeof kernel);
    for (int i = 0; i < N_DEVICES; i++) {
        kernel.devices[kernel.n_devices++] = i + 1;
    }
    unit_clock_stop(time_msec() + 1000000);
    table = link_table_create();
    qdiscs = link_qdiscs_create();

    const struct link_listener_options options = {
        .qdiscs = qdiscs,
        .own_namespace_only = true,
    };
    assert_int_equal(link_listener_open(table, &options, &listener), 0);
    assert_true(link_listener_catch_up(listener));
    assert_true(link_listener_is_current(listener));
    assert_int_equal(kernel.n_qdisc_dumps, 1);
    assert_int_equal(link_qdiscs_count(qdiscs), N_DEVICES);
    kernel.n_qdisc_dumps = 0;
    return 0;
}

static int
teardown(void **state OVS_UNUSED)
{
    link_listener_close(listener);
    link_qdiscs_destroy(qdiscs);
    link_table_destroy(table);
    unit_clock_run();
    return 0;
}

/* Lists everything, and takes turns until the tables are current.  Fails if
 * the discipline of a device that the kernel has is missing meanwhile. */
static void
resync(void)
{
    int n_turns = 0;

    link_listener_resync(listener);
    do {
        unit_clock_advance(TURN_MSEC);
        link_listener_run(listener);
        for (size_t i = 0; i < kernel.n_devices; i++) {
            assert_true(link_qdiscs_has_ingress(qdiscs, kernel.devices[i]));
        }
        assert_true(++n_turns < 1000);
    } while (!link_listener_is_current(listener));
    assert_int_equal(link_qdiscs_count(qdiscs), kernel.n_devices);
}

static void
a_quiet_dump_is_not_repeated(void **state OVS_UNUSED)
{
    resync();
    assert_int_equal(kernel.n_qdisc_dumps, 1);
}

static void
a_removal_between_parts_interrupts_a_dump(void **state OVS_UNUSED)
{
    for (int after = 1; after <= 2; after++) {
        kernel.n_qdisc_dumps = 0;
        kernel.remove_after = after;
        resync();
        assert_int_equal(kernel.n_qdisc_dumps, 2);
    }
}

/* The event of the removal waits behind more events than a turn processes. */
static void
a_dump_waits_for_the_events_before_its_end(void **state OVS_UNUSED)
{
    kernel.n_noise = 3 * LINK_RUN_DATAGRAMS;
    kernel.remove_after = 1;
    resync();
    assert_int_equal(kernel.n_qdisc_dumps, 2);
}

/* A discipline whose removal nobody announced goes. */
static void
a_complete_dump_removes_what_is_not_in_it(void **state OVS_UNUSED)
{
    const struct link_qdisc_view lost = {
        .ifindex = 77,
        .parent = TC_H_INGRESS,
        .handle = TC_H_MAKE(TC_H_INGRESS, 0),
    };

    link_qdiscs_update(qdiscs, &lost, false);
    assert_true(link_qdiscs_has_ingress(qdiscs, 77));
    resync();
    assert_false(link_qdiscs_has_ingress(qdiscs, 77));
}

int
main(int argc OVS_UNUSED, char *argv[])
{
    static const struct CMUnitTest tests[] = {
#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)
        TEST(a_quiet_dump_is_not_repeated),
        TEST(a_removal_between_parts_interrupts_a_dump),
        TEST(a_dump_waits_for_the_events_before_its_end),
        TEST(a_complete_dump_removes_what_is_not_in_it),
    };

    unit_init(argv[0]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
