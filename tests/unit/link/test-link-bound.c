/* SPDX-License-Identifier: Apache-2.0 */

/* Invariants L2 and L6 with ten thousand links, while 100 pairs of them come
 * and go each second: the tables are what the kernel says after two dumps, or
 * as soon as it is quiet, and a turn of the main loop takes a bounded number
 * of messages.
 *
 * The kernel of these tests is scripted.  It keeps its links in 256 buckets by
 * interface index, new ones first, and writes the next part of a dump when the
 * last one is received, as Linux does.  So a link that comes or goes makes the
 * dump repeat one of the bucket it is in, or leave it out. */

#include <config.h>
#include "link/link-resync.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/net_namespace.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "link/link-listener.h"
#include "link/link-table.h"
#include "timeval.h"
#include "harness/clock.h"
#include "harness/unit.h"
#include "openvswitch/list.h"
#include "util.h"

#define N_LINKS 10000
#define N_BUCKETS 256
#define PART_LINKS 25           /* In a part of a dump. */
#define TURN_MSEC 10

/* What a turn may take: parts of dumps, and two times events. */
#define TURN_MESSAGES (LINK_TURN_PARTS * PART_LINKS + 2 * LINK_RUN_DATAGRAMS)

struct klink {
    struct ovs_list node;       /* In its bucket. */
    int ifindex;
    unsigned int flags;
    uint32_t mtu;
};

struct datagram {
    struct ovs_list node;       /* In 'events'. */
    size_t len;
    char buf[PART_LINKS * 128] __attribute__((aligned(NLMSG_ALIGNTO)));
};

static struct {
    struct ovs_list buckets[N_BUCKETS];
    int next_ifindex;
    size_t n_links;
    unsigned int n_changes;

    struct ovs_list events;
    bool lost;                  /* ENOBUFS is to be said. */

    /* The dump under way. */
    const struct mnl_socket *dump_sock;
    uint32_t dump_seq;
    int bucket, index;          /* Where it goes on. */
    unsigned int seen_changes;
    struct datagram part;       /* That is written. */
    bool done;
    unsigned int n_dumps;
    unsigned int n_parts;       /* That were received, of all dumps. */

    struct datagram answer;     /* To a question. */
    unsigned int n_messages;    /* That were received, in this turn. */
} kernel;

/* What dumps take, in microseconds: the request, and each part. */
#define REQUEST_USEC 1000000
#define PART_USEC 7

static struct link_table *table;
static struct link_listener *listener;
static unsigned int most_messages;      /* In a turn. */

/* Only dumps take time. */
long long int __wrap_time_usec(void);
long long int
__wrap_time_usec(void)
{
    return ((long long int) kernel.n_dumps * REQUEST_USEC
            + kernel.n_parts * PART_USEC);
}

/* The kernel. */

static struct klink *
kernel_find(int ifindex)
{
    struct klink *link;

    LIST_FOR_EACH (link, node, &kernel.buckets[ifindex % N_BUCKETS]) {
        if (link->ifindex == ifindex) {
            return link;
        }
    }
    return NULL;
}

static struct nlmsghdr *
put_link(struct datagram *d, uint16_t type, uint32_t seq, uint16_t flags,
         const struct klink *link)
{
    struct nlmsghdr *nlh = mnl_nlmsg_put_header(d->buf + d->len);
    struct ifinfomsg *ifi = mnl_nlmsg_put_extra_header(nlh, sizeof *ifi);
    char *name = xasprintf("link%d", link->ifindex);

    nlh->nlmsg_type = type;
    nlh->nlmsg_seq = seq;
    nlh->nlmsg_flags = flags;
    ifi->ifi_index = link->ifindex;
    ifi->ifi_flags = link->flags;
    mnl_attr_put_strz(nlh, IFLA_IFNAME, name);
    mnl_attr_put_u32(nlh, IFLA_MTU, link->mtu);
    free(name);
    d->len += NLMSG_ALIGN(nlh->nlmsg_len);
    return nlh;
}

static void
kernel_announce(uint16_t type, const struct klink *link)
{
    struct datagram *d = xzalloc(sizeof *d);

    put_link(d, type, 0, 0, link);
    ovs_list_push_back(&kernel.events, &d->node);
}

