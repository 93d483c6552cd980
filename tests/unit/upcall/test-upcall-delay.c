/* SPDX-License-Identifier: Apache-2.0 */

/* U7: which queues are shortened, and by how much: the policy alone, and with
 * a model of ports that are served in turns. */

#include <config.h>
#include "upcall/upcall-shed.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "harness/prng.h"
#include "harness/unit.h"
#include "upcall/upcall-turn.h"
#include "util.h"

#define TARGET UINT64_C(50000)
#define ROUND UINT64_C(20000)
#define QUANTUM 5
#define KEEP 12                 /* QUANTUM / ROUND * TARGET. */

/* A port that is served in turns, and what the kernel dropped. */
struct port {
    struct upcall_delay delay;
    uint64_t now;
    uint32_t drops;
    unsigned int keep;          /* After the last look. */
};

/* Passes a round and gives 'port' a turn when 'queued' upcalls wait.  Returns
 * what it may keep, 0 if it is not limited. */
static unsigned int
turn(struct port *port, unsigned int queued)
{
    port->now += ROUND;
    if (upcall_delay_turn(&port->delay, port->now, QUANTUM)) {
        port->keep = upcall_delay_look(&port->delay, port->now, queued,
                                       port->drops, QUANTUM, TARGET);
    }
    upcall_delay_served(&port->delay, MIN(queued, QUANTUM));
    if (queued > QUANTUM) {
        upcall_delay_spent(&port->delay);
    } else {
        upcall_delay_empty(&port->delay);
    }
    return port->keep;
}

/* Has 'port' have a standing queue until it is limited. */
static void
limit(struct port *port)
{
    for (int i = 0; !turn(port, 500); i++) {
        assert_true(i < 100);
    }
}

static void
queue_is_spared_for_an_interval(void **state OVS_UNUSED)
{
    struct port port = { .now = 1 };
    uint64_t since;

    /* The first look has to come before an interval can begin. */
    while (!port.delay.since) {
        assert_int_equal(turn(&port, 500), 0);
    }
    since = port.now;
    while (port.now + ROUND - since < UPCALL_DELAY_INTERVAL) {
        assert_int_equal(turn(&port, 500), 0);
    }
    while (!turn(&port, 500)) {
        assert_true(port.now - since
                    <= UPCALL_DELAY_INTERVAL + UPCALL_DELAY_LOOK);
    }
    assert_int_equal(port.keep, KEEP);
    assert_int_equal(upcall_delay_shed(&port.delay, 500), 500 - KEEP);
    assert_int_equal(upcall_delay_shed(&port.delay, 100), 100 - KEEP);

    /* Only what waited when the limit began. */
    assert_int_equal(upcall_delay_shed(&port.delay, KEEP), 0);
    assert_int_equal(upcall_delay_shed(&port.delay, 100), 0);
}

static void
queue_that_was_short_once_is_spared_again(void **state OVS_UNUSED)
{
    struct port port = { .now = 1 };

    for (int i = 0; i < 1000; i++) {
        /* A burst of less than an interval, and its end. */
        assert_int_equal(turn(&port, i % 20 < 10 ? KEEP : 500), 0);
    }
}

static void
queue_that_became_empty_is_spared_again(void **state OVS_UNUSED)
{
    struct port port = { .now = 1 };

    for (int i = 0; i < 1000; i++) {
        assert_int_equal(turn(&port, i % 20 ? 500 : 0), 0);
    }
}

/* One look that was held up counts for a quarter of the rate, and is forgotten
 * after some others. */
static void
rate_is_smoothed(void **state OVS_UNUSED)
{
    const uint64_t target = 1000000;
    const unsigned int share = 50;      /* In the time of a look. */
    struct upcall_delay delay;
    unsigned int keep = 0;
    uint64_t now = 1;

    delay = (struct upcall_delay) { .keep = 0 };
    assert_false(upcall_delay_turn(&delay, now, share));
    for (int i = 0; i < 50; i++) {
        /* The port is sent more than its share all the time. */
        now += i == 20 ? 10 * UPCALL_DELAY_LOOK : UPCALL_DELAY_LOOK;
        assert_true(upcall_delay_turn(&delay, now, share));
        keep = upcall_delay_look(&delay, now, 5000, 1000 * i, share, target);
        if (i == 19 || i == 49) {
            assert_in_range(keep, 495, 500);
        } else if (i == 20) {
            /* Four looks of 50 in 3 + 10 times the time. */
            assert_int_equal(keep, 4 * 50 * 10 / 13);
        } else if (i > 20) {
            assert_in_range(keep, 4 * 50 * 10 / 13, 500);
        }
    }
}

