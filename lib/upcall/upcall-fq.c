/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "upcall/upcall-fq.h"

#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "ovs-atomic.h"
#include "util.h"

struct upcall_class {
    struct hmap_node hmap_node; /* In 'classes'. */
    struct ovs_list list_node;  /* In 'new_classes' or 'old_classes'. */
    struct upcall_sender_key key;
    struct upcall_sender *sender;   /* Its place in the summary, or NULL. */
    struct ovs_list msgs;       /* List of struct upcall_fq_msg, oldest
                                 * first. */
    size_t n, n_bytes;
    int credit;                 /* In upcalls. */
    bool is_new;
};

static atomic_uint64_t total_bytes = 0;

uint64_t
upcall_fq_total_bytes(void)
{
    uint64_t n;

    atomic_read_relaxed(&total_bytes, &n);
    return n;
}

void
upcall_fq_init(struct upcall_fq *fq)
{
    memset(fq, 0, sizeof *fq);
    hmap_init(&fq->classes);
    ovs_list_init(&fq->new_classes);
    ovs_list_init(&fq->old_classes);
    atomic_init(&fq->senders, NULL);
}

const struct upcall_sender_set *
upcall_fq_senders(const struct upcall_fq *fq)
{
    struct upcall_sender_set *senders;

    /* Acquire: the summary that the owner created.  Pairs with
     * get_senders(). */
    atomic_read_explicit(&CONST_CAST(struct upcall_fq *, fq)->senders,
                         &senders, memory_order_acquire);
    return senders;
}

void
upcall_fq_reset_senders(struct upcall_fq *fq, uint64_t now)
{
    const struct upcall_sender_set *senders = upcall_fq_senders(fq);

    if (senders) {
        upcall_senders_reset(CONST_CAST(struct upcall_sender_set *, senders),
                             now);
    }
}

/* The owner's summary, if there is one. */
static struct upcall_sender_set *
own_senders(struct upcall_fq *fq)
{
    struct upcall_sender_set *senders;

    atomic_read_relaxed(&fq->senders, &senders);
    return senders;
}

/* The owner's summary, which is created at 'now' if there is none. */
static struct upcall_sender_set *
get_senders(struct upcall_fq *fq, uint64_t now)
{
    struct upcall_sender_set *senders = own_senders(fq);

    if (!senders) {
        senders = upcall_senders_create(now);
        /* Release: the new summary. */
        atomic_store_explicit(&fq->senders, senders, memory_order_release);
    }
    return senders;
}

static size_t
msg_size(const struct upcall_fq_msg *msg)
{
    return sizeof *msg + msg->rx.len;
}

/* Takes the oldest upcall of 'class', which has one. */
static struct upcall_fq_msg *
class_pop(struct upcall_fq *fq, struct upcall_class *class)
{
    struct upcall_fq_msg *msg
        = CONTAINER_OF(ovs_list_pop_front(&class->msgs),
                       struct upcall_fq_msg, node);
    size_t size = msg_size(msg);
    uint64_t orig;

    class->n--;
    class->n_bytes -= size;
    fq->n--;
    fq->n_bytes -= size;
    fq->n_backlogged -= !class->n;
    atomic_sub_relaxed(&total_bytes, size, &orig);
    return msg;
}

/* Throws the 'n' oldest upcalls of 'class' away. */
static void
class_shed(struct upcall_fq *fq, struct upcall_class *class, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free(class_pop(fq, class));
    }
    fq->n_shed += n;
    upcall_senders_shed(own_senders(fq), class->sender, n);
}

static void
class_destroy(struct upcall_fq *fq, struct upcall_class *class)
{
    upcall_senders_leave(&class->sender);
    hmap_remove(&fq->classes, &class->hmap_node);
    ovs_list_remove(&class->list_node);
    free(class);
}

void
upcall_fq_clear(struct upcall_fq *fq)
{
    struct upcall_class *class;

    HMAP_FOR_EACH_SAFE (class, hmap_node, &fq->classes) {
        upcall_senders_forget(own_senders(fq), class->sender, class->n);
        while (class->n) {
            free(class_pop(fq, class));
        }
        class_destroy(fq, class);
    }
}

void
upcall_fq_uninit(struct upcall_fq *fq)
{
    upcall_fq_clear(fq);
    hmap_destroy(&fq->classes);
    upcall_senders_destroy(own_senders(fq));
}

/* Putting in. */

