/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "upcall/upcall-engine.h"

#include <errno.h>
#include <liburing.h>
#include <linux/netlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "ovs/compat-daemon.h"
#include "util.h"

/* The most reads of one call of the engine "io_uring". */
#define N_GROUPS 8

/* A power of 2, no less than a batch. */
#define GROUP_SIZE 64

/* Entries of the completion queue: one for every message and every end of a
 * request, and a few more in case of overruns. */
#define CQ_ENTRIES 1024

/* The engine "io_uring" finds this in front of a message: a header and the
 * sender's address.  A multiple of 8, to keep the message aligned. */
#define SOURCE_SIZE ROUND_UP(sizeof(struct sockaddr_nl), 8)
#define HEADER_SIZE (sizeof(struct io_uring_recvmsg_out) + SOURCE_SIZE)
#define BUFFER_SIZE (HEADER_SIZE + UPCALL_MSG_SIZE)

/* How often the engine "io_uring" repeats a submission that the kernel refused
 * for a temporary reason. */
#define MAX_TRIES 16

/* Both engines.  'msgs' has a place for each message of a batch, with a buffer
 * and an address of its own; the first 'n_used' are in use. */
struct engine {
    struct upcall_engine up;
    char *buffers;
    unsigned int n_msgs;        /* Number of buffers. */
    unsigned int n_used;        /* Buffers filled in this batch. */
    struct mmsghdr *msgs;       /* One for each buffer. */
    struct iovec *iovs;
    struct sockaddr_nl *sources;

    /* "io_uring". */
    struct io_uring ring;
    bool is_open;               /* There is a ring. */
    struct io_uring_buf_ring *groups[N_GROUPS]; /* Buffers lent to it. */
    unsigned int n_groups;      /* Groups that are set up. */
    struct msghdr msg;          /* Requests an address and no control data. */
    int error;                  /* Why the ring must not be used, or 0. */
};

static struct engine *
engine_cast(struct upcall_engine *engine)
{
    return CONTAINER_OF(engine, struct engine, up);
}

/* Maps 'size' bytes for messages, or returns NULL with errno set.
 *
 * Nearly all of the buffers' pages are never touched, because most upcalls are
 * small.  With huge pages, memory would back them nevertheless, 4 MB for each
 * handler, because the first page of each buffer is used.
 *
 * Under --mlockall the kernel backs a mapping with memory at once, 5 MB for
 * each handler, unless the mapping cannot be accessed.  So the buffers are
 * mapped without access, and get access after they are unlocked. */
