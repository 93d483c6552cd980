/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "modules.h"

#include <errno.h>
#include <getopt.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "openvswitch/util.h"
#include "util.h"

uint64_t
now(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * UINT64_C(1000000000) + ts.tv_nsec;
}

static cpu_set_t cpus;

void
bind_to_cpu(unsigned int n)
{
    unsigned int skip = n % CPU_COUNT(&cpus);

    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, &cpus) && !skip--) {
            cpu_set_t set;

            CPU_ZERO(&set);
            CPU_SET(cpu, &set);
            if (sched_setaffinity(0, sizeof set, &set)) {
                ovs_fatal(errno, "binding a thread to CPU %d failed", cpu);
            }
            return;
        }
    }
}

/* Looks before the CPU is yielded: about a microsecond. */
#define SPINS 64

void
idle(unsigned int attempt)
{
    if (attempt >= SPINS) {
        sched_yield();
    } else {
#if defined(__x86_64__) || defined(__i386__)
        __builtin_ia32_pause();
#endif
    }
}

void
report(const char *test, const char *pattern, const char *module,
       unsigned int n_threads, const char *unit, double value)
{
    printf("{\"test\": \"%s\", \"pattern\": \"%s\", \"module\": \"%s\", "
           "\"threads\": %u, \"unit\": \"%s\", \"value\": %.6g}\n",
           test, pattern, module, n_threads, unit, value);
    fflush(stdout);
}

static unsigned int
number(const char *text, const char *option)
{
    unsigned int value;

    if (!str_to_uint(text, 10, &value) || !value || value > 100000000) {
        ovs_fatal(0, "--%s: \"%s\" is not a number from 1 to 100000000",
                  option, text);
    }
    return value;
}

int
main(int argc, char *argv[])
{
    struct settings settings = {
        .rounds = 11,
        .n_ids = 1000000,
        .n_nodes = 8192,
        .n_pings = 400,
        .n_folds = 500,
        .n_flows = 5000,
    };
    static const struct option options[] = {
        { "rounds", required_argument, NULL, 'r' },
        { "ids", required_argument, NULL, 'i' },
        { "nodes", required_argument, NULL, 'n' },
        { "pings", required_argument, NULL, 'p' },
        { "folds", required_argument, NULL, 'f' },
        { "flows", required_argument, NULL, 'F' },
        { "only", required_argument, NULL, 'o' },
        { NULL, 0, NULL, 0 },
    };
    const char *only = NULL;
    int option, index;

    set_program_name(argv[0]);
    while ((option = getopt_long(argc, argv, "", options, &index)) >= 0) {
        switch (option) {
        case 'r': settings.rounds = number(optarg, "rounds"); break;
        case 'i': settings.n_ids = number(optarg, "ids"); break;
        case 'n': settings.n_nodes = number(optarg, "nodes"); break;
        case 'p': settings.n_pings = number(optarg, "pings"); break;
        case 'f': settings.n_folds = number(optarg, "folds"); break;
        case 'F': settings.n_flows = number(optarg, "flows"); break;
        case 'o': only = optarg; break;
        default: exit(EXIT_FAILURE);
        }
    }
    if (sched_getaffinity(0, sizeof cpus, &cpus)) {
        ovs_fatal(errno, "asking for the CPUs failed");
    }
    if (!only || !strcmp(only, "ids")) {
        bench_ids(&settings);
    }
    if (!only || !strcmp(only, "queue")) {
        bench_queues(&settings);
    }
    if (!only || !strcmp(only, "fold")) {
        bench_fold(&settings);
    }
    if (!only || !strcmp(only, "engine")) {
        bench_engine(&settings);
    }
    return EXIT_SUCCESS;
}