/* Passes 'n' intervals in which 'port' is served 'queued' a turn, and the
 * kernel drops 'dropped'.  Returns what it may keep then. */
static unsigned int
intervals(struct port *port, int n, unsigned int queued, uint32_t dropped)
{
    for (uint64_t since = port->now;
         port->now - since < n * UPCALL_DELAY_INTERVAL + UPCALL_DELAY_LOOK; ) {
        port->drops += dropped;
        turn(port, queued);
    }
    return port->keep;
}

static void
limit_lasts_while_more_than_the_share_is_sent(void **state OVS_UNUSED)
{
    struct port port = { .now = 1 };

    limit(&port);
    assert_int_equal(intervals(&port, 10, KEEP, 1), KEEP);

    /* Turns are short, but in sum it is still more. */
    assert_int_equal(intervals(&port, 10, QUANTUM - 1, 2), KEEP);
}

static void
limit_ends_within_the_share(void **state OVS_UNUSED)
{
    struct port port = { .now = 1 };

    limit(&port);
    assert_int_equal(intervals(&port, 2, QUANTUM, 0), 0);

    /* Bursts do not fit into the buffer, but are no more than the share. */
    limit(&port);
    assert_int_equal(intervals(&port, 2, QUANTUM - 2, 2), 0);

    /* What ended begins like the first time. */
    turn(&port, KEEP + 1);
    assert_int_equal(port.keep, 0);
    limit(&port);
}

static void
limit_ends_with_the_target(void **state OVS_UNUSED)
{
    struct port port = { .now = 1 };

    limit(&port);
    port.now += UPCALL_DELAY_LOOK;
    assert_true(upcall_delay_turn(&port.delay, port.now, QUANTUM));
    assert_int_equal(upcall_delay_look(&port.delay, port.now, 500, 0, QUANTUM,
                                       0), 0);
    assert_int_equal(upcall_delay_shed(&port.delay, 500), 0);
    for (int i = 0; i < 100; i++) {
        port.now += ROUND;
        if (upcall_delay_turn(&port.delay, port.now, QUANTUM)) {
            assert_int_equal(upcall_delay_look(&port.delay, port.now, 500, 0,
                                               QUANTUM, 0), 0);
        }
    }

    /* Nor at once when it is set again. */
    port.keep = 0;
    assert_int_equal(turn(&port, 500), 0);
}

/* Jumbo packets use a turn up before its quantum of upcalls is. */
static void
share_of_large_packets_is_what_turns_had_room_for(void **state OVS_UNUSED)
{
    struct port port = { .now = 1 };

    for (int i = 0; i < 500; i++) {
        port.now += ROUND;
        port.drops++;
        if (upcall_delay_turn(&port.delay, port.now, QUANTUM)) {
            port.keep = upcall_delay_look(&port.delay, port.now, 500,
                                          port.drops, QUANTUM, TARGET);
        }
        upcall_delay_served(&port.delay, 2);
        upcall_delay_spent(&port.delay);
        assert_true(i < 100 || port.keep);
    }
    assert_int_equal(port.keep, 2 * QUANTUM);
}