static void *
map_buffers(size_t size)
{
    void *buffers = mmap(NULL, size, PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (buffers == MAP_FAILED) {
        return NULL;
    }

    /* Fails where the kernel has no huge pages. */
    madvise(buffers, size, MADV_NOHUGEPAGE);
    if (ovs_compat_memory_locked()) {
        munlock(buffers, size);
    }
    if (mprotect(buffers, size, PROT_READ | PROT_WRITE)) {
        munmap(buffers, size);
        return NULL;
    }
    return buffers;
}

static int
engine_create(const struct upcall_engine_class *class, unsigned int n_msgs,
              struct engine **enginep)
{
    char *buffers = map_buffers(n_msgs * BUFFER_SIZE);
    struct engine *engine;

    if (!buffers) {
        return errno;
    }
    engine = xzalloc(sizeof *engine);
    engine->up.class = class;
    engine->buffers = buffers;
    engine->n_msgs = n_msgs;
    engine->msgs = xcalloc(n_msgs, sizeof *engine->msgs);
    engine->iovs = xcalloc(n_msgs, sizeof *engine->iovs);
    engine->sources = xcalloc(n_msgs, sizeof *engine->sources);
    for (unsigned int i = 0; i < n_msgs; i++) {
        engine->iovs[i].iov_base = buffers + i * BUFFER_SIZE + HEADER_SIZE;
        engine->iovs[i].iov_len = UPCALL_MSG_SIZE;
        engine->msgs[i].msg_hdr.msg_iov = &engine->iovs[i];
        engine->msgs[i].msg_hdr.msg_iovlen = 1;

        /* The kernel writes the length of a netlink address, always the
         * same. */
        engine->msgs[i].msg_hdr.msg_name = &engine->sources[i];
        engine->msgs[i].msg_hdr.msg_namelen = sizeof *engine->sources;
    }
    *enginep = engine;
    return 0;
}

static void
engine_destroy(struct engine *engine)
{
    munmap(engine->buffers, engine->n_msgs * BUFFER_SIZE);
    free(engine->msgs);
    free(engine->iovs);
    free(engine->sources);
    free(engine);
}

static void
read_init(struct upcall_read *read)
{
    read->n = read->overruns = 0;
    read->error = 0;
    read->empty = true;
}

/* Accounts for 'error' of an attempt to read.  Returns true if 'read' should
 * try again. */
static bool
read_fail(struct upcall_read *read, int error)
{
    if (error == ENOBUFS && ++read->overruns >= UPCALL_OVERRUNS) {
        read->empty = false;
        return false;
    } else if (error == ENOBUFS || error == EINTR) {
        return true;
    }
    read->error = error == EAGAIN ? 0 : error;
    return false;
}

/* Carries out the rest of 'read', whose first message is in place 'first'.
 * Returns the number of system calls. */
static unsigned int
engine_recv(struct engine *engine, struct upcall_read *read,
            unsigned int first)
{
    unsigned int n_calls = 0;
    int n;

    do {
        n = recvmmsg(read->fd, &engine->msgs[first + read->n],
                     read->max - read->n, MSG_DONTWAIT, NULL);
        n_calls++;
    } while (n < 0 && read_fail(read, errno));
    if (n >= 0) {
        /* With fewer messages than requested, another attempt would fail with
         * EAGAIN, or with a new error, which the socket keeps. */
        read->n += n;
        read->empty = read->n < read->max;
    }
    return n_calls;
}

static void
swap_msgs(struct engine *engine, unsigned int a, unsigned int b)
{
    struct mmsghdr tmp = engine->msgs[a];

    engine->msgs[a] = engine->msgs[b];
    engine->msgs[b] = tmp;
}

/* Stores the messages of 'read', which are in places from 'first' on, in
 * 'rx', and moves them to the places in use.  Returns the end of 'rx'. */
static struct upcall_rx *
engine_take(struct engine *engine, const struct upcall_read *read,
            unsigned int first, struct upcall_rx *rx)
{
    for (unsigned int i = 0; i < read->n; i++) {
        const struct mmsghdr *msg = &engine->msgs[engine->n_used];
        const struct sockaddr_nl *source;

        swap_msgs(engine, engine->n_used++, first + i);
        source = msg->msg_hdr.msg_name;
        rx->data = msg->msg_hdr.msg_iov->iov_base;
        rx->source = source->nl_pid;
        rx->len = msg->msg_len;
        rx->truncated = msg->msg_hdr.msg_flags & MSG_TRUNC;
        rx++;
    }
    return rx;
}

/* "epoll": needs only recvmmsg(). */

static int
engine_epoll_create(unsigned int n_msgs, struct upcall_engine **enginep)
{
    struct engine *engine;
    int error = engine_create(&upcall_engine_epoll, n_msgs, &engine);

    *enginep = error ? NULL : &engine->up;
    return error;
}

static void
engine_epoll_destroy(struct upcall_engine *engine)
{
    engine_destroy(engine_cast(engine));
}

static void
engine_epoll_begin(struct upcall_engine *engine)
{
    engine_cast(engine)->n_used = 0;
}

static unsigned int
engine_epoll_read(struct upcall_engine *engine_, struct upcall_read *reads,
                  size_t n_reads, struct upcall_rx *rx)
{
    struct engine *engine = engine_cast(engine_);
    unsigned int n_calls = 0;

    for (size_t i = 0; i < n_reads; i++) {
        read_init(&reads[i]);
        n_calls += engine_recv(engine, &reads[i], engine->n_used);
        rx = engine_take(engine, &reads[i], engine->n_used, rx);
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

/* "io_uring": reads several channels with one system call.
 *
 * A read is one "multishot" recvmsg request, which the kernel continues until
 * the socket is empty or the buffers lent to the request are used up.  Each
 * read of a call has a group of buffers, with as many buffers as the read
 * wants messages, so that a busy channel takes no more than its turn.
 * Requests are marked MSG_DONTWAIT, so that none outlives the call: it would
 * go on taking messages, which belong to another handler by then.  Where a
 * request ends early, after an overrun, recvmmsg() carries out the rest.
 *
 * The kernel uses the buffers of a group in order, so the n-th buffer is in
 * the n-th place of the read.  It may use one up without a message: with some
 * kernels, such as Linux 6.1, the completion for the empty socket does.
 *
 * ENOBUFS has two meanings: the buffers are used up, or the socket has
 * overrun.  If both are true, the socket reports the overrun again at the next
 * read.
 *
 * If the kernel accepts no requests at all, although it did when the engine
 * was probed, the reads fail, and the next batch begins with a new ring: the
 * old ring has requests that the kernel never took.
 *
 * The engine needs Linux 6.0. */

static size_t
group_ring_size(void)
{
    return GROUP_SIZE * sizeof(struct io_uring_buf);
}

static void
ring_close(struct engine *engine)
{
    while (engine->n_groups) {
        io_uring_unregister_buf_ring(&engine->ring, --engine->n_groups);
        free_pagealign(engine->groups[engine->n_groups]);
    }
    if (engine->is_open) {
        io_uring_queue_exit(&engine->ring);
        engine->is_open = false;
    }
}

/* Opens a ring with all groups.  Sets 'engine->error'. */
static void
ring_open(struct engine *engine)
{
    struct io_uring_params params = {
        .flags = IORING_SETUP_CQSIZE, .cq_entries = CQ_ENTRIES,
    };

    engine->error = -io_uring_queue_init_params(N_GROUPS, &engine->ring,
                                                &params);
    engine->is_open = !engine->error;
    while (!engine->error && engine->n_groups < N_GROUPS) {
        void *group = xmalloc_pagealign(group_ring_size());
        struct io_uring_buf_reg reg = {
            .ring_addr = (uintptr_t) group, .ring_entries = GROUP_SIZE,
            .bgid = engine->n_groups,
        };

        memset(group, 0, group_ring_size());
        engine->error = -io_uring_register_buf_ring(&engine->ring, &reg, 0);
        if (engine->error) {
            free_pagealign(group);
            ring_close(engine);
        } else {
            engine->groups[engine->n_groups++] = group;
        }
    }
}

static void
engine_uring_destroy(struct upcall_engine *engine)
{
    ring_close(engine_cast(engine));
    engine_destroy(engine_cast(engine));
}

static int
engine_uring_create(unsigned int n_msgs, struct upcall_engine **enginep)
{
    struct engine *engine;
    int error = engine_create(&upcall_engine_uring, n_msgs, &engine);

    *enginep = NULL;
    if (!error) {
        ovs_assert(n_msgs <= GROUP_SIZE);
        engine->msg.msg_namelen = SOURCE_SIZE;
        ring_open(engine);
        error = engine->error;
        if (error) {
            engine_uring_destroy(&engine->up);
        } else {
            *enginep = &engine->up;
        }
    }
    return error;
}

static void
engine_uring_begin(struct upcall_engine *engine_)
{
    struct engine *engine = engine_cast(engine_);

    engine->n_used = 0;
    if (engine->error) {
        ring_close(engine);
        ring_open(engine);
    }
}

/* A read in progress. */
struct request {
    struct upcall_read *read;
    unsigned int first;         /* Place of its first message. */
    unsigned int n_used;        /* Buffers used so far. */
    bool more;                  /* recvmmsg() has to carry out the rest. */
    bool done;
};

static void
request_prepare(struct engine *engine, const struct request *request,
                unsigned int id)
{
    struct io_uring_buf_ring *group = engine->groups[id];
    struct io_uring_sqe *sqe = io_uring_get_sqe(&engine->ring);
    unsigned int n = request->read->max;

    for (unsigned int i = 0; i < n; i++) {
        const struct msghdr *hdr = &engine->msgs[request->first + i].msg_hdr;

        io_uring_buf_ring_add(group,
                              (char *) hdr->msg_iov->iov_base - HEADER_SIZE,
                              BUFFER_SIZE, i,
                              io_uring_buf_ring_mask(GROUP_SIZE), i);
    }
    io_uring_buf_ring_advance(group, n);
    io_uring_prep_recvmsg_multishot(sqe, request->read->fd, &engine->msg,
                                    MSG_DONTWAIT);
    sqe->flags |= IOSQE_BUFFER_SELECT;
    sqe->buf_group = id;
    io_uring_sqe_set_data64(sqe, id);
}

/* Takes the message of 'len' bytes, header included, that has arrived in
 * 'place'. */
static void
request_take(struct engine *engine, struct request *request,
             unsigned int place, int len)
{
    struct mmsghdr *msg = &engine->msgs[place];
    char *data = msg->msg_hdr.msg_iov->iov_base;
    struct sockaddr_nl *source = msg->msg_hdr.msg_name;
    struct io_uring_recvmsg_out *out
        = io_uring_recvmsg_validate(data - HEADER_SIZE, len, &engine->msg);

    source->nl_pid = UINT32_MAX;
    msg->msg_hdr.msg_flags = out ? out->flags : MSG_TRUNC;
    msg->msg_len = 0;
    if (out) {
        if (out->namelen >= sizeof *source) {
            memcpy(source, io_uring_recvmsg_name(out), sizeof *source);
        }
        msg->msg_len = io_uring_recvmsg_payload_length(out, len,
                                                       &engine->msg);
    }
    swap_msgs(engine, request->first + request->read->n++, place);
}

/* Notes that 'request' has ended with 'error'. */
static void
request_end(struct request *request, int error)
{
    struct upcall_read *read = request->read;

    request->done = true;
    if (read->n == read->max && (!error || error == ENOBUFS)) {
        read->empty = false;
    } else {
        request->more = !error || read_fail(read, error);
    }
}

/* Returns true if 'cqe' ends one of the 'requests'. */
static bool
engine_uring_complete(struct engine *engine, struct request *requests,
                      const struct io_uring_cqe *cqe)
{
    unsigned int id = io_uring_cqe_get_data64(cqe);
    struct request *request = &requests[id];

    if (cqe->flags & IORING_CQE_F_BUFFER) {
        unsigned int place = request->first + request->n_used++;

        if (cqe->res >= 0) {
            request_take(engine, request, place, cqe->res);
        }
    }
    if (cqe->flags & IORING_CQE_F_MORE) {
        return false;
    }

    /* Take back the buffers that were not used.  No request of the group is
     * under way, so the kernel does not look at the tail now. */
    io_uring_buf_ring_advance(engine->groups[id],
                              -(int) (request->read->max - request->n_used));
    request_end(request, cqe->res < 0 ? -cqe->res : 0);
    return true;
}

/* Submits 'n' requests and waits for completions until all are done, or the
 * ring fails.  Returns the number of system calls. */
static unsigned int
engine_uring_submit(struct engine *engine, struct request *requests, size_t n)
{
    unsigned int n_calls = 0, n_tries = 0;

    while (!engine->error && n) {
        int retval = io_uring_submit_and_wait(&engine->ring, 1);
        struct io_uring_cqe *cqe;
        unsigned int head, n_cqes = 0;

        n_calls++;
        io_uring_for_each_cqe (&engine->ring, head, cqe) {
            n -= engine_uring_complete(engine, requests, cqe);
            n_cqes++;
        }
        io_uring_cq_advance(&engine->ring, n_cqes);

        if (retval >= 0) {
            n_tries = 0;
        } else if (++n_tries >= MAX_TRIES
                   || (retval != -EINTR && retval != -EAGAIN
                       && retval != -EBUSY)) {
            engine->error = -retval;
        }
    }
    return n_calls;
}

static unsigned int
engine_uring_read(struct upcall_engine *engine_, struct upcall_read *reads,
                  size_t n_reads, struct upcall_rx *rx)
{
    struct engine *engine = engine_cast(engine_);
    struct request requests[N_GROUPS];
    unsigned int first = engine->n_used;
    unsigned int n_calls;

    ovs_assert(n_reads <= N_GROUPS);
    for (size_t i = 0; i < n_reads; i++) {
        read_init(&reads[i]);
        requests[i] = (struct request) { .read = &reads[i], .first = first };
        first += reads[i].max;
        if (!engine->error) {
            request_prepare(engine, &requests[i], i);
        }
    }
    n_calls = engine_uring_submit(engine, requests, n_reads);
    for (size_t i = 0; i < n_reads; i++) {
        if (!requests[i].done) {
            reads[i].error = engine->error;
        } else if (requests[i].more) {
            n_calls += engine_recv(engine, &reads[i], requests[i].first);
        }
        rx = engine_take(engine, &reads[i], requests[i].first, rx);
    }
    return n_calls;
}

/* Checks that the kernel accepts and carries out requests. */
static int
engine_uring_probe(void)
{
    struct upcall_read read = { .fd = -1, .max = 1 };
    struct upcall_engine *engine;
    struct upcall_rx rx;
    int error = engine_uring_create(1, &engine);

    if (!error) {
        engine_uring_read(engine, &read, 1, &rx);
        engine_uring_destroy(engine);
        error = read.error == EBADF ? 0 : read.error;
    }
    return error;
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

const struct upcall_engine_class *
upcall_engine_lookup(const char *name)
{
    static const struct upcall_engine_class *const classes[] = {
        &upcall_engine_epoll, &upcall_engine_uring,
    };

    for (size_t i = 0; i < ARRAY_SIZE(classes); i++) {
        if (!strcmp(classes[i]->name, name)) {
            return classes[i];
        }
    }
    return NULL;
}
