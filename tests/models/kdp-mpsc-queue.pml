/* SPDX-License-Identifier: Apache-2.0 */

/* The queue of lib/offload/kdp-mpsc-queue.[ch], for the model checker spin.
 *
 * Each statement that touches what threads share is one atomic access of the
 * program; all interleavings of them are gone through.  Memory is sequentially
 * consistent here: that each access has the order that it needs is what the
 * header's barrier pairs and the thread sanitizer are for.
 *
 * Checked are
 *
 *   - that each node comes out exactly once, those of one producer in order
 *     (assertions);
 *
 *   - that no wake-up is lost: a consumer that sleeps for good while there is
 *     something in the queue is a state without a successor, which spin calls
 *     an invalid end state;
 *
 *   - that nobody writes into a node that has been taken out (assertion).
 *
 * Deadlines and kicks come at any time.  They are limited in number, or they
 * would hide a lost wake-up.
 *
 * The models BREAK_* are wrong in one respect each; spin has to find that. */

#ifndef PRODUCERS
#define PRODUCERS 2
#endif
#ifndef PUSHES
#define PUSHES 2                /* For each producer. */
#endif
#ifndef DEADLINES
#define DEADLINES 1
#endif
#ifndef KICKS
#define KICKS 1
#endif

#define N (PRODUCERS * PUSHES)

/* "Pointers": nodes are 0 to N - 1. */
#define AWAKE N
#define ASLEEP (N + 1)
#define NONE (N + 2)

byte next[N + 2];               /* Of nodes and dummies. */
byte tail = AWAKE;
byte wakeups = 0;

/* The consumer's own. */
byte front = AWAKE;
byte first = NONE;
byte seen = 0;
byte n_out = 0;
byte expect[PRODUCERS];         /* What each one's next node is. */
bool out[N];                    /* Has it been taken out? */

inline exchange_tail(value, result)
{
    atomic { result = tail; tail = value }
}

inline wake()
{
    wakeups++;                  /* And FUTEX_WAKE. */
}

proctype producer(byte id)
{
    byte node, prev;
    byte i = 0;

    do
    :: i < PUSHES ->
        node = id * PUSHES + i;
        next[node] = NONE;
#ifdef BREAK_EXCHANGE
        prev = tail;
        tail = node;
#else
        exchange_tail(node, prev);
#endif
        atomic {
            assert(prev >= N || !out[prev]);
            next[prev] = node
        }
        if
        :: prev == ASLEEP -> wake()
        :: else
        fi;
        i++
    :: else -> break
    od
}

proctype kicker()
{
    byte i = 0;

    do
    :: i < KICKS -> wake(); i++
    :: else -> break
    od
}

/* Ends the chain after the first node, if it is the last one. */
inline end()
{
#ifndef BREAK_DUMMY
    next[AWAKE] = NONE;
#endif
#ifdef BREAK_END
    /* A look and a store, where one compare-and-exchange belongs. */
    tmp = tail;
    if
    :: tmp == first -> tail = AWAKE; front = AWAKE; ended = true
    :: else
    fi
#else
    atomic {
        if
        :: tail == first -> tail = AWAKE; front = AWAKE; ended = true
        :: else
        fi
    }
#endif
}

/* Takes one node, if that is possible. */
inline poll()
{
    taken = NONE;
    ended = false;
    if
    :: first == NONE -> first = next[front]
    :: else
    fi;
    if
    :: first == NONE            /* Empty or busy. */
    :: else ->
        tmp = next[first];
        if
        :: tmp == NONE -> end()
        :: else
        fi;
        if
        :: tmp != NONE && !ended -> taken = first; first = tmp
        :: ended -> taken = first; first = NONE
        :: else                 /* Busy. */
        fi
    fi;
    atomic {
        if
        :: taken != NONE ->
            assert(taken < N && !out[taken]);
            assert(taken == expect[taken / PUSHES]);
            expect[taken / PUSHES]++;
            out[taken] = true;
            n_out++
        :: else
        fi
    }
}

inline wait()
{
    if
    :: first == NONE -> tmp = wakeups
    :: else
    fi;
    if
    :: first != NONE
    :: first == NONE && tmp != seen -> seen = tmp
    :: first == NONE && tmp == seen && front != AWAKE
    :: else ->
        next[ASLEEP] = NONE;
#ifdef BREAK_SLEEP
        /* A look and a store, where one compare-and-exchange belongs. */
        tmp = tail;
        if
        :: tmp == AWAKE -> tail = ASLEEP; front = ASLEEP
        :: else -> tmp = NONE
        fi;
#else
        atomic {
            if
            :: tail == AWAKE -> tmp = AWAKE; tail = ASLEEP; front = ASLEEP
            :: else -> tmp = NONE
            fi
        }
#endif
        if
        :: tmp == AWAKE ->
#ifdef BREAK_SEEN
            /* What happened since falling asleep is overlooked. */
            seen = wakeups;
#endif
            if
            :: atomic { wakeups != seen }
            :: atomic { deadlines < DEADLINES -> deadlines++ }
            fi;
            next[AWAKE] = NONE;
#ifdef BREAK_WAKING
            /* Whatever was pushed meanwhile. */
            tail = AWAKE; front = AWAKE;
#else
            atomic {
                if
                :: tail == ASLEEP -> tail = AWAKE; front = AWAKE
                :: else
                fi
            };
#endif
            seen = wakeups
        :: else
        fi
    fi
}

proctype consumer()
{
    byte tmp, taken;
    bool ended;
    byte deadlines = 0;

    do
    :: n_out < N ->
        poll();
        if
        :: taken == NONE -> wait()
        :: else
        fi
    :: else -> break
    od;

    /* All came out, and the queue knows that it is empty. */
    assert(tail == front && next[front] == NONE && first == NONE)
}

init {
    atomic {
        byte i;

        for (i : 0 .. N + 1) {
            next[i] = NONE
        }
        for (i : 0 .. PRODUCERS - 1) {
            expect[i] = i * PUSHES
        }
        for (i : 0 .. PRODUCERS - 1) {
            run producer(i)
        }
        run kicker();
        run consumer()
    }
}
