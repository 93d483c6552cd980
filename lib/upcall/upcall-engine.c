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
    char *buffers = map_buffers(n_msgs * UPCALL_MSG_SIZE);
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
        engine->iovs[i].iov_base = buffers + i * UPCALL_MSG_SIZE;
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
    munmap(engine->buffers, engine->n_msgs * UPCALL_MSG_SIZE);
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
 * Each message is one recvmsg request.  The requests are marked MSG_DONTWAIT,
 * so the kernel carries each one out as it takes it, in order, and none
 * outlives the call: it would take a message that belongs to another handler
 * by then.  A request that finds the socket empty costs about half a
 * microsecond.  So where few messages are expected, there are few requests,
 * and recvmmsg() reads the rest if there is one.
 *
 * If the kernel accepts no requests at all, although it did when the engine
 * was probed, the reads fail, and the next batch begins with a new ring: the
 * old ring has requests that the kernel never took.
 *
 * IORING_SETUP_SUBMIT_ALL needs Linux 5.18. */

static void
ring_close(struct engine *engine)
{
    if (engine->is_open) {
        io_uring_queue_exit(&engine->ring);
        engine->is_open = false;
    }
}

/* Opens a ring with room for a request for each message.  Sets
 * 'engine->error'. */
static void
ring_open(struct engine *engine)
{
    struct io_uring_params params = { .flags = IORING_SETUP_SUBMIT_ALL };

    engine->error = -io_uring_queue_init_params(engine->n_msgs, &engine->ring,
                                                &params);
    engine->is_open = !engine->error;
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

/* The number of requests for 'read'. */
static unsigned int
n_requests(const struct upcall_read *read)
{
    /* One more finds the socket empty. */
    return (read->expected ? MIN(read->expected + 1, read->max) : read->max);
}

/* Prepares the requests of 'read', whose first message is in place 'first'. */
static void
engine_uring_prepare(struct engine *engine, const struct upcall_read *read,
                     unsigned int first)
{
    for (unsigned int i = 0; i < n_requests(read); i++) {
        struct mmsghdr *msg = &engine->msgs[first + i];
        struct io_uring_sqe *sqe = io_uring_get_sqe(&engine->ring);

        msg->msg_len = -ECANCELED;
        io_uring_prep_recvmsg(sqe, read->fd, &msg->msg_hdr, MSG_DONTWAIT);
        io_uring_sqe_set_data64(sqe, first + i);
    }
}

/* Submits the 'n' requests that are prepared, and stores their results as
 * 'msg_len'.  Returns the number of system calls. */
static unsigned int
engine_uring_submit(struct engine *engine, unsigned int n)
{
    unsigned int n_calls = 0, n_tries = 0;

    while (n && !engine->error) {
        int retval = io_uring_submit_and_wait(&engine->ring, 1);
        struct io_uring_cqe *cqe;
        unsigned int head, n_cqes = 0;

        n_calls++;
        io_uring_for_each_cqe (&engine->ring, head, cqe) {
            engine->msgs[io_uring_cqe_get_data64(cqe)].msg_len = cqe->res;
            n_cqes++;
        }
        io_uring_cq_advance(&engine->ring, n_cqes);
        n -= n_cqes;

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

/* Accounts for the requests of 'read', whose first message is in place
 * 'first', and reads the rest, if there are more messages than expected.
 * Returns the number of system calls that it made. */
static unsigned int
engine_uring_complete(struct engine *engine, struct upcall_read *read,
                      unsigned int first)
{
    for (unsigned int i = 0; i < n_requests(read); i++) {
        int result = engine->msgs[first + i].msg_len;

        read->empty = result == -EAGAIN;
        if (result >= 0) {
            swap_msgs(engine, first + read->n++, first + i);
        } else if (result == -ENOBUFS) {
            read->overruns++;
        } else if (result == -ECANCELED) {
            read->error = engine->error;
        } else if (result != -EAGAIN) {
            read->error = -result;
        }
    }
    return (read->n == n_requests(read) && read->n < read->max
            ? engine_recv(engine, read, first) : 0);
}

static unsigned int
engine_uring_read(struct upcall_engine *engine_, struct upcall_read *reads,
                  size_t n_reads, struct upcall_rx *rx)
{
    struct engine *engine = engine_cast(engine_);
    unsigned int first = engine->n_used, n = 0;
    unsigned int n_calls;

    for (size_t i = 0; i < n_reads; i++) {
        read_init(&reads[i]);
        reads[i].error = engine->error;
        if (!engine->error) {
            engine_uring_prepare(engine, &reads[i], first);
            first += reads[i].max;
            n += n_requests(&reads[i]);
        }
    }
    n_calls = engine_uring_submit(engine, n);
    first = engine->n_used;
    for (size_t i = 0; n && i < n_reads; i++) {
        n_calls += engine_uring_complete(engine, &reads[i], first);
        rx = engine_take(engine, &reads[i], first, rx);
        first += reads[i].max;
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
