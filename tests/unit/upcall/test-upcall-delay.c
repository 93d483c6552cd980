/* SPDX-License-Identifier: Apache-2.0 */

/* U7: which queues are shortened, and by how much: the policy alone, and with
 * a model of ports that are served in turns. */

#include <config.h>
#include "upcall/upcall-delay.h"

#include <limits.h>
#include <stdlib.h>

#include "harness/prng.h"
#include "harness/unit.h"
#include "upcall/upcall-turn.h"
#include "util.h"

#define TARGET UINT64_C(50000)
#define ROUND UINT64_C(150000)

/* Begins a turn that takes a quantum. */
static unsigned int
turn(struct upcall_delay *delay, uint64_t now, unsigned int queued)
{
    unsigned int n = upcall_delay_turn(delay, now, queued, UPCALL_QUANTUM,
                                       TARGET);

    upcall_delay_served(delay, MIN(queued - n, UPCALL_QUANTUM));
    return n;
}

static void
queue_is_spared_for_an_interval(void **state OVS_UNUSED)
{
    struct upcall_delay delay;
    uint64_t now = 1;

    upcall_delay_init(&delay);

    /* The first turn does not know the rate. */
    assert_int_equal(turn(&delay, now, 1000), 0);
    now += ROUND;
    for (uint64_t since = now; now - since < UPCALL_DELAY_INTERVAL;
         now += ROUND) {
        assert_int_equal(turn(&delay, now, 1000), 0);
    }

    /* From now on at each turn. */
    assert_int_equal(turn(&delay, now, 1000), 1000 - UPCALL_QUANTUM);
    assert_int_equal(turn(&delay, now + ROUND, 30), 30 - UPCALL_QUANTUM);
}

static void
queue_that_was_short_once_is_spared_again(void **state OVS_UNUSED)
{
    struct upcall_delay delay;
    uint64_t now = 1;

    upcall_delay_init(&delay);
    for (int i = 0; i < 100; i++) {
        /* The third turn of each four is the end of a burst. */
        assert_int_equal(turn(&delay, now, i % 4 == 2 ? 21 : 500), 0);
        now += ROUND;
    }
}

static void
queue_that_became_empty_is_spared_again(void **state OVS_UNUSED)
{
    struct upcall_delay delay;
    uint64_t now = 1;

    upcall_delay_init(&delay);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(turn(&delay, now, 500), 0);
        now += ROUND;
        if (i % 3 == 2) {
            upcall_delay_empty(&delay);
        }
    }
}

static void
shedding_ends_when_the_queue_was_short_for_an_interval(void **state OVS_UNUSED)
{
    struct upcall_delay delay;
    uint64_t now = 1;

    upcall_delay_init(&delay);
    while (!turn(&delay, now, 500)) {
        now += ROUND;
    }

    /* Short for less than an interval: goes on at once. */
    for (uint64_t since = now;
         now + ROUND - since <= UPCALL_DELAY_INTERVAL - ROUND; ) {
        now += ROUND;
        assert_int_equal(turn(&delay, now, UPCALL_QUANTUM), 0);
    }
    now += ROUND;
    assert_int_equal(turn(&delay, now, 100), 100 - UPCALL_QUANTUM);

    /* For more: another interval has to pass. */
    assert_int_equal(turn(&delay, now + 1, UPCALL_QUANTUM), 0);
    now += UPCALL_DELAY_INTERVAL + 1;
    assert_int_equal(turn(&delay, now, 500), 0);
    assert_false(delay.shedding);
    assert_int_equal(turn(&delay, now + UPCALL_DELAY_INTERVAL - 1, 500), 0);
    assert_int_equal(turn(&delay, now + UPCALL_DELAY_INTERVAL, 500),
                     500 - UPCALL_QUANTUM);
}