static void
kernel_forget_events(void)
{
    struct datagram *d;

    LIST_FOR_EACH_POP (d, node, &kernel.events) {
        free(d);
    }
}

static struct klink *
kernel_add(void)
{
    struct klink *link = xzalloc(sizeof *link);

    link->ifindex = ++kernel.next_ifindex;
    link->mtu = 1500;
    ovs_list_push_front(&kernel.buckets[link->ifindex % N_BUCKETS],
                        &link->node);
    kernel.n_links++;
    kernel.n_changes++;
    kernel_announce(RTM_NEWLINK, link);
    return link;
}

static void
kernel_change(struct klink *link, unsigned int flags, uint32_t mtu)
{
    link->flags = flags;
    link->mtu = mtu;
    kernel_announce(RTM_NEWLINK, link);
}

static void
kernel_remove(struct klink *link)
{
    kernel_change(link, 0, link->mtu);
    kernel_announce(RTM_DELLINK, link);
    ovs_list_remove(&link->node);
    free(link);
    kernel.n_links--;
    kernel.n_changes++;
}

/* Writes the next part of the dump. */
static void
kernel_write_part(void)
{
    struct datagram *part = &kernel.part;
    uint16_t flags = (NLM_F_MULTI
                      | (kernel.seen_changes != kernel.n_changes
                         ? NLM_F_DUMP_INTR : 0));
    int n = 0;

    kernel.seen_changes = kernel.n_changes;
    part->len = 0;
    for (; kernel.bucket < N_BUCKETS; kernel.bucket++, kernel.index = 0) {
        struct klink *link;
        int i = 0;

        LIST_FOR_EACH (link, node, &kernel.buckets[kernel.bucket]) {
            if (i++ < kernel.index) {
                continue;
            }
            if (n == PART_LINKS) {
                return;
            }
            put_link(part, RTM_NEWLINK, kernel.dump_seq, flags, link);
            kernel.index++;
            n++;
        }
    }
    if (!n) {
        struct nlmsghdr *nlh = mnl_nlmsg_put_header(part->buf);
        int *status = mnl_nlmsg_put_extra_header(nlh, sizeof *status);

        nlh->nlmsg_type = NLMSG_DONE;
        nlh->nlmsg_seq = kernel.dump_seq;
        nlh->nlmsg_flags = flags;
        *status = 0;
        part->len = nlh->nlmsg_len;
        kernel.done = true;
    }
}

static void
kernel_answer(const struct nlmsghdr *request)
{
    const struct ifinfomsg *ifi = mnl_nlmsg_get_payload(request);
    struct datagram *d = &kernel.answer;
    int error = 0;

    d->len = 0;
    if (request->nlmsg_type == RTM_GETLINK) {
        const struct klink *link = kernel_find(ifi->ifi_index);

        error = link ? 0 : -ENODEV;
        if (link) {
            put_link(d, RTM_NEWLINK, request->nlmsg_seq, 0, link);
        }
    } else {
        struct nlmsghdr *nlh = mnl_nlmsg_put_header(d->buf);

        assert_int_equal(request->nlmsg_type, RTM_GETNSID);
        nlh->nlmsg_type = RTM_NEWNSID;
        nlh->nlmsg_seq = request->nlmsg_seq;
        mnl_nlmsg_put_extra_header(nlh, sizeof(struct rtgenmsg));
        mnl_attr_put_u32(nlh, NETNSA_NSID, -1);
        d->len = NLMSG_ALIGN(nlh->nlmsg_len);
    }

    struct nlmsghdr *nlh = mnl_nlmsg_put_header(d->buf + d->len);
    struct nlmsgerr *err = mnl_nlmsg_put_extra_header(nlh, sizeof *err);
    nlh->nlmsg_type = NLMSG_ERROR;
    nlh->nlmsg_seq = request->nlmsg_seq;
    err->error = error;
    d->len += nlh->nlmsg_len;
}

/* What the listener calls. */

ssize_t __wrap_mnl_socket_sendto(const struct mnl_socket *, const void *,
                                 size_t);
