/* SPDX-License-Identifier: Apache-2.0 */

/* The pool of ids. */

#include <config.h>
#include "offload/kdp-id-fpool.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "openvswitch/vlog.h"
#include "harness/prng.h"
#include "harness/unit.h"

/* Which ids of a range are held, as the test sees it. */
struct held {
    uint32_t floor;
    uint32_t n_ids;
    uint32_t n;
    bool *held;
};

static void
held_init(struct held *held, uint32_t floor, uint32_t n_ids)
{
    *held = (struct held) { .floor = floor, .n_ids = n_ids };
    held->held = xcalloc(MAX(n_ids, 1), sizeof *held->held);
}

static bool
get(struct held *held, struct kdp_id_user *user, uint32_t *id)
{
    if (!kdp_id_fpool_new_id(user, id)) {
        return false;
    }
    unit_check(*id - held->floor < held->n_ids);
    unit_check(!held->held[*id - held->floor]);
    held->held[*id - held->floor] = true;
    held->n++;
    return true;
}

static void
put(struct held *held, struct kdp_id_user *user, uint32_t id)
{
    unit_check(held->held[id - held->floor]);
    held->held[id - held->floor] = false;
    held->n--;
    kdp_id_fpool_free_id(user, id);
}

static void
all_ids_can_be_held(void **state OVS_UNUSED)
{
    static const uint32_t sizes[] = {
        0, 1, 2, 63, 64, 65, 255, 256, 257, 1000, 16383, 16384, 16385, 100000,
    };

    for (size_t i = 0; i < ARRAY_SIZE(sizes) * 2; i++) {
        uint32_t n_ids = sizes[i / 2];
        uint32_t floor = i % 2 ? UINT32_MAX - n_ids + 1 : 10;
        struct kdp_id_fpool *pool;
        struct kdp_id_user *user;
        struct held held;
        uint32_t id;

        pool = kdp_id_fpool_create(n_ids ? floor : 0, n_ids,
                                   KDP_ID_FPOOL_CHECK);
        user = kdp_id_fpool_user_create(pool);
        held_init(&held, floor, n_ids);

        /* First up, then in an order that is neither up nor down. */
        for (int round = 0; round < 3; round++) {
            for (uint32_t n = 0; n < n_ids; n++) {
                assert_true(get(&held, user, &id));
            }
            assert_false(get(&held, user, &id));
            assert_false(get(&held, user, &id));
            for (uint32_t n = 0; n < n_ids; n++) {
                put(&held, user, floor + (n * UINT64_C(7919)) % n_ids);
            }
        }
        free(held.held);
        kdp_id_fpool_user_destroy(user);
        kdp_id_fpool_destroy(pool);
    }
    kdp_id_fpool_destroy(NULL);
    kdp_id_fpool_user_destroy(NULL);
}

static void
caches_keep_no_more_than_they_may(void **state OVS_UNUSED)
{
    static const uint32_t sizes[] = { 10, 1000, 10000, 100000 };

    for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
        enum { N_USERS = 4 };
        struct kdp_id_user *users[N_USERS];
        struct kdp_id_fpool *pool;
        uint32_t *ids, n = 0, waste;
        struct held held;

        pool = kdp_id_fpool_create(0, sizes[i], KDP_ID_FPOOL_CHECK);
        held_init(&held, 0, sizes[i]);
        ids = xcalloc(sizes[i], sizeof *ids);
        for (int j = 0; j < N_USERS; j++) {
            users[j] = kdp_id_fpool_user_create(pool);
        }

        /* As few as the users but one can get: they fill their caches. */
        for (int j = 0; j < N_USERS; j++) {
            while (get(&held, users[j], &ids[n])) {
                n++;
            }
        }
        for (int j = 1; j < N_USERS; j++) {
            for (uint32_t k = 0; n && k < sizes[i] / N_USERS; k++) {
                put(&held, users[j], ids[--n]);
            }
        }
        while (get(&held, users[0], &ids[n])) {
            n++;
        }
        waste = sizes[i] - held.n;
        assert_true(waste <= (N_USERS - 1) * kdp_id_fpool_cached_max(pool));
        assert_true(kdp_id_fpool_cached_max(pool)
                    <= MAX(3, sizes[i] * 0.012));

        /* Users that go give back all. */
        for (int j = 1; j < N_USERS; j++) {
            kdp_id_fpool_user_destroy(users[j]);
        }
        for (uint32_t k = 0; k < waste; k++) {
            assert_true(get(&held, users[0], &ids[n++]));
        }
        assert_int_equal(held.n, sizes[i]);
        assert_false(get(&held, users[0], &ids[0]));

        free(held.held);
        free(ids);
        kdp_id_fpool_user_destroy(users[0]);
        kdp_id_fpool_destroy(pool);
    }
}

