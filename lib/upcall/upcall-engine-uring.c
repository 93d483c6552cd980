/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "upcall/upcall-engine-provider.h"

#include <errno.h>
#include <liburing.h>
#include <linux/netlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ovs/compat-util.h"
#include "upcall/upcall-buffers.h"
#include "util.h"

/* The engine that reads several channels with one system call.
 *
 * A read is one "multishot" recvmsg request, which the kernel continues until
 * the socket is empty or the buffers provided for the request are used up.
 * Each read of a call has a group of buffers of its own, with as many buffers
 * as the read wants messages, so that a busy channel takes no more than its
 * turn.  Requests are marked MSG_DONTWAIT, so that the kernel ends a request
 * where it would otherwise wait for more: a request that outlived the call
 * would go on taking messages, which belong to another handler by then.
 *
 * The engine owns the buffers, one for each message of a batch.  A group is a
 * ring that lends buffers to the kernel for the time of a read.  The kernel
 * uses them in order.  A flag in each completion says whether it has used a
 * buffer, and "head" follows the kernel with these flags.  A completion may
 * use a buffer up without a message: with some kernels, such as Linux 6.1, the
 * completion for the empty socket does.  Such a buffer is free at once, like
 * the buffers that the kernel did not use.
 *
 * ENOBUFS has two meanings here: the buffers are used up, or the socket has
 * overrun.  The buffers are used up if the request took as many messages as it
 * had buffers; if both are true, the socket reports the overrun again at the
 * next read.
 *
 * If the kernel accepts no requests at all, although it did when the engine
 * was probed, all reads of the batch fail and the next batch begins with a new
 * ring: the old ring has requests that the kernel never took.
 *
 * The engine needs Linux 6.0. */

#define GROUP_SIZE 64           /* A power of 2, no less than a batch. */

/* The most reads of one call. */
#define N_GROUPS 8

/* The kernel puts the sender's address in front of a message.  The room for
 * the address is a multiple of 8, to keep the message aligned. */
#define SOURCE_SIZE ROUND_UP(sizeof(struct sockaddr_nl), 8)
#define BUFFER_SIZE (UPCALL_MSG_SIZE + SOURCE_SIZE \
                     + sizeof(struct io_uring_recvmsg_out))

/* Entries of the completion queue: one for every buffer and every end of a
 * request, and a few more in case of overruns. */
#define CQ_ENTRIES 1024

/* How often the engine repeats a submission that the kernel refused for a
 * temporary reason: a signal, no memory, or no room for completions, which the
 * engine empties after each attempt. */
#define MAX_TRIES 16

struct group {
    struct io_uring_buf_ring *ring; /* Lent buffers: from 'head' to the
                                     * tail. */
    uint16_t head;              /* Buffers used so far. */
};

/* Buffers, by number. */
struct buffer_list {
    unsigned int n;
    uint16_t buffers[GROUP_SIZE];
};

struct engine_uring {
    struct upcall_engine up;
    struct io_uring ring;
    bool is_open;               /* There is a ring. */
    int error;                  /* Why the ring must not be used, or 0. */
    struct msghdr msg;          /* Requests an address and no control data. */
    struct group groups[N_GROUPS];
    size_t n_groups;            /* Groups that are set up. */

    /* Each buffer is in one of the lists or lent. */
    char *buffers;              /* 'n_buffers' times BUFFER_SIZE. */
    unsigned int n_buffers;
    struct buffer_list free;
    struct buffer_list taken;   /* Buffers with a message of this batch. */
};

static void
buffer_list_push(struct buffer_list *list, uint16_t buffer)
{
    list->buffers[list->n++] = buffer;
}

static uint16_t
buffer_list_pop(struct buffer_list *list)
{
    ovs_assert(list->n > 0);
    return list->buffers[--list->n];
}

static struct engine_uring *
engine_uring_cast(struct upcall_engine *engine)
{
    return CONTAINER_OF(engine, struct engine_uring, up);
}

static size_t
group_ring_size(void)
{
    return GROUP_SIZE * sizeof(struct io_uring_buf);
}