ssize_t
__wrap_mnl_socket_sendto(const struct mnl_socket *sock, const void *buf,
                         size_t len)
{
    const struct nlmsghdr *nlh = buf;

    if ((nlh->nlmsg_flags & NLM_F_DUMP) != NLM_F_DUMP) {
        kernel_answer(nlh);
        return len;
    }
    assert_int_equal(nlh->nlmsg_type, RTM_GETLINK);
    kernel.dump_sock = sock;
    kernel.dump_seq = nlh->nlmsg_seq;
    kernel.bucket = kernel.index = 0;
    kernel.seen_changes = kernel.n_changes;
    kernel.done = false;
    kernel.n_dumps++;
    kernel_write_part();
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
    if (sock != kernel.dump_sock) {
        kernel.n_messages++;
        return n;
    }
    kernel.n_parts++;
    if (!kernel.done) {
        kernel.n_messages += n / (d->len ? NLMSG_ALIGN(
            ((const struct nlmsghdr *) d->buf)->nlmsg_len) : 1);
        kernel_write_part();
    } else {
        kernel.dump_sock = NULL;
    }
    return n;
}

ssize_t __wrap_recvmsg(int, struct msghdr *, int);
ssize_t
__wrap_recvmsg(int fd OVS_UNUSED, struct msghdr *msg, int flags OVS_UNUSED)
{
    struct sockaddr_nl *addr = msg->msg_name;

    if (kernel.lost) {
        kernel.lost = false;
        kernel_forget_events();
        errno = ENOBUFS;
        return -1;
    } else if (ovs_list_is_empty(&kernel.events)) {
        errno = EAGAIN;
        return -1;
    }

    struct datagram *d = CONTAINER_OF(ovs_list_pop_front(&kernel.events),
                                      struct datagram, node);
    size_t n = d->len;
    assert_true(n <= msg->msg_iov->iov_len);
    memcpy(msg->msg_iov->iov_base, d->buf, n);
    free(d);
    memset(addr, 0, sizeof *addr);
    addr->nl_family = AF_NETLINK;
    msg->msg_controllen = 0;
    msg->msg_flags = 0;
    kernel.n_messages++;
    return n;
}

/* Tests. */

static int
setup(void **state OVS_UNUSED)
{
    static const struct link_listener_options options = {
        .own_namespace_only = true,
    };

    unit_check(!unshare(CLONE_NEWNET));
    memset(&kernel, 0, sizeof kernel);
    for (int i = 0; i < N_BUCKETS; i++) {
        ovs_list_init(&kernel.buckets[i]);
    }
    ovs_list_init(&kernel.events);
    for (int i = 0; i < N_LINKS; i++) {
        kernel_add();
    }
    kernel_forget_events();
    most_messages = 0;
    unit_clock_stop(time_msec() + 1000000);
    table = link_table_create();
    assert_int_equal(link_listener_open(table, &options, &listener), 0);
    return 0;
}

static int
teardown(void **state OVS_UNUSED)
{
    link_listener_close(listener);
    link_table_destroy(table);
    unit_clock_run();
    kernel_forget_events();
    for (int i = 0; i < N_BUCKETS; i++) {
        struct klink *link;

        LIST_FOR_EACH_POP (link, node, &kernel.buckets[i]) {
            free(link);
        }
    }
    return 0;
}

static void
turn(void)
{
    unit_clock_advance(TURN_MSEC);
    kernel.n_messages = 0;
    link_listener_run(listener);

    /* Others want to read what they wrote. */
    for (int i = 0; i < 3; i++) {
        link_listener_catch_up(listener);
    }
    most_messages = MAX(most_messages, kernel.n_messages);
}

/* Makes a pair of links, and deletes two of those that there are. */
static void
churn(void)
{
    enum { AGE = N_LINKS * 3 / 4 };

    for (int i = 0; i < 2; i++) {
        struct klink *link = kernel_add();

        kernel_change(link, IFF_UP | IFF_RUNNING, 1500);
        link = kernel_find(link->ifindex - AGE);
        if (link) {
            kernel_remove(link);
        }
    }
}

