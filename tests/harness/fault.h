/* SPDX-License-Identifier: Apache-2.0 */

#ifndef HARNESS_FAULT_H
#define HARNESS_FAULT_H 1

/* Calls that are made to fail
 * ===========================
 *
 * The linker sends calls of the code under test to functions of the test
 * (--wrap), which fail by a plan.  There is one plan at a time, for calls of
 * one kind.
 *
 * The wrappers of functions that open and set up sockets are here.  A program
 * with them adds $(unit_fault_wrap) to its LDFLAGS.  A test defines other
 * wrappers with UNIT_WRAP, and adds --wrap for each.
 *
 * Thread safety: any thread may call all functions at any time.  The plan is
 * for the calls of all threads.  A test that counts calls makes sure that no
 * other thread makes them meanwhile. */

#include <stdbool.h>

enum unit_call {
    /* Wrapped here. */
    UNIT_CALL_SOCKET,           /* mnl_socket_open2() */
    UNIT_CALL_BIND,             /* mnl_socket_bind() */
    UNIT_CALL_MNL_SETSOCKOPT,   /* mnl_socket_setsockopt() */
    UNIT_CALL_SETSOCKOPT,

    /* Wrapped by tests. */
    UNIT_CALL_EPOLL_CREATE,
    UNIT_CALL_EPOLL_CTL,
    UNIT_CALL_EVENTFD,
    UNIT_CALL_FOPEN,
    UNIT_CALL_GETRLIMIT,
    UNIT_CALL_GETSOCKOPT,
    UNIT_CALL_IOCTL,
    UNIT_CALL_MMAP,
    UNIT_CALL_OPEN,
    UNIT_CALL_OPENAT,
    UNIT_CALL_QDISC,
    UNIT_CALL_RECVMMSG,
    UNIT_CALL_RECVMSG,
    UNIT_CALL_SENDTO,
    UNIT_CALL_SETRLIMIT,
    UNIT_CALL_STATS,
    UNIT_N_CALLS                /* Never fails. */
};

/* From now on, call number 'nth' (from 1) of 'which' and the next ones,
 * 'count' in all, fail with 'error', a positive errno value. */
void unit_plan_failures(enum unit_call which, unsigned int nth,
                        unsigned int count, int error);

/* Lets all calls pass. */
void unit_plan_none(void);

/* Number of calls that the plan made fail. */
unsigned int unit_n_failed(void);

/* True if a call of 'which' that is being made is to fail, and sets errno. */
bool unit_fails(enum unit_call which);

/* Defines the wrapper of function NAME.  CALL is its kind, FAILURE the result
 * of a failed call. */
#define UNIT_WRAP(RETURN, NAME, PARAMS, ARGS, CALL, FAILURE)            \
    RETURN __wrap_##NAME PARAMS;                                        \
    RETURN __real_##NAME PARAMS;                                        \
    RETURN __wrap_##NAME PARAMS                                         \
    {                                                                   \
        return unit_fails(CALL) ? FAILURE : __real_##NAME ARGS;         \
    }

#endif /* tests/harness/fault.h */
