/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "upcall/upcall-engine-provider.h"

#include <errno.h>
#include <linux/netlink.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "upcall/upcall-buffers.h"
#include "util.h"

/* The engine that needs only recvmmsg(). */
struct engine_epoll {
    struct upcall_engine up;
    char *buffers;
    unsigned int n_msgs;        /* Number of buffers. */
    unsigned int n_used;        /* Buffers filled in this batch. */
    struct mmsghdr *msgs;       /* One for each buffer. */
    struct iovec *iovs;
    struct sockaddr_nl *sources;
};

static struct engine_epoll *
engine_epoll_cast(struct upcall_engine *engine)
{
    return CONTAINER_OF(engine, struct engine_epoll, up);
}

static int
engine_epoll_create(unsigned int n_msgs, struct upcall_engine **enginep)
{
    char *buffers = upcall_buffers_map(n_msgs, UPCALL_MSG_SIZE);
    struct engine_epoll *engine;

    *enginep = NULL;
    if (!buffers) {
        return errno;
    }
    engine = xzalloc(sizeof *engine);
    engine->up.class = &upcall_engine_epoll;
    engine->buffers = buffers;
    engine->n_msgs = n_msgs;
    engine->msgs = xcalloc(n_msgs, sizeof *engine->msgs);
    engine->iovs = xcalloc(n_msgs, sizeof *engine->iovs);
    engine->sources = xcalloc(n_msgs, sizeof *engine->sources);
    for (unsigned int i = 0; i < n_msgs; i++) {
        engine->iovs[i].iov_base = buffers + i * UPCALL_MSG_SIZE;
        engine->iovs[i].iov_len = UPCALL_MSG_SIZE;
        engine->msgs[i].msg_hdr.msg_iov = &engine->iovs[i];
        engine->msgs[i].msg_hdr.msg_iovlen = 1;

        /* The kernel writes the length of a netlink address, always the
         * same. */
        engine->msgs[i].msg_hdr.msg_name = &engine->sources[i];
        engine->msgs[i].msg_hdr.msg_namelen = sizeof *engine->sources;
    }
    *enginep = &engine->up;
    return 0;
}

static void
engine_epoll_destroy(struct upcall_engine *engine_)
{
    struct engine_epoll *engine = engine_epoll_cast(engine_);

    upcall_buffers_unmap(engine->buffers, engine->n_msgs, UPCALL_MSG_SIZE);
    free(engine->msgs);
    free(engine->iovs);
    free(engine->sources);
    free(engine);
}

static void
engine_epoll_begin(struct upcall_engine *engine)
{
    engine_epoll_cast(engine)->n_used = 0;
}

/* Carries out one read.  Returns the number of system calls. */
static unsigned int
engine_epoll_read_one(struct engine_epoll *engine, struct upcall_read *read)
{
    unsigned int n_calls = 0;

    read->n = read->overruns = 0;
    read->error = 0;
    read->empty = true;
    for (;;) {
        int n = recvmmsg(read->fd, &engine->msgs[engine->n_used], read->max,
                         MSG_DONTWAIT, NULL);

        n_calls++;
        if (n >= 0) {
            /* With fewer messages than requested, another attempt would fail
             * with EAGAIN, or with a new error, which the socket keeps. */
            read->n = n;
            read->empty = n < read->max;
            return n_calls;
        } else if (errno == ENOBUFS) {
            if (++read->overruns >= UPCALL_OVERRUNS) {
                read->empty = false;
                return n_calls;
            }
        } else if (errno != EINTR) {
            read->error = errno == EAGAIN ? 0 : errno;
            return n_calls;
        }
    }
}

static unsigned int
engine_epoll_read(struct upcall_engine *engine_, struct upcall_read *reads,
                  size_t n_reads, struct upcall_rx *rx)
{
    struct engine_epoll *engine = engine_epoll_cast(engine_);
    unsigned int n_calls = 0;

    for (size_t i = 0; i < n_reads; i++) {
        n_calls += engine_epoll_read_one(engine, &reads[i]);
        for (unsigned int j = 0; j < reads[i].n; j++) {
            const struct mmsghdr *msg = &engine->msgs[engine->n_used];

            rx->data = engine->iovs[engine->n_used].iov_base;
            rx->source = engine->sources[engine->n_used++].nl_pid;
            rx->len = msg->msg_len;
            rx->truncated = msg->msg_hdr.msg_flags & MSG_TRUNC;
            rx++;
        }
    }
    return n_calls;
}

const struct upcall_engine_class upcall_engine_epoll = {
    .name = "epoll",
    .create = engine_epoll_create,
    .destroy = engine_epoll_destroy,
    .begin = engine_epoll_begin,
    .read = engine_epoll_read,
};
