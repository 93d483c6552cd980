/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "fake/uring-fake.h"

#include <liburing.h>
#include <stdint.h>
#include <stdlib.h>

static struct {
    enum unit_uring_call call;
    unsigned int nth, count;
    int error;
    unsigned int n_failed;
} plan;

void
unit_uring_fail(enum unit_uring_call call, unsigned int nth,
                unsigned int count, int error)
{
    plan.call = call;
    plan.nth = nth;
    plan.count = count;
    plan.error = error;
    plan.n_failed = 0;
}

unsigned int
unit_uring_n_failed(void)
{
    return plan.n_failed;
}

/* Returns the error of a call of 'call', or 0. */
static int
failure(enum unit_uring_call call)
{
    if (!plan.count || plan.call != call || --plan.nth) {
        return 0;
    }
    plan.nth = 1;
    plan.count--;
    plan.n_failed++;
    return plan.error;
}

int __wrap_io_uring_queue_init_params(unsigned int, struct io_uring *,
                                      struct io_uring_params *);
int __real_io_uring_queue_init_params(unsigned int, struct io_uring *,
                                      struct io_uring_params *);
int
__wrap_io_uring_queue_init_params(unsigned int n, struct io_uring *ring,
                                  struct io_uring_params *params)
{
    int error = failure(UNIT_URING_SETUP);

    return error ? -error : __real_io_uring_queue_init_params(n, ring, params);
}

int __wrap_io_uring_register_buf_ring(struct io_uring *,
                                      struct io_uring_buf_reg *, unsigned int);
int __real_io_uring_register_buf_ring(struct io_uring *,
                                      struct io_uring_buf_reg *, unsigned int);
int
__wrap_io_uring_register_buf_ring(struct io_uring *ring,
                                  struct io_uring_buf_reg *reg,
                                  unsigned int flags)
{
    int error = failure(UNIT_URING_REGISTER);

    return error ? -error : __real_io_uring_register_buf_ring(ring, reg,
                                                              flags);
}

int __wrap_io_uring_submit_and_wait(struct io_uring *, unsigned int);
int __real_io_uring_submit_and_wait(struct io_uring *, unsigned int);
int
__wrap_io_uring_submit_and_wait(struct io_uring *ring, unsigned int n)
{
    int error = failure(UNIT_URING_SUBMIT);
    struct io_uring_cqe *cqe;
    unsigned int head;
    int retval;

    if (!n) {
        abort();                /* The caller would spin. */
    }
    if (error) {
        return -error;
    }
    if (failure(UNIT_URING_NOTHING)) {
        return 0;
    }
    if (failure(UNIT_URING_REQUEST)) {
        for (unsigned int i = ring->sq.sqe_head; i != ring->sq.sqe_tail; i++) {
            ring->sq.sqes[i & *ring->sq.kring_mask].opcode = UINT8_MAX;
        }
    }
    retval = __real_io_uring_submit_and_wait(ring, n);
    if (failure(UNIT_URING_SHORT)) {
        io_uring_for_each_cqe (ring, head, cqe) {
            cqe->res = cqe->res > 1 ? 1 : cqe->res;
        }
    }
    error = failure(UNIT_URING_NO_MESSAGE);
    if (error && !io_uring_peek_cqe(ring, &cqe)) {
        cqe->res = -error;
    }
    return retval;
}
