/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_UPCALL_FIFO_H
#define KDP_UPCALL_FIFO_H 1

/* First-in first-out list of channels.
 *
 * Private to lib/upcall and to one thread.  The list is a ring that grows.  A
 * link inside the channel would not do: a retired handler, which still has the
 * channel on its list, and the handler that took the channel over would share
 * the link. */

#include <stddef.h>
#include <stdlib.h>

#include "util.h"

struct upcall_channel;

struct upcall_fifo {
    struct upcall_channel **ring;
    size_t head;                /* Index of the first channel. */
    size_t n;                   /* Number of channels. */
    size_t allocated;           /* Slots of 'ring', 0 or a power of 2. */
};

static inline void
upcall_fifo_init(struct upcall_fifo *fifo)
{
    *fifo = (struct upcall_fifo) { .ring = NULL };
}

static inline void
upcall_fifo_uninit(struct upcall_fifo *fifo)
{
    free(fifo->ring);
}

/* Makes room for one more. */
static inline void
upcall_fifo_grow(struct upcall_fifo *fifo)
{
    if (fifo->n == fifo->allocated) {
        size_t allocated = MAX(16, fifo->allocated * 2);
        struct upcall_channel **ring = xmalloc(allocated * sizeof *ring);

        for (size_t i = 0; i < fifo->n; i++) {
            ring[i] = fifo->ring[(fifo->head + i) & (fifo->allocated - 1)];
        }
        free(fifo->ring);
        fifo->ring = ring;
        fifo->head = 0;
        fifo->allocated = allocated;
    }
}

static inline void
upcall_fifo_push(struct upcall_fifo *fifo, struct upcall_channel *channel)
{
    upcall_fifo_grow(fifo);
    fifo->ring[(fifo->head + fifo->n++) & (fifo->allocated - 1)] = channel;
}

/* Puts 'channel' in front. */
static inline void
upcall_fifo_push_front(struct upcall_fifo *fifo,
                       struct upcall_channel *channel)
{
    upcall_fifo_grow(fifo);
    fifo->head = (fifo->head - 1) & (fifo->allocated - 1);
    fifo->ring[fifo->head] = channel;
    fifo->n++;
}

/* Returns the first channel, or NULL, and leaves it there. */
static inline struct upcall_channel *
upcall_fifo_first(const struct upcall_fifo *fifo)
{
    return fifo->n ? fifo->ring[fifo->head] : NULL;
}

/* Takes the first channel out and returns it, or NULL. */
static inline struct upcall_channel *
upcall_fifo_pop(struct upcall_fifo *fifo)
{
    struct upcall_channel *channel;

    if (!fifo->n) {
        return NULL;
    }
    channel = fifo->ring[fifo->head];
    fifo->head = (fifo->head + 1) & (fifo->allocated - 1);
    fifo->n--;
    return channel;
}

#endif /* lib/upcall/upcall-fifo.h */
