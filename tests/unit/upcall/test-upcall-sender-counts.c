/* SPDX-License-Identifier: Apache-2.0 */

/* What each sender on a channel sent: bounded, exact for those that are shown,
 * and sure to show the heavy ones, whatever others make up. */

#include <config.h>
#include "upcall/upcall-senders.h"

#include <stdlib.h>
#include <string.h>

#include "harness/prng.h"
#include "harness/unit.h"
#include "hash.h"
#include "ovs-thread.h"
#include "upcall/upcall-fq.h"
#include "util.h"

#define SECOND UINT64_C(1000000)
#define BEGIN (1000 * SECOND)

struct fixture {
    struct upcall_fq fq;
    uint64_t now;
};

static int
setup(void **state)
{
    struct fixture *f = xzalloc(sizeof *f);

    upcall_fq_init(&f->fq);
    f->now = BEGIN;
    *state = f;
    return 0;
}

static int
teardown(void **state)
{
    struct fixture *f = *state;

    upcall_fq_uninit(&f->fq);
    assert_int_equal(upcall_fq_total_bytes(), 0);
    free(f);
    return 0;
}

static void
put(struct fixture *f, uint32_t sender, uint32_t n)
{
    const struct upcall_sender_key key = { .port_no = sender };
    char data[100] = "";
    const struct upcall_rx rx = { .data = data, .len = sizeof data };

    for (uint32_t i = 0; i < n; i++) {
        upcall_fq_put(&f->fq, &key, &rx, f->now);
    }
}

static void
get(struct fixture *f, uint32_t n, uint64_t target)
{
    for (uint32_t i = 0; i < n; i++) {
        struct upcall_fq_msg *msg = upcall_fq_get(&f->fq, f->now, target);

        assert_non_null(msg);
        free(msg);
    }
}

static void
get_all(struct fixture *f)
{
    struct upcall_fq_msg *msg;

    while ((msg = upcall_fq_get(&f->fq, f->now, 0))) {
        free(msg);
    }
}

/* A snapshot. */
struct shown {
    struct upcall_sender_info senders[UPCALL_SENDER_PLACES];
    size_t n;
    struct upcall_sender_info total;
};

static struct shown
show(struct fixture *f)
{
    struct shown shown;

    shown.n = upcall_senders_get(upcall_fq_senders(&f->fq), f->now,
                                 shown.senders, &shown.total);
    assert_true(shown.n <= UPCALL_SENDER_PLACES);
    return shown;
}

/* Finds 'sender' in 'shown', or returns NULL. */
static const struct upcall_sender_info *
find(const struct shown *shown, uint32_t sender)
{
    for (size_t i = 0; i < shown->n; i++) {
        if (shown->senders[i].key.port_no == sender) {
            return &shown->senders[i];
        }
    }
    return NULL;
}

static struct upcall_sender_info
sender(struct fixture *f, uint32_t number)
{
    struct shown shown = show(f);
    const struct upcall_sender_info *info = find(&shown, number);

    assert_non_null(info);
    return *info;
}

static void
check(struct fixture *f, uint32_t number, uint64_t received, uint64_t shed,
      uint64_t waiting)
{
    struct upcall_sender_info info = sender(f, number);

    assert_int_equal(info.received, received);
    assert_int_equal(info.shed, shed);
    assert_int_equal(info.waiting, waiting);
}

static void
each_upcall_is_counted_once(void **state)
{
    struct fixture *f = *state;
    struct shown shown;

    assert_null(upcall_fq_senders(&f->fq));
    put(f, 1, 20);
    put(f, 2, 3);
    check(f, 1, 0, 0, 20);
    check(f, 2, 0, 0, 3);
    get(f, 5, 0);
    check(f, 1, 4, 0, 16);
    check(f, 2, 1, 0, 2);

    /* What waits too long is thrown away, except a turn. */
    f->now += SECOND;
    get(f, 3, SECOND / 2);
    shown = show(f);
    assert_int_equal(shown.n, 2);
    check(f, 1, 5, 12, 3);
    check(f, 2, 3, 0, 0);
    assert_int_equal(shown.total.received, 8);
    assert_int_equal(shown.total.shed, 12);
    assert_int_equal(shown.total.waiting, 3);

    /* Purged ones count as nothing. */
    upcall_fq_clear(&f->fq);
    check(f, 1, 5, 12, 0);
    put(f, 1, 1);
    check(f, 1, 5, 12, 1);
    get_all(f);
    check(f, 1, 6, 12, 0);
}