static void
users_that_come_and_go_lose_nothing(void **state OVS_UNUSED)
{
    enum { N_IDS = 20000 };
    static uint32_t ids[N_IDS];
    struct kdp_id_fpool *pool;
    struct held held;
    uint32_t n = 0;

    pool = kdp_id_fpool_create(0, N_IDS, KDP_ID_FPOOL_CHECK);
    held_init(&held, 0, N_IDS);

    /* They leave with every mix of a magazine, a spare and a piece. */
    for (uint32_t i = 0; i < 2000; i++) {
        struct kdp_id_user *user = kdp_id_fpool_user_create(pool);

        for (uint32_t j = 0; j < i * 31 % 300 && n < N_IDS; j++) {
            if (!get(&held, user, &ids[n])) {
                break;
            }
            n++;
        }
        for (uint32_t j = 0; j < i * 17 % 290 && n; j++) {
            put(&held, user, ids[--n]);
        }
        kdp_id_fpool_user_destroy(user);
    }
    for (int round = 0; round < 2; round++) {
        struct kdp_id_user *user = kdp_id_fpool_user_create(pool);

        while (get(&held, user, &ids[n])) {
            n++;
        }
        assert_int_equal(n, N_IDS);
        while (n) {
            put(&held, user, ids[--n]);
        }
        kdp_id_fpool_user_destroy(user);
    }
    free(held.held);
    kdp_id_fpool_destroy(pool);
}

static void
bursts_larger_than_the_cache(void **state OVS_UNUSED)
{
    enum { N_IDS = 100000 };
    static uint32_t ids[N_IDS];
    struct kdp_id_user *getter, *freer;
    struct kdp_id_fpool *pool;
    struct held held;

    pool = kdp_id_fpool_create(5, N_IDS, KDP_ID_FPOOL_CHECK);
    getter = kdp_id_fpool_user_create(pool);
    freer = kdp_id_fpool_user_create(pool);
    held_init(&held, 5, N_IDS);

    /* One user gets what another one gives back. */
    for (uint32_t burst = 1; burst < N_IDS - 2 * 3 * KDP_ID_MAGAZINE_SIZE;
         burst = burst * 3 / 2 + 1) {
        for (int round = 0; round < 3; round++) {
            for (uint32_t i = 0; i < burst; i++) {
                assert_true(get(&held, getter, &ids[i]));
            }
            for (uint32_t i = 0; i < burst; i++) {
                put(&held, freer, ids[i]);
            }
        }
    }
    free(held.held);
    kdp_id_fpool_user_destroy(getter);
    kdp_id_fpool_user_destroy(freer);
    kdp_id_fpool_destroy(pool);
}

static void
ids_are_dense(void **state OVS_UNUSED)
{
    enum { N_IDS = 1000000, N_USERS = 3 };
    static uint32_t ids[N_IDS];
    struct kdp_id_user *users[N_USERS];
    struct kdp_id_fpool *pool;
    uint32_t n = 0, n_max = 0;
    struct held held;

    pool = kdp_id_fpool_create(0, N_IDS, 0);
    held_init(&held, 0, N_IDS);
    for (int i = 0; i < N_USERS; i++) {
        users[i] = kdp_id_fpool_user_create(pool);
    }
    for (uint32_t i = 0; i < 1000000; i++) {
        struct kdp_id_user *user = users[unit_random(N_USERS)];

        /* Between none and some thousands at a time. */
        if (unit_random(4) > i / 3000 % 3 || !n) {
            assert_true(get(&held, user, &ids[n]));
            n_max = MAX(n_max, held.n);
            assert_true(ids[n] < n_max + N_USERS
                        * kdp_id_fpool_cached_max(pool));
            n++;
        } else {
            uint32_t which = unit_random(n);

            put(&held, user, ids[which]);
            ids[which] = ids[--n];
        }
    }
    assert_true(n_max > 1000);
    free(held.held);
    for (int i = 0; i < N_USERS; i++) {
        kdp_id_fpool_user_destroy(users[i]);
    }
    kdp_id_fpool_destroy(pool);
}