static int
group_init(struct engine_uring *engine, unsigned int id)
{
    struct group *group = &engine->groups[id];
    struct io_uring_buf_reg reg;
    int error;

    group->ring = xmalloc_pagealign(group_ring_size());
    memset(group->ring, 0, group_ring_size());
    memset(&reg, 0, sizeof reg);
    reg.ring_addr = (uintptr_t) group->ring;
    reg.ring_entries = GROUP_SIZE;
    reg.bgid = id;
    error = -io_uring_register_buf_ring(&engine->ring, &reg, 0);
    if (error) {
        free_pagealign(group->ring);
        return error;
    }
    group->head = 0;
    return 0;
}

static void
group_uninit(struct engine_uring *engine, unsigned int id)
{
    io_uring_unregister_buf_ring(&engine->ring, id);
    free_pagealign(engine->groups[id].ring);
}

static char *
buffer_data(const struct engine_uring *engine, uint16_t buffer)
{
    return engine->buffers + buffer * BUFFER_SIZE;
}

/* Lends 'n' buffers for a request that is not submitted yet. */
static void
group_lend(struct engine_uring *engine, struct group *group, unsigned int n)
{
    for (unsigned int i = 0; i < n; i++) {
        uint16_t buffer = buffer_list_pop(&engine->free);

        io_uring_buf_ring_add(group->ring, buffer_data(engine, buffer),
                              BUFFER_SIZE, buffer,
                              io_uring_buf_ring_mask(GROUP_SIZE), i);
    }
    io_uring_buf_ring_advance(group->ring, n);
}

/* Takes back the buffers that a request, which has ended, did not use. */
static void
group_take_back(struct engine_uring *engine, struct group *group)
{
    uint16_t n = group->ring->tail - group->head;

    for (uint16_t i = 0; i < n; i++) {
        uint16_t slot = (group->head + i) % GROUP_SIZE;

        buffer_list_push(&engine->free, group->ring->bufs[slot].bid);
    }

    /* No request is under way, so the kernel does not look at the tail now. */
    io_uring_buf_ring_advance(group->ring, -n);
}

/* Closes the ring, if there is one, and takes back the buffers lent to it. */
static void
ring_close(struct engine_uring *engine)
{
    if (engine->is_open) {
        while (engine->n_groups) {
            group_uninit(engine, --engine->n_groups);
        }
        io_uring_queue_exit(&engine->ring);
        engine->is_open = false;
    }
    engine->free.n = engine->taken.n = 0;
    for (unsigned int i = 0; i < engine->n_buffers; i++) {
        buffer_list_push(&engine->free, i);
    }
}

/* Opens a ring.  Returns 0 or a positive errno value; then there is none. */
static int
ring_open(struct engine_uring *engine)
{
    struct io_uring_params params = {
        .flags = IORING_SETUP_CQSIZE, .cq_entries = CQ_ENTRIES,
    };
    int error;

    error = -io_uring_queue_init_params(N_GROUPS, &engine->ring, &params);
    if (error) {
        return error;
    }
    engine->is_open = true;
    for (; engine->n_groups < N_GROUPS; engine->n_groups++) {
        error = group_init(engine, engine->n_groups);
        if (error) {
            ring_close(engine);
            return error;
        }
    }
    return 0;
}

static void
engine_uring_destroy(struct upcall_engine *engine_)
{
    struct engine_uring *engine = engine_uring_cast(engine_);

    ring_close(engine);
    upcall_buffers_unmap(engine->buffers, engine->n_buffers, BUFFER_SIZE);
    free(engine);
}

static int
engine_uring_create__(unsigned int n_msgs, struct upcall_engine **enginep)
{
    char *buffers = upcall_buffers_map(n_msgs, BUFFER_SIZE);
    struct engine_uring *engine;
    int error;

    *enginep = NULL;
    if (!buffers) {
        return errno;
    }
    engine = xzalloc(sizeof *engine);
    engine->up.class = &upcall_engine_uring;
    engine->buffers = buffers;
    engine->n_buffers = n_msgs;
    engine->msg.msg_namelen = SOURCE_SIZE;
    for (unsigned int i = 0; i < n_msgs; i++) {
        buffer_list_push(&engine->free, i);
    }
    error = ring_open(engine);
    if (error) {
        engine_uring_destroy(&engine->up);
        return error;
    }
    *enginep = &engine->up;
    return 0;
}