static void
rates_are_of_the_last_seconds(void **state)
{
    struct fixture *f = *state;

    /* One has just come. */
    put(f, 1, 1);
    assert_int_equal(sender(f, 1).rate, 1);

    /* 100 a second, after three seconds and after a minute.  A window may
     * begin and end with an upcall. */
    for (int i = 0; i < 600; i++) {
        f->now += SECOND / 10;
        put(f, 1, 10);
        get_all(f);
        if (i == 29) {
            assert_in_range(sender(f, 1).rate, 100, 102);
        }
    }
    assert_in_range(sender(f, 1).rate, 100, 102);
    assert_int_equal(sender(f, 1).shed_rate, 0);
    assert_in_range(show(f).total.rate, 100, 102);
    assert_int_equal(sender(f, 1).age, 60000);

    /* Ten times as much for a while. */
    for (int i = 0; i < 100; i++) {
        f->now += SECOND / 10;
        put(f, 1, 100);
        get_all(f);
    }
    assert_in_range(sender(f, 1).rate, 1000, 1020);

    /* It stops, and another one goes on. */
    for (int i = 0; i < 101; i++) {
        f->now += SECOND / 10;
        put(f, 2, 1);
        get_all(f);
    }
    assert_int_equal(sender(f, 1).rate, 0);
    assert_in_range(sender(f, 2).rate, 10, 11);

    /* All stop. */
    f->now += 10 * SECOND;
    assert_int_equal(sender(f, 2).rate, 0);
    assert_int_equal(show(f).total.rate, 0);
    f->now += 1000 * SECOND;
    put(f, 2, 5);
    assert_int_equal(sender(f, 2).rate, 5);
    assert_int_equal(show(f).total.rate, 5);
}

static void
what_is_shed_has_a_rate(void **state)
{
    struct fixture *f = *state;

    put(f, 1, 1);
    for (int i = 0; i < 30; i++) {
        put(f, 1, 24);
        f->now += SECOND / 10;
        /* All but a turn go, one of these is handed out. */
        get(f, 1, SECOND / 20);
    }
    assert_in_range(sender(f, 1).rate, 240, 241);
    assert_in_range(sender(f, 1).shed_rate, 220, 231);
}

static void
a_single_upcall_that_is_shed_has_a_rate(void **state)
{
    struct fixture *f = *state;

    put(f, 1, UPCALL_FQ_QUANTUM + 1);
    f->now += SECOND / 10;
    get(f, 1, SECOND / 20);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(sender(f, 1).shed_rate, 1);
        assert_int_equal(show(f).total.shed_rate, 1);

        /* The window of its first upcall is over. */
        f->now += UPCALL_SENDER_WINDOW;
    }
    check(f, 1, 1, 1, UPCALL_FQ_QUANTUM - 1);
}

/* One sender floods moderately, and a thousand times as many as there is room
 * for turn up meanwhile. */
static void
heavy_sender_keeps_its_place(void **state)
{
    enum { HEAVY = 1, PART = UPCALL_SENDER_PLACES / 2, N = 64 * 1000 };
    struct fixture *f = *state;
    struct upcall_sender_info others;
    struct shown shown;

    put(f, HEAVY, 1);
    for (uint32_t i = 0; i < N; i++) {
        put(f, i % PART ? 1000 + i : HEAVY, 1);
        get_all(f);
        f->now += SECOND / 1000;
        if (i % 100 == 0) {
            shown = show(f);
            assert_true(shown.n <= UPCALL_SENDER_PLACES);
            check(f, HEAVY, i / PART + 2, 0, 0);
        }
    }
    shown = show(f);
    assert_int_equal(shown.total.received, N + 1);
    check(f, HEAVY, N / PART + 1, 0, 0);
    assert_in_range(sender(f, HEAVY).rate, 1000 / PART, 1000 / PART + 1);

    /* The others are known together. */
    others = shown.total;
    for (size_t i = 0; i < shown.n; i++) {
        upcall_sender_info_subtract(&others, &shown.senders[i]);
    }
    assert_true(others.received > N * 9 / 10);
    assert_true(others.rate > 500);
    assert_int_equal(others.waiting, 0);
}

/* A sender with more than a part of the upcalls, weighed as the header says,
 * is always there, and no count is too high. */