static void
rate_follows(void **state OVS_UNUSED)
{
    struct upcall_delay delay = { .looked_at = 0 };
    uint64_t now = 1;

    /* A look each 100 turns, of a millisecond each; a target of a second has
     * it keep what a second grants. */
    upcall_delay_turn(&delay, now, UPCALL_QUANTUM);
    for (int i = 0; i < 2000; i++) {
        now += 1000;
        if (upcall_delay_turn(&delay, now, UPCALL_QUANTUM)) {
            upcall_delay_look(&delay, now, 100000, 0, UPCALL_QUANTUM,
                              1000000);
        }
    }
    assert_int_equal(delay.keep, 1000 * UPCALL_QUANTUM);

    /* An hour in which the machine slept does not make the rate 0 for good. */
    now += UINT64_C(3600000000);
    for (int i = 0; i < 6000; i++) {
        now += 1000;
        if (upcall_delay_turn(&delay, now, UPCALL_QUANTUM)) {
            unsigned int keep = upcall_delay_look(&delay, now, 100000,
                                                  1000000 + i * 100,
                                                  UPCALL_QUANTUM,
                                                  1000000);

            assert_in_range(keep, i < 5900 ? 1 : 900 * UPCALL_QUANTUM,
                            1000 * UPCALL_QUANTUM);
        }
    }
}

static void
quantum_follows_the_length_of_rounds(void **state OVS_UNUSED)
{
    unsigned int quantum = UPCALL_QUANTUM;

    assert_int_equal(upcall_turn_quantum(quantum, 1000, 1000), quantum);
    assert_int_equal(upcall_turn_quantum(quantum, 1, 1000), quantum);
    assert_int_equal(upcall_turn_quantum(quantum, 0, 1000), quantum);
    assert_int_equal(upcall_turn_quantum(quantum, 1500, 1000), 14);

    /* Not by more than half at once, and not below the smallest. */
    quantum = upcall_turn_quantum(quantum, 1000000, 1000);
    assert_int_equal(quantum, UPCALL_QUANTUM / 2);
    for (int i = 0; i < 3; i++) {
        quantum = upcall_turn_quantum(quantum, 1000000, 1000);
    }
    assert_int_equal(quantum, UPCALL_QUANTUM_MIN);
    quantum = upcall_turn_quantum(quantum, 1, 1000);
    assert_int_equal(quantum, 2 * UPCALL_QUANTUM_MIN);
}

/* A model: one handler serves ports in turns; upcalls are times of arrival.
 * What a port gets is random, in one of several ways. */

#define MODEL_PORTS 200
#define MODEL_QUEUE 2048
#define MODEL_USEC 2000000
#define UPCALL_USEC 40          /* Work for one upcall. */

enum traffic { LIGHT, BURSTS, JUST_BELOW, ABOVE, FLOOD, N_TRAFFIC };

struct model_port {
    enum traffic traffic;
    struct upcall_delay delay;
    uint64_t queue[MODEL_QUEUE];        /* Times of arrival, a ring. */
    unsigned int head, n;
    unsigned int room;                  /* As many may wait. */
    uint64_t next;                      /* Arrival. */
    uint64_t n_offered, n_served, n_shed, n_lost;
    uint64_t worst;                     /* Wait, since 'settled'. */
    uint64_t n_settled;                 /* Served since then. */
    bool backlogged;
};

struct model {
    struct model_port ports[MODEL_PORTS];
    unsigned int n_ports;
    unsigned int quantum;
    uint64_t now;
    uint64_t settled;
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
        if (port->n < port->room) {
            port->queue[(port->head + port->n++) % MODEL_QUEUE] = port->next;
        } else {
            port->n_lost++;
        }
    }
}

/* Begins a turn of 'port', which has a backlog. */
static void
model_limit(struct model *model, struct model_port *port)
{
    unsigned int n;

    if (upcall_delay_turn(&port->delay, model->now, model->quantum)) {
        n = upcall_delay_look(&port->delay, model->now, port->n, port->n_lost,
                              model->quantum, TARGET);
        assert_true(!n || n >= 2 * model->quantum);
        port->room = n ? MIN(n, MODEL_QUEUE) : MODEL_QUEUE;
    }
    n = upcall_delay_shed(&port->delay, port->n);
    port->head = (port->head + n) % MODEL_QUEUE;
    port->n -= n;
    port->n_shed += n;
}

