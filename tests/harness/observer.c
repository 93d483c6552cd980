/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "harness/observer.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "harness/unit.h"
#include "util.h"

/* Milliseconds of silence after which the kernel is considered to be at rest:
 * it delays carrier changes for up to a second. */
#define REST_MS 1200

struct unit_observer {
    struct mnl_socket *sock;
};

struct unit_observer *
unit_observer_open(void)
{
    static const int groups[] = {
        RTNLGRP_LINK, RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR, RTNLGRP_NSID,
        RTNLGRP_IPV4_ROUTE, RTNLGRP_IPV6_ROUTE, RTNLGRP_TC,
    };
    struct unit_observer *observer = xzalloc(sizeof *observer);
    int on = 1;

    observer->sock = mnl_socket_open2(NETLINK_ROUTE,
                                      SOCK_CLOEXEC | SOCK_NONBLOCK);
    unit_check(observer->sock);
    unit_check(!mnl_socket_bind(observer->sock, 0, MNL_SOCKET_AUTOPID));
    unit_check(!mnl_socket_setsockopt(observer->sock, NETLINK_LISTEN_ALL_NSID,
                                      &on, sizeof on));
    for (size_t i = 0; i < ARRAY_SIZE(groups); i++) {
        int group = groups[i];

        unit_check(!mnl_socket_setsockopt(observer->sock,
                                          NETLINK_ADD_MEMBERSHIP, &group,
                                          sizeof group));
    }
    return observer;
}

void
unit_observer_close(struct unit_observer *observer)
{
    if (observer) {
        mnl_socket_close(observer->sock);
        free(observer);
    }
}

/* Throws away announcements.  Returns true if there were any, or some were
 * lost. */
static bool
drain(struct unit_observer *observer)
{
    bool any = false;

    for (;;) {
        char byte;
        ssize_t n = recv(mnl_socket_get_fd(observer->sock), &byte, 1,
                         MSG_DONTWAIT | MSG_TRUNC);

        if (n < 0 && errno == EAGAIN) {
            return any;
        }
        unit_check(n >= 0 || errno == ENOBUFS || errno == EINTR);
        any = true;
    }
}

bool
unit_observer_has_heard(struct unit_observer *observer)
{
    return drain(observer);
}

/* True if the kernel announces something before it was silent for REST_MS. */
static bool
hears(struct unit_observer *observer)
{
    struct pollfd pollfd = {
        .fd = mnl_socket_get_fd(observer->sock), .events = POLLIN,
    };
    int n;

    do {
        n = poll(&pollfd, 1, REST_MS);
    } while (n < 0 && errno == EINTR);
    unit_check(n >= 0);
    return drain(observer);
}

void
unit_observer_wait_rest(struct unit_observer *observer)
{
    drain(observer);
    unit_wait_until(!hears(observer));
}