/* Threads that get ids and give them to the next thread to free. */

enum { N_THREADS = 4, N_STEPS = 40000, BATCH = 100 };

struct worker {
    pthread_t thread;
    struct kdp_id_fpool *pool;
    struct worker *next;
    atomic_uint8_t *held;       /* For each id. */
    uint32_t stream;

    pthread_mutex_t mutex;
    uint32_t ids[4 * BATCH];    /* What the previous one left for us. */
    unsigned int n;
};

static void *
work(void *worker_)
{
    struct worker *worker = worker_;
    struct kdp_id_user *user = kdp_id_fpool_user_create(worker->pool);
    uint32_t mine[BATCH];

    unit_random_stream(worker->stream);
    for (int step = 0; step < N_STEPS / BATCH; step++) {
        unsigned int n = unit_random(BATCH) + 1;
        uint32_t theirs[4 * BATCH];
        unsigned int n_theirs;
        uint8_t orig;

        for (unsigned int i = 0; i < n; i++) {
            unit_check(kdp_id_fpool_new_id(user, &mine[i]));
            atomic_add(&worker->held[mine[i]], 1, &orig);
            unit_check(orig == 0);
        }

        /* Here or there. */
        pthread_mutex_lock(&worker->next->mutex);
        while (n && worker->next->n < ARRAY_SIZE(worker->next->ids)) {
            worker->next->ids[worker->next->n++] = mine[--n];
        }
        pthread_mutex_unlock(&worker->next->mutex);
        pthread_mutex_lock(&worker->mutex);
        n_theirs = worker->n;
        memcpy(theirs, worker->ids, n_theirs * sizeof theirs[0]);
        worker->n = 0;
        pthread_mutex_unlock(&worker->mutex);
        for (unsigned int i = 0; i < n + n_theirs; i++) {
            uint32_t id = i < n ? mine[i] : theirs[i - n];

            atomic_sub(&worker->held[id], 1, &orig);
            unit_check(orig == 1);
            kdp_id_fpool_free_id(user, id);
        }

        /* Threads come and go. */
        if (!unit_random(50)) {
            kdp_id_fpool_user_destroy(user);
            user = kdp_id_fpool_user_create(worker->pool);
        }
    }
    kdp_id_fpool_user_destroy(user);
    return NULL;
}

static void
no_id_is_held_twice(void **state)
{
    const unsigned int *flags = *state;
    enum { N_IDS = N_THREADS * (5 * BATCH + 3 * KDP_ID_MAGAZINE_SIZE) };
    struct worker workers[N_THREADS];
    atomic_uint8_t held[N_IDS];
    struct kdp_id_fpool *pool;
    struct kdp_id_user *user;
    uint32_t n = 0, id;

    pool = kdp_id_fpool_create(0, N_IDS, *flags);
    for (int i = 0; i < N_IDS; i++) {
        atomic_init(&held[i], 0);
    }
    for (int i = 0; i < N_THREADS; i++) {
        workers[i] = (struct worker) {
            .pool = pool, .next = &workers[(i + 1) % N_THREADS],
            .held = held, .stream = 1 + i,
            .mutex = PTHREAD_MUTEX_INITIALIZER,
        };
    }
    for (int i = 0; i < N_THREADS; i++) {
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work,
                                        &workers[i]), 0);
    }
    for (int i = 0; i < N_THREADS; i++) {
        assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
    }
    for (int i = 0; i < N_THREADS; i++) {
        n += workers[i].n;
    }

    /* All are there but those that were on the way. */
    user = kdp_id_fpool_user_create(pool);
    while (kdp_id_fpool_new_id(user, &id)) {
        uint8_t orig;

        atomic_add(&held[id], 1, &orig);
        assert_int_equal(orig, 0);
        n++;
    }
    assert_int_equal(n, N_IDS);
    kdp_id_fpool_user_destroy(user);
    kdp_id_fpool_destroy(pool);
}