static struct upcall_class *
find_class(const struct upcall_fq *fq, const struct upcall_sender_key *key,
           uint32_t hash)
{
    struct upcall_class *class;

    HMAP_FOR_EACH_WITH_HASH (class, hmap_node, hash, &fq->classes) {
        if (!memcmp(&class->key, key, sizeof *key)) {
            return class;
        }
    }
    return NULL;
}

static struct upcall_class *
get_class(struct upcall_fq *fq, const struct upcall_sender_key *key)
{
    uint32_t hash = hash_bytes(key, sizeof *key, 0);
    struct upcall_class *class = find_class(fq, key, hash);

    if (!class) {
        class = xzalloc(sizeof *class);
        class->key = *key;
        ovs_list_init(&class->msgs);
        class->credit = UPCALL_FQ_QUANTUM;
        class->is_new = true;
        hmap_insert(&fq->classes, &class->hmap_node, hash);
        ovs_list_push_back(&fq->new_classes, &class->list_node);
    }
    return class;
}

/* Makes room by throwing away half of the largest class. */
static void
shed_fattest(struct upcall_fq *fq)
{
    struct upcall_class *class, *fattest = NULL;

    HMAP_FOR_EACH (class, hmap_node, &fq->classes) {
        if (!fattest || class->n_bytes > fattest->n_bytes) {
            fattest = class;
        }
    }
    class_shed(fq, fattest, DIV_ROUND_UP(fattest->n, 2));
}

void
upcall_fq_put(struct upcall_fq *fq, const struct upcall_sender_key *key,
              const struct upcall_rx *rx, uint64_t queued_at)
{
    struct upcall_sender_set *senders = get_senders(fq, queued_at);
    struct upcall_class *class = get_class(fq, key);
    struct upcall_fq_msg *msg = xmalloc(sizeof *msg + rx->len);
    size_t size;
    uint64_t orig;

    msg->rx = *rx;
    msg->rx.data = msg + 1;
    memcpy(msg->rx.data, rx->data, rx->len);
    msg->queued_at = queued_at;
    size = msg_size(msg);

    if (!class->sender) {
        upcall_senders_take(senders, key, class->hmap_node.hash, class->n,
                            &class->sender);
    }
    upcall_senders_arrived(senders, class->sender, queued_at);

    ovs_list_push_back(&class->msgs, &msg->node);
    fq->n_backlogged += !class->n;
    class->n++;
    class->n_bytes += size;
    fq->n++;
    fq->n_bytes += size;
    atomic_add_relaxed(&total_bytes, size, &orig);
    while (fq->n > UPCALL_FQ_MAX || fq->n_bytes > UPCALL_FQ_MAX_BYTES) {
        shed_fattest(fq);
    }
}

/* Taking out. */

/* Throws away the upcalls of 'class' that have waited for longer than 'target'
 * at 'now', but leaves a turn. */
static void
shed_old(struct upcall_fq *fq, struct upcall_class *class, uint64_t now,
         uint64_t target)
{
    while (class->n > UPCALL_FQ_QUANTUM) {
        const struct upcall_fq_msg *first
            = CONTAINER_OF(ovs_list_front(&class->msgs),
                           struct upcall_fq_msg, node);

        if (first->queued_at + target >= now) {
            break;
        }
        class_shed(fq, class, 1);
    }
}

/* Puts 'class' at the end of the old ones. */
static void
class_becomes_old(struct upcall_fq *fq, struct upcall_class *class)
{
    ovs_list_remove(&class->list_node);
    ovs_list_push_back(&fq->old_classes, &class->list_node);
    class->is_new = false;
}

struct upcall_fq_msg *
upcall_fq_get(struct upcall_fq *fq, uint64_t now, uint64_t target)
{
    while (!hmap_is_empty(&fq->classes)) {
        struct ovs_list *list = (ovs_list_is_empty(&fq->new_classes)
                                 ? &fq->old_classes : &fq->new_classes);
        struct upcall_fq_msg *msg;
        struct upcall_class *class
            = CONTAINER_OF(ovs_list_front(list), struct upcall_class,
                           list_node);

        if (!class->n) {
            /* A class that was new stays for a round; otherwise it would be
             * new again and again. */
            if (class->is_new) {
                class_becomes_old(fq, class);
            } else {
                class_destroy(fq, class);
            }
        } else if (class->credit <= 0) {
            class->credit += UPCALL_FQ_QUANTUM;
            class_becomes_old(fq, class);
        } else {
            if (target) {
                shed_old(fq, class, now, target);
            }
            class->credit--;
            upcall_senders_received(own_senders(fq), class->sender, 1);
            msg = class_pop(fq, class);
            msg->last_of_new = class->is_new && !class->n;
            return msg;
        }
    }
    return NULL;
}
