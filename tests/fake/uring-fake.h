/* SPDX-License-Identifier: Apache-2.0 */

#ifndef FAKE_URING_FAKE_H
#define FAKE_URING_FAKE_H 1

/* An io_uring that fails
 * ======================
 *
 * For programs that are linked with $(unit_uring_wrap), which sends the calls
 * of liburing here.
 *
 * The header of liburing is not included, as it cannot be used together with
 * Open vSwitch's atomics for every compiler. */

enum unit_uring_call {
    UNIT_URING_SETUP,           /* Making a ring. */
    UNIT_URING_REGISTER,        /* Giving it buffers. */
    UNIT_URING_SUBMIT,          /* Submitting requests: none is taken. */
    UNIT_URING_REQUEST,         /* The same: all are taken, and the kernel does
                                 * not know what they ask for (EINVAL). */
    UNIT_URING_SHORT,           /* The same: messages come, and the kernel says
                                 * that they are too short for their
                                 * header. */
    UNIT_URING_NO_MESSAGE,      /* The same: the first message does not come;
                                 * the kernel gives back its buffer, and the
                                 * error. */
    UNIT_URING_NOTHING          /* Waiting: it ends at once, no error, and
                                 * nothing was submitted or completed. */
};

/* Calls of 'call' number 'nth' (from 1) to 'nth' + 'count' - 1 fail with
 * 'error', a positive errno value.  A 'count' of 0 ends it. */
void unit_uring_fail(enum unit_uring_call call, unsigned int nth,
                     unsigned int count, int error);

/* Calls that failed since then. */
unsigned int unit_uring_n_failed(void);

#endif /* tests/fake/uring-fake.h */