static void
engine_uring_begin(struct upcall_engine *engine_)
{
    struct engine_uring *engine = engine_uring_cast(engine_);

    while (engine->taken.n) {
        buffer_list_push(&engine->free, buffer_list_pop(&engine->taken));
    }
    if (engine->error) {
        ring_close(engine);
        engine->error = ring_open(engine);
    }
}

/* A read in progress. */
struct request {
    struct upcall_read *read;
    struct upcall_rx *rx;       /* Place for its first message. */
    unsigned int n_provided;    /* Buffers that this request was given. */
    unsigned int n_taken;       /* Messages that it took. */
    bool done;
};

static void
engine_uring_submit(struct engine_uring *engine, struct request *request,
                    unsigned int id)
{
    struct io_uring_sqe *sqe = io_uring_get_sqe(&engine->ring);

    request->n_provided = request->read->max - request->read->n;
    request->n_taken = 0;
    group_lend(engine, &engine->groups[id], request->n_provided);
    io_uring_prep_recvmsg_multishot(sqe, request->read->fd, &engine->msg,
                                    MSG_DONTWAIT);
    sqe->flags |= IOSQE_BUFFER_SELECT;
    sqe->buf_group = id;
    io_uring_sqe_set_data64(sqe, id);
}

/* Returns the netlink port id of the sender of a message, or UINT32_MAX if
 * there is none.  'out' may be NULL. */
static uint32_t
source_of(struct io_uring_recvmsg_out *out)
{
    struct sockaddr_nl addr;

    if (!out || out->namelen < sizeof addr) {
        return UINT32_MAX;
    }
    memcpy(&addr, io_uring_recvmsg_name(out), sizeof addr);
    return addr.nl_pid;
}

/* Takes the message that has arrived in 'buffer'. */
static void
request_take(struct engine_uring *engine, struct request *request,
             uint16_t buffer, const struct io_uring_cqe *cqe)
{
    char *data = buffer_data(engine, buffer);
    struct upcall_rx *rx = &request->rx[request->read->n++];
    struct io_uring_recvmsg_out *out;

    request->n_taken++;
    out = io_uring_recvmsg_validate(data, cqe->res, &engine->msg);
    rx->data = data + sizeof *out + SOURCE_SIZE;
    rx->source = source_of(out);
    rx->truncated = !out || out->flags & MSG_TRUNC;
    rx->len = out ? io_uring_recvmsg_payload_length(out, cqe->res,
                                                    &engine->msg) : 0;
}

/* Notes that a request has ended with 'error'. */
static void
request_end(struct engine_uring *engine, struct request *request,
            unsigned int id, int error)
{
    struct upcall_read *read = request->read;

    request->done = true;
    group_take_back(engine, &engine->groups[id]);
    if (error == ENOBUFS && request->n_taken == request->n_provided) {
        read->empty = false;
    } else if (error == ENOBUFS) {
        if (++read->overruns < UPCALL_OVERRUNS) {
            request->done = false;
            engine_uring_submit(engine, request, id);
        } else {
            read->empty = false;
        }
    } else if (error == EINTR || (!error && read->n < read->max)) {
        request->done = false;
        engine_uring_submit(engine, request, id);
    } else if (!error) {
        read->empty = false;
    } else if (error != EAGAIN) {
        read->error = error;
    }
}

static void
engine_uring_complete(struct engine_uring *engine, struct request *requests,
                      const struct io_uring_cqe *cqe)
{
    unsigned int id = io_uring_cqe_get_data64(cqe);
    struct request *request = &requests[id];
    struct group *group = &engine->groups[id];

    if (cqe->flags & IORING_CQE_F_BUFFER) {
        uint16_t buffer = cqe->flags >> IORING_CQE_BUFFER_SHIFT;

        group->head++;
        if (cqe->res >= 0) {
            buffer_list_push(&engine->taken, buffer);
            request_take(engine, request, buffer, cqe);
        } else {
            buffer_list_push(&engine->free, buffer);
        }
    }
    if (!(cqe->flags & IORING_CQE_F_MORE)) {
        request_end(engine, request, id, cqe->res < 0 ? -cqe->res : 0);
    }
}

static bool
all_done(const struct request *requests, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!requests[i].done) {
            return false;
        }
    }
    return true;
}