/* Misuse, each in a process of its own, which has to abort. */

static void
free_twice(struct kdp_id_user *a, struct kdp_id_user *b OVS_UNUSED)
{
    kdp_id_fpool_free_id(a, 100);
    kdp_id_fpool_free_id(a, 100);
}

static void
free_twice_by_two(struct kdp_id_user *a, struct kdp_id_user *b)
{
    kdp_id_fpool_free_id(a, 100);
    kdp_id_fpool_free_id(b, 100);
}

static void
free_never_held(struct kdp_id_user *a, struct kdp_id_user *b OVS_UNUSED)
{
    kdp_id_fpool_free_id(a, 999);
}

static void
free_below(struct kdp_id_user *a, struct kdp_id_user *b OVS_UNUSED)
{
    kdp_id_fpool_free_id(a, 99);
}

static void
free_beyond(struct kdp_id_user *a, struct kdp_id_user *b OVS_UNUSED)
{
    kdp_id_fpool_free_id(a, 1100);
}

static void
destroy_with_user(struct kdp_id_user *a, struct kdp_id_user *b OVS_UNUSED)
{
    kdp_id_fpool_destroy(a->pool);
}

static bool
aborts(void (*misuse)(struct kdp_id_user *, struct kdp_id_user *),
       unsigned int flags)
{
    pid_t pid = fork();
    int status;

    assert_true(pid >= 0);
    if (!pid) {
        struct kdp_id_fpool *pool = kdp_id_fpool_create(100, 1000, flags);
        struct kdp_id_user *a = kdp_id_fpool_user_create(pool);
        struct kdp_id_user *b = kdp_id_fpool_user_create(pool);
        uint32_t id;

        setrlimit(RLIMIT_CORE, &(struct rlimit) { 0, 0 });
        signal(SIGABRT, SIG_DFL);
        vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_OFF);
        if (!freopen("/dev/null", "w", stderr)) {
            _exit(2);
        }
        for (int i = 0; i < 100; i++) {
            unit_check(kdp_id_fpool_new_id(a, &id));
        }
        misuse(a, b);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true((WIFEXITED(status) && !WEXITSTATUS(status))
                || (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT));
    return WIFSIGNALED(status);
}

static void
misuse_is_found(void **state OVS_UNUSED)
{
    assert_true(aborts(free_twice, KDP_ID_FPOOL_CHECK));
    assert_true(aborts(free_twice_by_two, KDP_ID_FPOOL_CHECK));
    assert_true(aborts(free_never_held, KDP_ID_FPOOL_CHECK));
    assert_true(aborts(free_below, KDP_ID_FPOOL_CHECK));
    assert_true(aborts(free_beyond, KDP_ID_FPOOL_CHECK));

    /* Without the check, what costs nothing. */
    assert_true(aborts(free_below, 0));
    assert_true(aborts(free_beyond, 0));
    assert_true(aborts(destroy_with_user, 0));
    assert_false(aborts(free_twice, 0));
}

int
main(void)
{
    static unsigned int no_flags = 0, check = KDP_ID_FPOOL_CHECK;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(misuse_is_found),
        cmocka_unit_test(all_ids_can_be_held),
        cmocka_unit_test(caches_keep_no_more_than_they_may),
        cmocka_unit_test(users_that_come_and_go_lose_nothing),
        cmocka_unit_test(bursts_larger_than_the_cache),
        cmocka_unit_test(ids_are_dense),
        { "no_id_is_held_twice", no_id_is_held_twice, NULL, NULL, &no_flags },
        { "no_id_is_held_twice_checked", no_id_is_held_twice, NULL, NULL,
          &check },
    };

    return cmocka_run_group_tests_name("id-fpool", tests, NULL, NULL);
}
