/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_UPCALL_STATE_H
#define KDP_UPCALL_STATE_H 1

/* States of a channel
 * ===================
 *
 * Private to lib/upcall.  The state says where a channel is on its way from
 * one event to the next:
 *
 *      state       owner       meaning
 *      --------    ---------   -------------------------------------------
 *      IDLE        none        armed; its next upcall is an event.  Or it is
 *                              held, and handlers ignore its events
 *      TAKEN       handler     the handler has just become its owner
 *      SPARSE      handler     readable, and goes before the run queue
 *      READING     handler     chosen for the current read
 *      PARTIAL     handler     has part of its turn left: the batch was full
 *      EMPTY       handler     its socket was empty; waits for the batch's end
 *      SPENT       handler     used its turn up; waits for the batch's end
 *      PAUSED      handler     cannot be read; tried again after a pause
 *      QUEUED      run queue   waits for its turn
 *
 * EMPTY and SPENT wait for the end of the batch because the handler keeps a
 * channel until the upcalls that it took were processed (U1).
 *
 *      from        to          when
 *      --------    --------    -------------------------------------------
 *      IDLE        TAKEN       an event named it
 *      IDLE        QUEUED      something was read ahead of it, and the
 *                              handlers were replaced
 *      TAKEN       SPARSE      it has credit
 *      TAKEN       QUEUED      it has none
 *      TAKEN       READING     it came from the run queue, and can pay
 *      TAKEN       SPENT       it came from the run queue, and still owes
 *      TAKEN       IDLE        the handlers are retired
 *      SPARSE      READING     its turn
 *      SPARSE      IDLE        others sleep, or the handler is removed
 *      READING     EMPTY       the read emptied the socket, or failed once;
 *                              or the port is gone
 *      READING     PARTIAL     there is more, and credit
 *      READING     SPENT       there is more, and no credit; or it is empty
 *                              and stays in the run queue
 *      READING     PAUSED      the read failed again
 *      PARTIAL     READING     its turn
 *      PARTIAL     IDLE        the handler is removed
 *      EMPTY       IDLE        the batch is over
 *      SPENT       QUEUED      the batch is over
 *      SPENT       READING     no other channel has anything to read
 *      SPENT       IDLE        the batch is over and the handlers are retired
 *      PAUSED      IDLE        the pause is over
 *      QUEUED      TAKEN       its turn
 *      QUEUED      IDLE        the handlers are retired
 *
 * Any other transition is an error in the program and ends it.
 *
 * Thread safety: only the channel's owner writes its state; see
 * upcall-channel.h. */

#include <stdbool.h>

enum upcall_state {
    UPCALL_STATE_IDLE,
    UPCALL_STATE_TAKEN,
    UPCALL_STATE_SPARSE,
    UPCALL_STATE_READING,
    UPCALL_STATE_PARTIAL,
    UPCALL_STATE_EMPTY,
    UPCALL_STATE_SPENT,
    UPCALL_STATE_PAUSED,
    UPCALL_STATE_QUEUED,
};
#define UPCALL_N_STATES (UPCALL_STATE_QUEUED + 1)

/* True if a handler owns a channel in 'state'. */
static inline bool
upcall_state_is_handlers(enum upcall_state state)
{
    return state != UPCALL_STATE_IDLE && state != UPCALL_STATE_QUEUED;
}

/* True if the table above has the transition. */
static inline bool
upcall_state_may_become(enum upcall_state from, enum upcall_state to)
{
#define TO(STATE) (1u << UPCALL_STATE_##STATE)
    static const unsigned int allowed[UPCALL_N_STATES] = {
        [UPCALL_STATE_IDLE] = TO(TAKEN) | TO(QUEUED),
        [UPCALL_STATE_TAKEN] = (TO(SPARSE) | TO(QUEUED) | TO(READING)
                                | TO(SPENT) | TO(IDLE)),
        [UPCALL_STATE_SPARSE] = TO(READING) | TO(IDLE),
        [UPCALL_STATE_READING] = (TO(EMPTY) | TO(PARTIAL) | TO(SPENT)
                                  | TO(PAUSED)),
        [UPCALL_STATE_PARTIAL] = TO(READING) | TO(IDLE),
        [UPCALL_STATE_EMPTY] = TO(IDLE),
        [UPCALL_STATE_SPENT] = TO(QUEUED) | TO(READING) | TO(IDLE),
        [UPCALL_STATE_PAUSED] = TO(IDLE),
        [UPCALL_STATE_QUEUED] = TO(TAKEN) | TO(IDLE),
    };
#undef TO

    return allowed[from] & (1u << to);
}

#endif /* lib/upcall/upcall-state.h */