static void
fast_port_may_have_a_longer_queue(void **state OVS_UNUSED)
{
    struct upcall_delay delay;
    uint64_t now = 1;
    unsigned int n;

    /* A quantum each millisecond. */
    upcall_delay_init(&delay);
    for (int i = 0; i < 1000; i++) {
        unsigned int keep = TARGET / 1000 * UPCALL_QUANTUM;

        assert_int_equal(turn(&delay, now, keep), 0);
        now += 1000;
    }
    do {
        n = turn(&delay, now, 2000);
        now += 1000;
    } while (!n);
    assert_int_equal(2000 - n, TARGET / 1000 * UPCALL_QUANTUM);
}

static void
rate_follows(void **state OVS_UNUSED)
{
    struct upcall_delay delay;
    uint64_t now = 1;

    upcall_delay_init(&delay);
    assert_int_equal(upcall_delay_keep(&delay, UPCALL_QUANTUM, TARGET),
                     UINT_MAX);
    for (int i = 0; i < 20; i++) {
        turn(&delay, now, 10000);
        now += 1000;
    }
    assert_int_equal(upcall_delay_keep(&delay, 1, TARGET),
                     TARGET / 1000 * UPCALL_QUANTUM);

    /* Fifty times slower; what is left of the old rate after so many turns is
     * less than one upcall. */
    for (int i = 0; i < 40; i++) {
        now += 50000;
        turn(&delay, now, 10000);
    }
    assert_in_range(upcall_delay_keep(&delay, 1, TARGET), UPCALL_QUANTUM - 1,
                    UPCALL_QUANTUM + 1);

    /* An hour in which the machine slept does not make the rate 0 for good. */
    now += UINT64_C(3600000000);
    turn(&delay, now, 10000);
    for (int i = 0; i < 60; i++) {
        now += 1000;
        turn(&delay, now, 10000);
    }
    assert_in_range(upcall_delay_keep(&delay, 1, TARGET),
                    TARGET / 1000 * UPCALL_QUANTUM * 9 / 10,
                    TARGET / 1000 * UPCALL_QUANTUM);
}

static void
target_of_zero_sheds_nothing(void **state OVS_UNUSED)
{
    struct upcall_delay delay;
    uint64_t now = 1;

    upcall_delay_init(&delay);
    while (!turn(&delay, now, 500)) {
        now += ROUND;
    }
    for (int i = 0; i < 100; i++) {
        now += ROUND;
        assert_int_equal(upcall_delay_turn(&delay, now, 5000, UPCALL_QUANTUM,
                                           0), 0);
    }

    /* Nor at once when it is set again. */
    assert_int_equal(turn(&delay, now + 1, 5000), 0);
}

/* A model: one handler serves ports in turns, a quantum each; upcalls are
 * times of arrival.  What a port gets is random, in one of several ways. */

#define MODEL_PORTS 50
#define MODEL_QUEUE 2048
#define MODEL_USEC 2000000      /* In which arrivals are made up at a time. */
#define UPCALL_USEC 40          /* Work for one upcall. */

enum traffic { LIGHT, BURSTS, JUST_BELOW, ABOVE, FLOOD, N_TRAFFIC };

struct model_port {
    enum traffic traffic;
    struct upcall_delay delay;
    uint64_t queue[MODEL_QUEUE];        /* Times of arrival, a ring. */
    unsigned int head, n;
    uint64_t next;                      /* Arrival. */
    uint64_t n_offered, n_served, n_shed, n_lost;
    uint64_t worst;                     /* Wait, since 'settled'. */
    bool backlogged;
};

/* Microseconds until the next upcall of a port whose share of the handler is
 * one in 'gap' microseconds. */
static uint64_t
model_gap(struct model_port *port, uint64_t gap)
{
    switch (port->traffic) {
    case LIGHT:
        return gap * 4 + unit_random(gap * 4);
    case BURSTS:
        /* Of 60, each in the time of 120. */
        return port->n_offered % 60 ? 10 : gap * 120;
    case JUST_BELOW:
        return gap * 11 / 10;
    case ABOVE:
        return gap / 2 + unit_random(gap / 2);
    case FLOOD:
        return gap / 20 + 1;
    case N_TRAFFIC:
    default:
        OVS_NOT_REACHED();
    }
}