/* Gives 'port' a turn, and passes the time that it takes. */
static void
model_turn(struct model *model, struct model_port *port)
{
    unsigned int n;

    if (!port->n) {
        port->delay = (struct upcall_delay) { .keep = 0 };
        port->room = MODEL_QUEUE;
        port->backlogged = false;
        return;
    }
    if (port->backlogged) {
        model_limit(model, port);
    }
    n = MIN(port->n, model->quantum);
    upcall_delay_served(&port->delay, n);
    for (unsigned int i = 0; i < n; i++) {
        uint64_t arrived = port->queue[port->head];

        port->head = (port->head + 1) % MODEL_QUEUE;
        if (model->now > model->settled) {
            port->worst = MAX(port->worst, model->now - arrived);
            port->n_settled++;
        }
    }
    port->n -= n;
    port->n_served += n;
    model->now += n * UPCALL_USEC;
    port->backlogged = true;
    if (port->n) {
        upcall_delay_spent(&port->delay);
    } else {
        upcall_delay_empty(&port->delay);
    }
}

static void
model_run(struct model *model, uint64_t gap)
{
    while (model->now < model->settled + MODEL_USEC) {
        uint64_t before = model->now;

        for (unsigned int i = 0; i < model->n_ports; i++) {
            model_arrive(&model->ports[i], model->now, gap);
            model_turn(model, &model->ports[i]);
        }
        model->now += model->now == before ? gap : 0;
        model->quantum = upcall_turn_quantum(model->quantum,
                                             model->now - before, TARGET / 2);
    }
}

static void
model_check(const struct model *model)
{
    /* A round with the smallest quantum, if that is longer than it should
     * be. */
    uint64_t round = MAX(TARGET / 2, (uint64_t) model->n_ports * UPCALL_USEC
                                     * UPCALL_QUANTUM_MIN);
    double sum = 0, squares = 0;
    unsigned int n = 0;

    for (unsigned int i = 0; i < model->n_ports; i++) {
        const struct model_port *port = &model->ports[i];

        assert_int_equal(port->n_offered, port->n_served + port->n_shed
                         + port->n_lost + port->n);
        if (port->traffic < ABOVE) {
            assert_int_equal(port->n_shed, 0);
            assert_int_equal(port->n_lost, 0);
        } else if (port->n_lost + port->n_shed) {
            /* Bursts of others make some rounds longer. */
            assert_true(port->worst <= TARGET + 8 * round);
            sum += port->n_settled;
            squares += (double) port->n_settled * port->n_settled;
            n++;
        }
    }
    assert_true(!n || sum * sum / (n * squares) >= 0.95);
}

static void
model_of_many_ports(void **state OVS_UNUSED)
{
    static struct model model;

    for (int run = 0; run < 20; run++) {
        unsigned int n_ports = 2 + unit_random(MODEL_PORTS - 2);
        uint64_t gap = UPCALL_USEC * n_ports;

        memset(&model, 0, sizeof model);
        model.n_ports = n_ports;
        model.quantum = UPCALL_QUANTUM;
        model.now = 1;
        model.settled = 8 * UPCALL_DELAY_INTERVAL;
        for (unsigned int i = 0; i < n_ports; i++) {
            model.ports[i].traffic = unit_random(N_TRAFFIC);
            model.ports[i].next = 1 + unit_random(gap);
            model.ports[i].room = MODEL_QUEUE;
        }
        model_run(&model, gap);
        model_check(&model);
    }
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(queue_is_spared_for_an_interval),
        cmocka_unit_test(queue_that_was_short_once_is_spared_again),
        cmocka_unit_test(queue_that_became_empty_is_spared_again),
        cmocka_unit_test(rate_is_smoothed),
        cmocka_unit_test(limit_lasts_while_more_than_the_share_is_sent),
        cmocka_unit_test(limit_ends_within_the_share),
        cmocka_unit_test(limit_ends_with_the_target),
        cmocka_unit_test(share_of_large_packets_is_what_turns_had_room_for),
        cmocka_unit_test(rate_follows),
        cmocka_unit_test(quantum_follows_the_length_of_rounds),
        cmocka_unit_test(model_of_many_ports),
    };

    return cmocka_run_group_tests_name("upcall-delay", tests, NULL, NULL);
}