/* Ends all requests because the kernel does not accept any. */
static void
fail_all(struct engine_uring *engine, struct request *requests, size_t n,
         int error)
{
    engine->error = error;
    for (size_t i = 0; i < n; i++) {
        if (!requests[i].done) {
            requests[i].read->error = error;
            requests[i].done = true;
        }
    }
}

/* Submits the requests and waits for completions until all requests are done.
 * Returns the number of system calls. */
static unsigned int
engine_uring_carry_out(struct engine_uring *engine, struct request *requests,
                       size_t n_requests)
{
    unsigned int n_calls = 0, n_tries = 0;

    while (!all_done(requests, n_requests)) {
        struct io_uring_cqe *cqe;
        unsigned int head, n = 0;
        int retval;

        n_calls++;
        retval = io_uring_submit_and_wait(&engine->ring, 1);
        io_uring_for_each_cqe (&engine->ring, head, cqe) {
            engine_uring_complete(engine, requests, cqe);
            n++;
        }
        io_uring_cq_advance(&engine->ring, n);

        if (retval >= 0) {
            n_tries = 0;
        } else if (++n_tries >= MAX_TRIES
                   || (retval != -EINTR && retval != -EAGAIN
                       && retval != -EBUSY)) {
            fail_all(engine, requests, n_requests, -retval);
        }
    }
    return n_calls;
}

static unsigned int
engine_uring_read(struct upcall_engine *engine_, struct upcall_read *reads,
                  size_t n_reads, struct upcall_rx *rx)
{
    struct engine_uring *engine = engine_uring_cast(engine_);
    struct request requests[N_GROUPS];
    struct upcall_rx *next = rx;
    unsigned int n_calls;

    ovs_assert(n_reads <= N_GROUPS);
    for (size_t i = 0; i < n_reads; i++) {
        reads[i].n = reads[i].overruns = 0;
        reads[i].error = engine->error;
        reads[i].empty = true;
        requests[i] = (struct request) { .read = &reads[i], .rx = next };
        next += reads[i].max;
    }
    if (engine->error) {
        return 0;
    }
    for (size_t i = 0; i < n_reads; i++) {
        engine_uring_submit(engine, &requests[i], i);
    }
    n_calls = engine_uring_carry_out(engine, requests, n_reads);

    /* Close the gaps: reads may have taken fewer messages than requested. */
    next = rx;
    for (size_t i = 0; i < n_reads; i++) {
        memmove(next, requests[i].rx, reads[i].n * sizeof *next);
        next += reads[i].n;
    }
    return n_calls;
}

/* Checks on a pair of sockets that the kernel does what the engine needs. */
static int
engine_uring_probe(void)
{
    struct upcall_engine *engine;
    struct upcall_rx rx[4];
    struct upcall_read read;
    int fds[2];
    int error;

    error = engine_uring_create__(ARRAY_SIZE(rx), &engine);
    if (error) {
        return error;
    }
    if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
                   fds)) {
        error = errno;
        engine->class->destroy(engine);
        return error;
    }
    for (int i = 0; i < 3; i++) {
        char c = i;

        ovs_compat_ignore(send(fds[0], &c, sizeof c, 0));
    }
    read = (struct upcall_read) { .fd = fds[1], .max = 2 };
    engine->class->read(engine, &read, 1, rx);
    error = read.error;
    if (!error && (read.n != 2 || read.empty || rx[1].len != 1
                   || *(char *) rx[1].data != 1)) {
        error = EOPNOTSUPP;
    }
    if (!error) {
        read = (struct upcall_read) { .fd = fds[1], .max = 2 };
        engine->class->read(engine, &read, 1, rx);
        if (read.n != 1 || !read.empty) {
            error = EOPNOTSUPP;
        }
    }
    close(fds[0]);
    close(fds[1]);
    engine->class->destroy(engine);
    return error;
}

static int
engine_uring_create(unsigned int n_msgs, struct upcall_engine **enginep)
{
    *enginep = NULL;
    if (n_msgs > GROUP_SIZE) {
        return EINVAL;
    }
    return engine_uring_create__(n_msgs, enginep);
}

const struct upcall_engine_class upcall_engine_uring = {
    .name = "io_uring",
    .together = true,
    .probe = engine_uring_probe,
    .create = engine_uring_create,
    .destroy = engine_uring_destroy,
    .begin = engine_uring_begin,
    .read = engine_uring_read,
};