static void
error_is_bounded(void **state)
{
    enum { N = 500 };
    struct fixture *f = *state;
    uint64_t sent[N] = { 0 };
    double weight[N] = { 0 };
    uint64_t window_end = BEGIN + UPCALL_SENDER_WINDOW;
    size_t n_sure = 0;

    for (int i = 0; i < 60000; i++) {
        /* A few are heavy, and which ones changes. */
        uint32_t number = (unit_random(2) ? unit_random(N)
                           : (unit_random(20) + i / 7000 * 30) % N);

        f->now += SECOND / 2000;
        if (f->now >= window_end) {
            window_end = f->now + UPCALL_SENDER_WINDOW;
            for (int j = 0; j < N; j++) {
                weight[j] /= 2;
            }
        }
        put(f, number, 1);
        get_all(f);
        sent[number]++;
        weight[number]++;
        if (i % 200 == 0) {
            struct shown shown = show(f);
            double all = 0;

            for (int j = 0; j < N; j++) {
                all += weight[j];
            }
            for (int j = 0; j < N; j++) {
                const struct upcall_sender_info *info = find(&shown, j);

                /* Weights are rounded down. */
                if (weight[j] > all / UPCALL_SENDER_PLACES + 1) {
                    assert_non_null(info);
                    n_sure++;
                }
                if (info) {
                    assert_true(info->received <= sent[j]);
                }
            }
            assert_int_equal(shown.total.received, i + 1);
        }
    }
    assert_true(n_sure > 1000);
}

/* A sender loses its place while upcalls of it wait, and is back. */
static void
sender_that_lost_its_place_starts_over(void **state)
{
    struct fixture *f = *state;
    struct shown shown;

    put(f, 1, 6);
    get(f, 2, 0);
    for (uint32_t i = 0; i < 2 * UPCALL_SENDER_PLACES; i++) {
        put(f, 1000 + i, 7);
    }
    shown = show(f);
    assert_null(find(&shown, 1));
    assert_int_equal(shown.total.waiting, 4 + 14 * UPCALL_SENDER_PLACES);

    /* Nobody else is charged for it. */
    get(f, 2, 0);
    put(f, 1, 1);
    check(f, 1, 0, 0, 3);
    get_all(f);
    check(f, 1, 3, 0, 0);
    shown = show(f);
    for (size_t i = 0; i < shown.n; i++) {
        assert_int_equal(shown.senders[i].waiting, 0);
        assert_true(shown.senders[i].received <= 7);
    }
    assert_int_equal(shown.total.received, 7 + 14 * UPCALL_SENDER_PLACES);
    assert_int_equal(shown.total.waiting, 0);
}

static void
reset_starts_from_zero(void **state)
{
    struct fixture *f = *state;

    upcall_fq_reset_senders(&f->fq, f->now);
    put(f, 1, 10);
    put(f, 2, 10);
    get(f, 3, 0);
    f->now += 2 * SECOND;
    upcall_fq_reset_senders(&f->fq, f->now);
    check(f, 1, 0, 0, 7);
    check(f, 2, 0, 0, 10);
    assert_int_equal(show(f).total.received, 0);
    assert_int_equal(show(f).total.waiting, 17);
    assert_int_equal(sender(f, 1).rate, 5);
    f->now += SECOND;
    assert_int_equal(sender(f, 1).age, 1000);
    get_all(f);
    check(f, 1, 7, 0, 0);
    assert_int_equal(show(f).total.received, 17);

    /* The counts of a sender that comes later include all that it sent. */
    for (uint32_t i = 0; i < 4 * UPCALL_SENDER_PLACES; i++) {
        put(f, 1000 + i, 11);
        get_all(f);
    }
    put(f, 1, 3);
    get_all(f);
    check(f, 1, 3, 0, 0);
}

static void
queues_of_a_port_are_added_up(void **state OVS_UNUSED)
{
    struct upcall_sender_info infos[] = {
        { .key = { .id = 2 }, .received = 1, .shed = 2, .waiting = 3,
          .rate = 4, .shed_rate = 5, .age = 6 },
        { .key = { .id = 1 }, .received = 100 },
        { .key = { .id = 2 }, .received = 10, .shed = 20, .waiting = 30,
          .rate = 40, .shed_rate = 50, .age = 5 },
        { .key = { .id = 2, .source = { [15] = 1 } }, .received = 1000 },
    };
    bool found = false;

    assert_int_equal(upcall_senders_merge(NULL, 0), 0);
    assert_int_equal(upcall_senders_merge(infos, 4), 3);
    for (size_t i = 0; i < 3; i++) {
        const struct upcall_sender_info *info = &infos[i];

        if (info->received == 11) {
            assert_int_equal(info->key.id, 2);
            assert_int_equal(info->shed, 22);
            assert_int_equal(info->waiting, 33);
            assert_int_equal(info->rate, 44);
            assert_int_equal(info->shed_rate, 55);
            assert_int_equal(info->age, 6);
            found = true;
        } else if (info->key.source[15]) {
            assert_int_equal(info->received, 1000);
        } else {
            assert_int_equal(info->key.id, 1);
            assert_int_equal(info->received, 100);
        }
    }
    assert_true(found);
}