static bool
is_equal(void)
{
    size_t n;
    struct link_info *infos = link_table_get_links(table, LINK_NSID_LOCAL,
                                                   &n);
    bool equal = n == kernel.n_links;

    for (size_t i = 0; i < n && equal; i++) {
        const struct klink *link = kernel_find(infos[i].ifindex);

        equal = (link && link->flags == infos[i].flags
                 && link->mtu == infos[i].mtu);
    }
    free(infos);
    return equal;
}

static bool
is_pending(void)
{
    return link_table_is_pending(table, LINK_NSID_LOCAL);
}

/* Takes turns until our namespace is current.  Returns their number. */
static int
turns_until_current(bool busy)
{
    int n = 0;

    do {
        if (busy) {
            churn();
        }
        turn();
        n++;
        assert_true(n < 1000);
    } while (is_pending());
    return n;
}

static void
a_turn_takes_a_bounded_part_of_a_dump(void **state OVS_UNUSED)
{
    link_listener_catch_up(listener);
    assert_true(link_listener_is_current(listener));
    assert_true(is_equal());

    link_listener_resync(listener);
    assert_true(turns_until_current(false)
                >= N_LINKS / PART_LINKS / LINK_TURN_PARTS);
    assert_true(link_listener_is_current(listener));
    assert_int_equal(kernel.n_dumps, 2);
    assert_true(is_equal());
    assert_true(most_messages > LINK_TURN_PARTS);
    assert_true(most_messages <= TURN_MESSAGES);
}

static void
time_under_rtnl_is_counted(void **state OVS_UNUSED)
{
    enum { PARTS = N_LINKS / PART_LINKS + 1 };
    const uint64_t usec = REQUEST_USEC + PARTS * PART_USEC;
    struct link_listener_stats stats;

    link_listener_catch_up(listener);
    link_listener_resync(listener);
    turns_until_current(false);
    link_listener_resync(listener);
    turns_until_current(false);
    link_listener_get_stats(listener, &stats);
    assert_int_equal(kernel.n_parts, 3 * PARTS);
    assert_int_equal(stats.rtnl[LINK_REASON_START], 1);
    assert_int_equal(stats.rtnl_us[LINK_REASON_START], usec);
    assert_int_equal(stats.rtnl[LINK_REASON_ASKED], 2);
    assert_int_equal(stats.rtnl_us[LINK_REASON_ASKED], 2 * usec);
    assert_int_equal(stats.rtnl[LINK_REASON_LOSS], 0);
    assert_int_equal(stats.rtnl_us[LINK_REASON_LOSS], 0);
    assert_int_equal(stats.rtnl[LINK_REASON_NAMESPACE], 0);
    assert_int_equal(stats.rtnl_us[LINK_REASON_NAMESPACE], 0);
    assert_int_equal(stats.nsid_requests, 1);
    assert_int_equal(stats.resyncs, 3);
    assert_int_equal(stats.resync_last, usec);
    assert_int_equal(stats.resync_max, usec);
    assert_int_equal(stats.resync_total, 3 * usec);
    assert_int_equal(stats.interrupted, 0);
    assert_int_equal(stats.failed, 0);
    assert_int_equal(stats.malformed, 0);
}

static void
under_churn_two_dumps_and_a_quiet_second_are_enough(void **state OVS_UNUSED)
{
    link_listener_catch_up(listener);
    for (int i = 0; i < 2; i++) {
        /* The events of these changes wait when the kernel drops them. */
        for (int j = 0; j < 50; j++) {
            churn();
        }
        kernel.lost = true;
        kernel.n_dumps = 0;
        turns_until_current(true);
        assert_int_equal(kernel.n_dumps, 2);
        assert_true(is_equal());
        assert_false(link_listener_is_current(listener));

        /* What goes on is there in the same turn, for five seconds. */
        for (int j = 0; j < 5 * 1000 / TURN_MSEC; j++) {
            churn();
            turn();
            assert_true(j % 100 || is_equal());
        }
        assert_true(kernel.n_dumps < 10);
    }

    for (int i = 0; i < 1000 / TURN_MSEC; i++) {
        turn();
    }
    assert_true(link_listener_is_current(listener));
    assert_true(is_equal());
    assert_true(most_messages <= TURN_MESSAGES);
}