static void
model_arrive(struct model_port *port, uint64_t now, uint64_t gap)
{
    for (; port->next <= now; port->next += model_gap(port, gap)) {
        port->n_offered++;
        if (port->n < MODEL_QUEUE) {
            port->queue[(port->head + port->n++) % MODEL_QUEUE] = port->next;
        } else {
            port->n_lost++;
        }
    }
}

/* Gives 'port' a turn at '*now', and passes the time that it takes.  Checks
 * that what is shed leaves the port its turn. */
static void
model_turn(struct model_port *port, uint64_t *now, uint64_t settled)
{
    if (port->n) {
        unsigned int n;

        if (port->backlogged) {
            n = upcall_delay_turn(&port->delay, *now, port->n, UPCALL_QUANTUM,
                                  TARGET);
            assert_true(!n || port->n - n >= UPCALL_QUANTUM);
            port->head = (port->head + n) % MODEL_QUEUE;
            port->n -= n;
            port->n_shed += n;
        }
        n = MIN(port->n, UPCALL_QUANTUM);
        upcall_delay_served(&port->delay, n);
        for (unsigned int i = 0; i < n; i++) {
            uint64_t arrived = port->queue[port->head];

            port->head = (port->head + 1) % MODEL_QUEUE;
            if (*now > settled) {
                port->worst = MAX(port->worst, *now - arrived);
            }
        }
        port->n -= n;
        port->n_served += n;
        *now += n * UPCALL_USEC;
    }
    port->backlogged = port->n > 0;
    if (!port->n) {
        upcall_delay_empty(&port->delay);
    }
}

static void
model_of_many_ports(void **state OVS_UNUSED)
{
    static struct model_port ports[MODEL_PORTS];

    for (int run = 0; run < 20; run++) {
        unsigned int n_ports = 2 + unit_random(MODEL_PORTS - 2);
        uint64_t gap = UPCALL_USEC * n_ports;
        uint64_t round = gap * UPCALL_QUANTUM;
        uint64_t settled = 4 * UPCALL_DELAY_INTERVAL + 4 * round;
        uint64_t now = 1;

        memset(ports, 0, sizeof ports);
        for (unsigned int i = 0; i < n_ports; i++) {
            ports[i].traffic = unit_random(N_TRAFFIC);
            ports[i].next = 1 + unit_random(gap);
        }
        while (now < settled + MODEL_USEC) {
            uint64_t before = now;

            for (unsigned int i = 0; i < n_ports; i++) {
                model_arrive(&ports[i], now, gap);
                model_turn(&ports[i], &now, settled);
            }
            now += now == before ? gap : 0;
        }
        for (unsigned int i = 0; i < n_ports; i++) {
            const struct model_port *port = &ports[i];

            assert_int_equal(port->n_offered, port->n_served + port->n_shed
                             + port->n_lost + port->n);
            if (port->traffic < ABOVE) {
                assert_int_equal(port->n_shed, 0);
                assert_int_equal(port->n_lost, 0);
            } else {
                /* What may stand, a round, and what comes in an interval in
                 * which the queue is spared. */
                assert_true(port->worst <= TARGET + 2 * round
                            + UPCALL_DELAY_INTERVAL);
            }
        }
    }
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(queue_is_spared_for_an_interval),
        cmocka_unit_test(queue_that_was_short_once_is_spared_again),
        cmocka_unit_test(queue_that_became_empty_is_spared_again),
        cmocka_unit_test(
            shedding_ends_when_the_queue_was_short_for_an_interval),
        cmocka_unit_test(fast_port_may_have_a_longer_queue),
        cmocka_unit_test(rate_follows),
        cmocka_unit_test(target_of_zero_sheds_nothing),
        cmocka_unit_test(model_of_many_ports),
    };

    return cmocka_run_group_tests_name("upcall-delay", tests, NULL, NULL);
}