/* Checks everything but the key. */
static void
check_info(const struct upcall_sender_info *info, uint64_t received,
           uint64_t shed, uint64_t waiting, uint64_t rate, uint64_t shed_rate,
           uint64_t age)
{
    assert_int_equal(info->received, received);
    assert_int_equal(info->shed, shed);
    assert_int_equal(info->waiting, waiting);
    assert_int_equal(info->rate, rate);
    assert_int_equal(info->shed_rate, shed_rate);
    assert_int_equal(info->age, age);
}

/* Counts that are read one by one may differ by less than nothing. */
static void
what_others_sent_is_a_difference(void **state OVS_UNUSED)
{
    const struct upcall_sender_info one = {
        .received = 1, .shed = 2, .waiting = 3, .rate = 4, .shed_rate = 5,
        .age = 6,
    };
    struct upcall_sender_info info = {
        .received = 10, .shed = 20, .waiting = 30, .rate = 40, .shed_rate = 50,
        .age = 5,
    };

    upcall_sender_info_add(&info, &one);
    check_info(&info, 11, 22, 33, 44, 55, 6);
    upcall_sender_info_subtract(&info, &one);
    check_info(&info, 10, 20, 30, 40, 50, 6);
    for (int i = 0; i < 10; i++) {
        upcall_sender_info_subtract(&info, &one);
    }
    check_info(&info, 0, 0, 0, 0, 0, 6);
    upcall_sender_info_subtract(&info, &one);
    check_info(&info, 0, 0, 0, 0, 0, 6);
}

/* Readers. */

/* An owner in whose summary all that belongs to a sender has the sender's
 * number, and who gives places away all the time. */
struct owner {
    struct upcall_sender_set *senders;
    atomic_bool stop;
};

static void *
owner_main(void *owner_)
{
    struct owner *owner = owner_;
    struct upcall_sender *users[256] = { NULL };
    bool stop = false;

    for (uint64_t i = 1; !stop; i++) {
        struct upcall_sender **user = &users[i % 256];
        struct upcall_sender_key key = { .id = i, .port_no = i };

        memcpy(key.source, &i, sizeof i);
        upcall_senders_leave(user);
        *user = NULL;
        upcall_senders_take(owner->senders, &key,
                            hash_bytes(&key, sizeof key, 0), 0, user);
        for (uint64_t j = 0; j <= i % 4; j++) {
            upcall_senders_arrived(owner->senders, *user,
                                   BEGIN + i * SECOND / 1000);
            upcall_senders_received(owner->senders, *user, 1);
        }
        atomic_read_relaxed(&owner->stop, &stop);
    }
    for (size_t i = 0; i < 256; i++) {
        upcall_senders_leave(&users[i]);
    }
    return NULL;
}

static void
readers_see_no_mixture(void **state OVS_UNUSED)
{
    struct owner owner = { .senders = upcall_senders_create(BEGIN) };
    uint64_t last = 0;
    pthread_t thread;
    size_t n_seen = 0;

    atomic_init(&owner.stop, false);
    thread = ovs_thread_create("owner", owner_main, &owner);
    while (n_seen < 200 * 1000) {
        struct upcall_sender_info infos[UPCALL_SENDER_PLACES], total;
        size_t n = upcall_senders_get(owner.senders, BEGIN, infos, &total);

        for (size_t i = 0; i < n; i++) {
            uint64_t source;

            memcpy(&source, infos[i].key.source, sizeof source);
            assert_int_equal(source, infos[i].key.id);
            assert_int_equal(infos[i].key.port_no, (uint32_t) source);
            assert_true(infos[i].received + infos[i].waiting
                        <= source % 4 + 1);
            assert_int_equal(infos[i].shed, 0);
        }
        assert_true(total.received >= last);
        last = total.received;
        n_seen += n;
        if (n_seen % 5 == 0) {
            upcall_senders_reset(owner.senders, BEGIN);
            last = 0;
        }
    }
    atomic_store_relaxed(&owner.stop, true);
    xpthread_join(thread, NULL);
    upcall_senders_destroy(owner.senders);
}

int
main(int argc OVS_UNUSED, char *argv[])
{
#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(each_upcall_is_counted_once),
        TEST(rates_are_of_the_last_seconds),
        TEST(what_is_shed_has_a_rate),
        TEST(a_single_upcall_that_is_shed_has_a_rate),
        TEST(heavy_sender_keeps_its_place),
        TEST(error_is_bounded),
        TEST(sender_that_lost_its_place_starts_over),
        TEST(reset_starts_from_zero),
        cmocka_unit_test(queues_of_a_port_are_added_up),
        cmocka_unit_test(what_others_sent_is_a_difference),
        cmocka_unit_test(readers_see_no_mixture),
    };

    unit_init(argv[0]);
    return cmocka_run_group_tests_name("upcall-sender-counts", tests, NULL,
                                       NULL);
}
