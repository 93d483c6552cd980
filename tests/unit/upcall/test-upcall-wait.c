/* SPDX-License-Identifier: Apache-2.0 */

/* U3: how long an upcall of a quiet port waits while 50 others flood, in a
 * model of one CPU that handlers share.  Each has the CPU until its slice
 * ends, as with a scheduler that looks at every tick, and time is made up. */

#include <config.h>
#include "upcall/upcall-table.h"

#include <stdlib.h>
#include <string.h>

#include "harness/kernel-messages.h"
#include "harness/made-up-clock.h"
#include "harness/unit.h"
#include "unit/upcall/fair-fixture.h"
#include "upcall/upcall-engine.h"
#include "upcall/upcall-turn.h"
#include "util.h"

#define N_NOISY 50
#define QUIET N_NOISY           /* The port after these. */
#define N_WAITS 300
#define QUIET_USEC 20000        /* At least, between two of its upcalls. */
#define SLICE_USEC 4000

/* Work for one upcall, when it is received and when its batch has ended, and
 * for each batch. */
#define TRANSLATE_USEC 24
#define EXECUTE_USEC 10
#define BATCH_USEC 20

/* The longest wait with a handler for each CPU: for a turn that has begun and
 * the rest of its batch, and, if that was its last turn, for a batch with a
 * turn.  A smaller turn may be read besides. */
#define TURN (UPCALL_QUANTUM + UPCALL_QUANTUM_MIN)
#define LONGEST_USEC                                        \
    (TRANSLATE_USEC * (2 * TURN + 1)                        \
     + EXECUTE_USEC * (UPCALL_BATCH + UPCALL_QUANTUM + 1)   \
     + 2 * BATCH_USEC)

struct model {
    struct fixture *f;
    size_t backlog;             /* Of each noisy port. */
    size_t n_batch[MAX_HANDLERS];   /* Upcalls of the batch so far. */
    uint32_t quiet_at;          /* Handler that has the quiet upcall, or
                                 * UINT32_MAX. */
    uint64_t sent_at;           /* When it was sent, or 0. */
    uint64_t next_at;           /* When the next one is. */
    uint64_t waits[N_WAITS];
    size_t n_waits;
};

/* Sends what is due. */
static void
model_send(struct model *m, uint32_t handler)
{
    uint64_t now = unit_made_up_usec();

    if (!m->n_batch[handler]) {
        for (uint32_t i = 0; i < N_NOISY; i++) {
            fill(m->f, i, m->backlog);
        }
    }
    if (!m->sent_at && now >= m->next_at) {
        fill(m->f, QUIET, 1);
        m->sent_at = now;

        /* At any moment of a batch. */
        m->next_at = now + QUIET_USEC + m->n_waits * 977 % 3000;
    }
}

/* Has 'handler' do its next piece of work. */
static void
model_step(struct model *m, uint32_t handler)
{
    struct upcall_view view;
    uint64_t seq;

    if (upcall_table_recv(m->f->table, handler, &view)) {
        unit_made_up_advance(BATCH_USEC + EXECUTE_USEC * m->n_batch[handler]);
        m->n_batch[handler] = 0;
        if (m->quiet_at == handler) {
            m->waits[m->n_waits++] = unit_made_up_usec() - m->sent_at;
            m->sent_at = 0;
            m->quiet_at = UINT32_MAX;
        }
        return;
    }

    /* What was shed does not come. */
    seq = unit_view_seq(&view);
    m->f->ports[seq >> SEQ_BITS].n_received = (uint32_t) seq + 1;
    m->n_batch[handler]++;
    unit_made_up_advance(TRANSLATE_USEC);
    if (seq >> SEQ_BITS == QUIET) {
        m->quiet_at = handler;
    }
}

static int
compare(const void *a_, const void *b_)
{
    const uint64_t *a = a_;
    const uint64_t *b = b_;

    return *a < *b ? -1 : *a > *b;
}

/* Runs the model with 'n_handlers' and a target delay of 'target'
 * microseconds, 0 for none.  The waits are sorted then. */
static void
model_run(struct model *m, struct fixture *f, uint32_t n_handlers,
          uint32_t target)
{
    uint32_t handler = 0;

    memset(m, 0, sizeof *m);
    m->f = f;
    m->quiet_at = UINT32_MAX;

    /* With a target about as many as may wait then. */
    m->backlog = target ? 16 : 2 * UPCALL_QUANTUM;
    prepare(f, n_handlers, N_NOISY + 1);
    upcall_table_set_target_delay(f->table, target);
    m->next_at = unit_made_up_usec() + 2000000;
    while (m->n_waits < N_WAITS) {
        uint64_t end = unit_made_up_usec() + SLICE_USEC;

        while (unit_made_up_usec() < end && m->n_waits < N_WAITS) {
            model_send(m, handler);
            model_step(m, handler);
        }
        handler = (handler + 1) % n_handlers;
    }
    qsort(m->waits, N_WAITS, sizeof m->waits[0], compare);
    print_message("%"PRIu32" handlers on a CPU, target %"PRIu32" ms: median "
                  "%"PRIu64" us, 90 %% %"PRIu64" us, 99 %% %"PRIu64" us, all "
                  "%"PRIu64" us\n", n_handlers, target / 1000,
                  m->waits[N_WAITS / 2], m->waits[N_WAITS * 9 / 10],
                  m->waits[N_WAITS * 99 / 100], m->waits[N_WAITS - 1]);
}

static void
check_one_handler(struct fixture *f, uint32_t target)
{
    static struct model model;

    model_run(&model, f, 1, target);
    assert_in_range(model.waits[N_WAITS - 1], 1, LONGEST_USEC);
}

static void
quiet_upcall_waits_for_a_turn_and_a_batch(void **state)
{
    check_one_handler(*state, 0);
}

static void
quiet_upcall_waits_no_longer_with_small_turns(void **state)
{
    check_one_handler(*state, 50000);
}

/* The handler that has the upcall may lose the CPU before its batch ends, and
 * then waits for the slices of all others.  That is seldom, as such a batch is
 * short. */
static void
check_many_handlers(struct fixture *f, uint32_t target)
{
    static struct model model;

    model_run(&model, f, 4, target);
    assert_in_range(model.waits[N_WAITS * 9 / 10], 1, LONGEST_USEC);
}

static void
handlers_that_share_a_cpu_seldom_make_a_quiet_upcall_wait(void **state)
{
    check_many_handlers(*state, 0);
}

static void
handlers_that_share_a_cpu_do_so_as_seldom_with_small_turns(void **state)
{
    check_many_handlers(*state, 50000);
}

#define TEST(NAME) \
    cmocka_unit_test_setup_teardown(NAME, fair_setup, fair_teardown)

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(quiet_upcall_waits_for_a_turn_and_a_batch),
        TEST(quiet_upcall_waits_no_longer_with_small_turns),
        TEST(handlers_that_share_a_cpu_seldom_make_a_quiet_upcall_wait),
        TEST(handlers_that_share_a_cpu_do_so_as_seldom_with_small_turns),
    };

    unit_init("test-upcall-wait");
    return cmocka_run_group_tests_name("upcall-wait", tests, NULL, NULL);
}
