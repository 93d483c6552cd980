/* SPDX-License-Identifier: Apache-2.0 */

/* The offload engine, on top of a kernel datapath and a tc in memory: what a
 * handler pays to add flows, how many get into tc in a second, and how long it
 * takes.  Beside it a handler that does everything itself: puts the flow into
 * the kernel, then into tc, and deletes it from the kernel. */

#include <config.h>
#include "modules.h"

#include <inttypes.h>
#include <stdlib.h>

#include "fake/offload-fake.h"
#include "offload/offload-info.h"
#include "offload/offload.h"
#include "util.h"

/* Flows that a handler puts at once. */
#define BATCH 50

/* Ports, to have work for all threads. */
#define N_PORTS 64

struct bench {
    struct offload_fake *fake;
    struct offload *offload;
    struct offload_desc **descs;
    unsigned int n;
};

static void
bench_init(struct bench *bench, unsigned int n, unsigned int n_threads)
{
    struct offload_config config = OFFLOAD_CONFIG_DEFAULT;
    struct offload_kernel kernel;
    struct offload_backend backend;

    bench->fake = offload_fake_create();
    kernel = offload_fake_kernel(bench->fake);
    backend = offload_fake_backend(bench->fake);
    config.n_threads = n_threads;
    bench->offload = offload_create(&kernel, &backend, &config);
    for (uint32_t i = 0; i < N_PORTS; i++) {
        offload_port_add(bench->offload, i);
    }
    offload_barrier(bench->offload);
    bench->n = n;
    bench->descs = xcalloc(n, sizeof *bench->descs);
    for (unsigned int i = 0; i < n; i++) {
        struct offload_desc proto = {
            .ufid = { .u64 = { .lo = i, .hi = 1 } },
            .in_port = i % N_PORTS,
            .key = &i,
            .key_len = sizeof i,
        };

        bench->descs[i] = offload_desc_create(&proto);
    }
}

static void
bench_uninit(struct bench *bench)
{
    if (offload_fake_count(bench->fake, true) != bench->n
        || offload_fake_count(bench->fake, false)) {
        ovs_fatal(0, "flows are not in tc, or not only there");
    }
    offload_destroy(bench->offload);
    for (unsigned int i = 0; i < bench->n; i++) {
        offload_desc_unref(bench->descs[i]);
    }
    free(bench->descs);
    offload_fake_destroy(bench->fake);
}

/* Puts flows from 'from' to 'to' - 1. */
static void
put(struct bench *bench, unsigned int from, unsigned int to)
{
    struct offload_op ops_[BATCH], *ops[BATCH];
    size_t n;

    for (; from < to; from += n) {
        n = MIN(to - from, BATCH);
        for (size_t i = 0; i < n; i++) {
            ops_[i] = (struct offload_op) {
                .type = OFFLOAD_PUT,
                .flags = OFFLOAD_PUT_CREATE,
                .desc = bench->descs[from + i],
            };
            ops[i] = &ops_[i];
        }
        offload_operate(bench->offload, ops, n);
    }
}

static void
copy_all(struct bench *bench, bool tc, enum offload_copy_type type,
         unsigned int from, size_t n)
{
    struct offload_kernel kernel = offload_fake_kernel(bench->fake);
    struct offload_backend backend = offload_fake_backend(bench->fake);
    struct offload_copy_op ops_[BATCH], *ops[BATCH];

    for (size_t i = 0; i < n; i++) {
        ops_[i] = (struct offload_copy_op) {
            .type = type,
            .flags = OFFLOAD_PUT_CREATE,
            .desc = bench->descs[from + i],
            .ufid = bench->descs[from + i]->ufid,
        };
        ops[i] = &ops_[i];
    }
    if (tc) {
        backend.operate(backend.aux, ops, n);
    } else {
        kernel.operate(kernel.aux, ops, n);
    }
}

/* Puts all flows into the kernel and on into tc, all in this thread. */
static void
put_synchronously(struct bench *bench)
{
    for (unsigned int from = 0; from < bench->n; from += BATCH) {
        size_t n = MIN(bench->n - from, BATCH);

        copy_all(bench, false, OFFLOAD_COPY_PUT, from, n);
        copy_all(bench, true, OFFLOAD_COPY_PUT, from, n);
        copy_all(bench, false, OFFLOAD_COPY_DEL, from, n);
    }
}

static void
bench_put(const char *pattern, unsigned int n, unsigned int usec,
          bool synchronous)
{
    struct bench bench;
    uint64_t start, elapsed;

    bench_init(&bench, n, 1);
    offload_fake_set_delay(bench.fake, usec, usec);
    start = now();
    if (synchronous) {
        put_synchronously(&bench);
    } else {
        put(&bench, 0, n);
    }
    elapsed = now() - start;
    offload_fake_set_delay(bench.fake, 0, 0);
    offload_barrier(bench.offload);
    bench_uninit(&bench);
    report("engine", pattern, synchronous ? "in the handler" : "ovs-kdp", 1,
           "us", elapsed / 1e3 / n);
}

/* All at once. */
static void
bench_insertions(unsigned int n, unsigned int usec, unsigned int n_threads)
{
    struct bench bench;
    uint64_t start;

    bench_init(&bench, n, n_threads);
    offload_fake_set_delay(bench.fake, usec, usec);
    start = now();
    put(&bench, 0, n);
    offload_barrier(bench.offload);
    report("engine", "insertions", "ovs-kdp", n_threads, "per ms",
           n * 1e6 / (now() - start));
    bench_uninit(&bench);
}

/* One flow at a time. */
static void
bench_idle(unsigned int n)
{
    struct offload_engine_info info;
    struct bench bench;

    bench_init(&bench, n, 1);
    for (unsigned int i = 0; i < n; i++) {
        put(&bench, i, i + 1);
        offload_barrier(bench.offload);
    }
    offload_get_info(bench.offload, &info);
    report("engine", "idle", "ovs-kdp", 1, "us", info.total.cumulative.mean);
    bench_uninit(&bench);
}

void
bench_engine(const struct settings *settings)
{
    for (unsigned int round = 0; round < settings->rounds; round++) {
        for (int i = 0; i < 2; i++) {
            bool synchronous = (i + round) % 2;

            bench_put("put", settings->n_flows, 0, synchronous);
            bench_put("put_slow", BATCH / 10, 10000, synchronous);
        }
        bench_idle(settings->n_flows / 10);
        for (unsigned int n = 1; n <= 4; n *= 2) {
            bench_insertions(settings->n_flows / 10, 100, n);
        }
    }
}
