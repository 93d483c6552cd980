/* SPDX-License-Identifier: Apache-2.0 */

#ifndef UNIT_FALLBACK_FIXTURE_H
#define UNIT_FALLBACK_FIXTURE_H 1

/* What receives the upcalls of a datapath, on a kernel that refuses what a
 * test says.
 *
 * The linker sends the calls that look for io_uring here (--wrap), and those
 * that tell the kernel where to send upcalls, behind which there is a datapath
 * of one port. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dpif-netlink/datapath.h"
#include "harness/unit.h"
#include "nl/ovs-genl.h"

#define PORT 1

/* Error that the next such call fails with, or 0. */
extern int set_features_error;

/* The same of all such calls. */
extern int set_pid_error;
extern int epoll_create_error;

/* The same of all that change the features; those with sockets of CPUs pass if
 * 'kernel.takes_cpu_pids'. */
extern int no_features_error;

/* The datapath in the kernel. */
struct fallback_kernel {
    uint32_t features;
    uint32_t lacks;             /* Features that it ignores. */
    unsigned int n_requests;    /* To change the features. */
    bool takes_cpu_pids;
    uint32_t cpu_pid;           /* Socket of the first CPU, */
    uint32_t cpu_pids[16];      /* and of as many as fit. */
    size_t n_cpu_pids;
    struct ovs_vport vport;
    uint32_t pids[UPCALL_MAX_QUEUES];   /* All of the vport's. */
    size_t max_pids;            /* The most that it may have; 0 for any. */
    unsigned int n_set_pids;    /* Requests for other ones. */
    bool announcements_lost;

    /* What the table of ports says. */
    int list_error, get_error;  /* Positive errno values or 0. */
    unsigned int n_lists;
    uint32_t gone[4];           /* Ports that have gone, */
    size_t n_gone;              /* and their number. */
    unsigned int n_outdated;    /* Times that the bridge was told of one. */
};
extern struct fallback_kernel kernel;

struct fixture {
    size_t n_fds;
    struct kdp_datapath dp;
    int sender;
    uint64_t seq;
};

/* Returns what was logged since the last time, which the caller frees. */
char *read_log(void);

/* Checks that 'message', and no other warning, was logged. */
void check_log(const char *message);
int setup(void **state);
int teardown(void **state);

/* Makes the kernel one before Linux 5.15. */
void forget_per_cpu(struct fixture *f);

/* Turns upcalls on, and lets the bridge add its ports. */
void start(struct fixture *f);
void set_config(struct fixture *f, const char *key, const char *value);

/* A turn of the main loop, a second after the last one.  Returns true if flows
 * are to be revalidated. */
bool turn(struct fixture *f);

/* True if the main loop runs again within 'msec' ms, whatever happens. */
bool wakes_within(struct fixture *f, long long int msec);

/* The revalidators go through the flows until what was in hand is done. */
void revalidators_run(struct fixture *f);

/* The main loop turns for a while: ports are compared, and what is no longer
 * used goes. */
void run(struct fixture *f);
void check_upcalls_come(struct fixture *f, uint32_t pid);
const char *dispatch_of(struct fixture *f);

/* Checks that the kernel dispatches by port, to sockets that are read. */
void check_per_port(struct fixture *f);
void check_engine(struct fixture *f, const char *name);

/* Initializes the program, whose log the test reads. */
void fallback_init(const char *program);

#endif