/* However long it was busy before: here, as long as it takes for tries to
 * become rare, up to the middle of one. */
static void
a_change_during_a_try_calls_for_another(void **state OVS_UNUSED)
{
    link_listener_catch_up(listener);
    kernel.lost = true;
    turns_until_current(true);
    for (int i = 0; i < 4 * 1000 / TURN_MSEC || !kernel.dump_sock; i++) {
        churn();
        turn();
    }
    churn();
    for (int i = 0; i < 1000 / TURN_MSEC; i++) {
        turn();
    }
    assert_true(link_listener_is_current(listener));
    assert_true(is_equal());
}

/* Nor does it matter if it comes in the millisecond in which the try
 * begins. */
static void
a_change_as_a_try_begins_calls_for_another(void **state OVS_UNUSED)
{
    unsigned int n_dumps;

    link_listener_catch_up(listener);
    kernel.lost = true;
    turns_until_current(true);
    for (int i = 0; i < 4 * 1000 / TURN_MSEC; i++) {
        churn();
        turn();
    }
    do {
        n_dumps = kernel.n_dumps;
        churn();
        turn();
    } while (n_dumps == kernel.n_dumps || !kernel.dump_sock);
    churn();
    link_listener_catch_up(listener);
    for (int i = 0; i < 1000 / TURN_MSEC; i++) {
        turn();
    }
    assert_true(link_listener_is_current(listener));
    assert_true(is_equal());
}

/* How often link 'ifindex' came, and whether its MTU went back. */
struct watched {
    int ifindex;
    int n_new;
    uint32_t mtu;
    bool went_back;
};

static void
watch(const struct link_change *change, void *watched_)
{
    struct watched *watched = watched_;

    if (change->link->ifindex == watched->ifindex) {
        watched->n_new += (change->what & LINK_CHANGE_NEW) != 0;
        watched->went_back |= (!(change->what & LINK_CHANGE_GONE)
                               && change->link->mtu < watched->mtu);
        watched->mtu = change->link->mtu;
    }
}

/* The part that is written when a turn ends tells what was before. */
static void
an_older_part_undoes_no_event(void **state OVS_UNUSED)
{
    struct watched changed = { .ifindex = 0 }, gone = { .ifindex = 0 };
    struct link_subscription *sub[2];

    link_listener_catch_up(listener);
    link_listener_resync(listener);
    turn();
    assert_true(is_pending());

    const struct nlmsghdr *nlh = (const struct nlmsghdr *) kernel.part.buf;
    const struct ifinfomsg *ifi = mnl_nlmsg_get_payload(nlh);
    changed.ifindex = ifi->ifi_index;
    ifi = mnl_nlmsg_get_payload((const struct nlmsghdr *)
                                (kernel.part.buf
                                 + NLMSG_ALIGN(nlh->nlmsg_len)));
    gone.ifindex = ifi->ifi_index;
    sub[0] = link_table_subscribe(table, LINK_NSID_LOCAL, LINK_CHANGE_ALL,
                                  watch, &changed);
    sub[1] = link_table_subscribe(table, LINK_NSID_LOCAL, LINK_CHANGE_ALL,
                                  watch, &gone);
    kernel_change(kernel_find(changed.ifindex), IFF_UP, 9000);
    kernel_remove(kernel_find(gone.ifindex));
    turns_until_current(false);
    turns_until_current(false);
    link_table_unsubscribe(sub[0]);
    link_table_unsubscribe(sub[1]);
    assert_true(is_equal());
    assert_int_equal(changed.mtu, 9000);
    assert_false(changed.went_back);
    assert_int_equal(gone.n_new, 0);
}

int
main(int argc OVS_UNUSED, char *argv[])
{
    static const struct CMUnitTest tests[] = {
#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)
        TEST(a_turn_takes_a_bounded_part_of_a_dump),
        TEST(time_under_rtnl_is_counted),
        TEST(under_churn_two_dumps_and_a_quiet_second_are_enough),
        TEST(a_change_during_a_try_calls_for_another),
        TEST(a_change_as_a_try_begins_calls_for_another),
        TEST(an_older_part_undoes_no_event),
    };

    unit_init(argv[0]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
