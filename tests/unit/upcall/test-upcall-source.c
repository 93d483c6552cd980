/* SPDX-License-Identifier: Apache-2.0 */

/* Whose messages are taken, without the harness, which stands in for the
 * kernel: messages of the kernel have source 0, those of processes do not. */

#include <config.h>
#include "upcall/upcall-msg.h"

#include <libmnl/libmnl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness/unit.h"
#include "upcall/upcall-engine.h"
#include "util.h"

/* Reads one message from 'fd'. */
static struct upcall_rx
read_one(const struct upcall_engine_class *class, int fd)
{
    struct upcall_read read = { .fd = fd, .max = 1 };
    struct upcall_engine *engine;
    struct upcall_rx rx;

    assert_int_equal(class->create(1, &engine), 0);
    class->begin(engine);
    class->read(engine, &read, 1, &rx);
    assert_int_equal(read.n, 1);
    class->destroy(engine);
    return rx;
}

static void
check_engine(const struct upcall_engine_class *class)
{
    struct mnl_socket *a = mnl_socket_open(NETLINK_ROUTE);
    struct mnl_socket *b = mnl_socket_open(NETLINK_ROUTE);
    struct { struct nlmsghdr nlh; struct ifinfomsg ifi; } request = {
        .nlh = { .nlmsg_len = sizeof request, .nlmsg_type = RTM_GETLINK,
                 .nlmsg_flags = NLM_F_REQUEST },
        .ifi = { .ifi_index = 1 },
    };
    struct sockaddr_nl addr = { .nl_family = AF_NETLINK };
    struct upcall_rx rx;

    assert_true(a && b);
    assert_int_equal(mnl_socket_bind(a, 0, MNL_SOCKET_AUTOPID), 0);
    assert_int_equal(mnl_socket_bind(b, 0, MNL_SOCKET_AUTOPID), 0);

    /* An answer of the kernel. */
    assert_int_equal(mnl_socket_sendto(a, &request, sizeof request),
                     sizeof request);
    rx = read_one(class, mnl_socket_get_fd(a));
    assert_true(upcall_msg_is_from_kernel(rx.source));

    /* From a process. */
    addr.nl_pid = mnl_socket_get_portid(a);
    assert_int_equal(sendto(mnl_socket_get_fd(b), &request, sizeof request, 0,
                            (struct sockaddr *) &addr, sizeof addr),
                     sizeof request);
    rx = read_one(class, mnl_socket_get_fd(a));
    assert_int_equal(rx.source, mnl_socket_get_portid(b));
    assert_false(upcall_msg_is_from_kernel(rx.source));
    mnl_socket_close(a);
    mnl_socket_close(b);
}

static void
message_of_a_process_is_told_from_one_of_the_kernel(void **state OVS_UNUSED)
{
    check_engine(&upcall_engine_epoll);
    if (upcall_engine_uring.probe()) {
        unit_die("io_uring cannot be tested on this kernel");
    }
    check_engine(&upcall_engine_uring);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(message_of_a_process_is_told_from_one_of_the_kernel),
    };

    unit_init("test-upcall-source");
    return cmocka_run_group_tests_name("upcall-source", tests, NULL, NULL);
}
