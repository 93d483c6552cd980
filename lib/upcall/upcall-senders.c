/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "upcall/upcall-senders.h"

#include <arpa/inet.h>
#include <endian.h>
#include <libmnl/libmnl.h>
#include <linux/genetlink.h>
#include <stdlib.h>
#include <string.h>

#include "nl/nl-conn.h"
#include "odp-netlink.h"
#include "util.h"

/* Times that a reader looks at a sender before it omits the sender.  The owner
 * changes a sender within some ten nanoseconds. */
#define MAX_LOOKS 10

/* The shortest time that a rate covers, in microseconds: one upcall that has
 * just arrived is not a thousand per second. */
#define MIN_RATE_TIME 1000000

/* Keys. */

static void
get_tunnel(const struct nlattr *tunnel, struct upcall_sender_key *key)
{
    const struct nlattr *attr;

    mnl_attr_for_each_nested (attr, tunnel) {
        switch (mnl_attr_get_type(attr)) {
        case OVS_TUNNEL_KEY_ATTR_ID:
            if (!mnl_attr_validate(attr, MNL_TYPE_U64)) {
                key->id = mnl_attr_get_u64(attr);
            }
            break;
        case OVS_TUNNEL_KEY_ATTR_IPV4_SRC:
            if (!mnl_attr_validate(attr, MNL_TYPE_U32)) {
                memset(&key->source[10], 0xff, 2);
                memcpy(&key->source[12], mnl_attr_get_payload(attr), 4);
            }
            break;
        case OVS_TUNNEL_KEY_ATTR_IPV6_SRC:
            if (mnl_attr_get_payload_len(attr) == sizeof key->source) {
                memcpy(key->source, mnl_attr_get_payload(attr),
                       sizeof key->source);
            }
            break;
        default:
            break;
        }
    }
}

void
upcall_sender_key_get(const void *msg, size_t len, bool by_port,
                      struct upcall_sender_key *key)
{
    const size_t headers = (NLMSG_HDRLEN + GENL_HDRLEN
                            + sizeof(struct ovs_header));
    const struct nlattr *attr, *flow_key = NULL;
    const void *attrs = (const char *) msg + headers;

    memset(key, 0, sizeof *key);
    if (len < headers) {
        return;
    }
    mnl_attr_for_each_payload (attrs, len - headers) {
        if (mnl_attr_get_type(attr) == OVS_PACKET_ATTR_KEY) {
            flow_key = attr;
            break;
        }
    }
    if (!flow_key) {
        return;
    }
    mnl_attr_for_each_nested (attr, flow_key) {
        uint16_t type = mnl_attr_get_type(attr);

        if (by_port && type == OVS_KEY_ATTR_IN_PORT
            && !mnl_attr_validate(attr, MNL_TYPE_U32)) {
            key->port_no = mnl_attr_get_u32(attr);
        } else if (!by_port && type == OVS_KEY_ATTR_TUNNEL) {
            get_tunnel(attr, key);
        }
    }
}

bool
upcall_sender_has_remote(const struct upcall_sender_key *key)
{
    static const uint8_t zeros[sizeof key->source];

    return memcmp(key->source, zeros, sizeof zeros);
}

void
upcall_sender_format_remote(const struct upcall_sender_key *key,
                            char buf[UPCALL_SENDER_REMOTE_LEN])
{
    struct in6_addr addr;

    BUILD_ASSERT_DECL(UPCALL_SENDER_REMOTE_LEN == INET6_ADDRSTRLEN);
    BUILD_ASSERT_DECL(sizeof addr == sizeof key->source);
    memcpy(&addr, key->source, sizeof addr);
    if (!upcall_sender_has_remote(key)) {
        ovs_strlcpy(buf, "(unknown)", UPCALL_SENDER_REMOTE_LEN);
    } else if (IN6_IS_ADDR_V4MAPPED(&addr)) {
        inet_ntop(AF_INET, &addr.s6_addr[12], buf, UPCALL_SENDER_REMOTE_LEN);
    } else {
        inet_ntop(AF_INET6, &addr, buf, UPCALL_SENDER_REMOTE_LEN);
    }
}

uint64_t
upcall_sender_id(const struct upcall_sender_key *key)
{
    return be64toh(key->id);
}

/* The owner's side. */

static uint64_t
counter_read(const atomic_uint64_t *counter)
{
    uint64_t value;

    atomic_read_relaxed(CONST_CAST(atomic_uint64_t *, counter), &value);
    return value;
}

/* Stores a word that 'version' guards.  Release: the odd version. */
static void
put_word(atomic_uint64_t *where, uint64_t value)
{
    atomic_store_explicit(where, value, memory_order_release);
}

/* Begin and end a change of the members that 'version' of 'sender' guards. */
static void
begin_change(struct upcall_sender *sender)
{
    uint32_t version;

    atomic_read_relaxed(&sender->version, &version);
    atomic_store_relaxed(&sender->version, version + 1);
}

static void
end_change(struct upcall_sender *sender)
{
    uint32_t version;

    atomic_read_relaxed(&sender->version, &version);
    /* Release: all changes. */
    atomic_store_explicit(&sender->version, version + 1,
                          memory_order_release);
}

/* Begins a window of 'sender' at 'now'.  'idle' says that the window before
 * was idle. */
static void
begin_window(struct upcall_sender *sender, uint64_t now, bool idle)
{
    struct upcall_sender_mark *before = &sender->marks[0];
    struct upcall_sender_mark *current = &sender->marks[1];
    uint64_t arrived = counter_read(&sender->arrived);
    uint64_t shed = counter_read(&sender->shed);

    begin_change(sender);
    put_word(&before->at, idle ? now : counter_read(&current->at));
    put_word(&before->arrived, (idle ? arrived
                                : counter_read(&current->arrived)));
    put_word(&before->shed, idle ? shed : counter_read(&current->shed));
    put_word(&current->at, now);
    put_word(&current->arrived, arrived);
    put_word(&current->shed, shed);
    end_change(sender);
}

/* Gives place 'sender' at 'now' to the sender of 'key' with serial number
 * 'serial', 'n_waiting' of whose upcalls wait. */
static void
begin_sender(struct upcall_sender *sender,
             const struct upcall_sender_key *key, uint64_t serial,
             uint32_t n_waiting, uint64_t now)
{
    uint64_t words[UPCALL_SENDER_KEY_WORDS];

    BUILD_ASSERT_DECL(sizeof words == sizeof *key);
    memcpy(words, key, sizeof words);

    begin_change(sender);
    put_word(&sender->serial, serial);
    for (size_t i = 0; i < UPCALL_SENDER_KEY_WORDS; i++) {
        put_word(&sender->key[i], words[i]);
    }
    put_word(&sender->since, now);
    for (size_t i = 0; i < ARRAY_SIZE(sender->marks); i++) {
        put_word(&sender->marks[i].at, now);
        put_word(&sender->marks[i].arrived, 0);
        put_word(&sender->marks[i].shed, 0);
    }
    put_word(&sender->arrived, n_waiting);
    put_word(&sender->received, 0);
    put_word(&sender->shed, 0);
    end_change(sender);
}

struct upcall_sender_set *
upcall_senders_create(uint64_t now)
{
    const struct upcall_sender_key none = { .port_no = 0 };
    struct upcall_sender_set *senders = xzalloc(sizeof *senders);

    senders->now = now;
    senders->window_end = now + UPCALL_SENDER_WINDOW;
    begin_sender(&senders->total, &none, ++senders->last_serial, 0, now);
    return senders;
}

void
upcall_senders_destroy(struct upcall_sender_set *senders)
{
    free(senders);
}

/* True if 'sender' has key 'key'. */
static bool
is_sender(const struct upcall_sender *sender,
          const struct upcall_sender_key *key)
{
    uint64_t words[UPCALL_SENDER_KEY_WORDS];

    for (size_t i = 0; i < UPCALL_SENDER_KEY_WORDS; i++) {
        words[i] = counter_read(&sender->key[i]);
    }
    return !memcmp(words, key, sizeof words);
}

/* Finds a place with the least weight.  All places are taken.
 *
 * No weight is below 'least'.  A sender that takes a place soon weighs more
 * than 'least', so in a flood of new senders the following places have the
 * least weight, one after the other, and the search continues where it
 * ended. */
static size_t
find_least(struct upcall_sender_set *senders)
{
    uint32_t least = UINT32_MAX;

    for (size_t i = 0; i < UPCALL_SENDER_PLACES; i++) {
        size_t place = senders->next_place++ % UPCALL_SENDER_PLACES;

        if (senders->weights[place] <= senders->least) {
            return place;
        }
        least = MIN(least, senders->weights[place]);
    }
    senders->least = least;
    return find_least(senders);
}

void
upcall_senders_take(struct upcall_sender_set *senders,
                    const struct upcall_sender_key *key, uint32_t hash,
                    uint32_t n_waiting, struct upcall_sender **user)
{
    size_t i;

    for (i = 0; i < senders->n; i++) {
        if (senders->hashes[i] == hash
            && is_sender(&senders->senders[i], key)) {
            break;
        }
    }
    if (i == senders->n) {
        if (senders->n < UPCALL_SENDER_PLACES) {
            senders->n++;
        } else {
            i = find_least(senders);
            if (senders->senders[i].user) {
                *senders->senders[i].user = NULL;
            }
        }
        senders->hashes[i] = hash;
        begin_sender(&senders->senders[i], key, ++senders->last_serial,
                     n_waiting, senders->now);
    }
    senders->senders[i].user = user;
    *user = &senders->senders[i];
}

void
upcall_senders_begin_window(struct upcall_sender_set *senders)
{
    uint64_t n_ended = ((senders->now - senders->window_end)
                        / UPCALL_SENDER_WINDOW + 1);
    bool idle = n_ended > 1;

    senders->least >>= MIN(n_ended, 31);
    for (size_t i = 0; i < senders->n; i++) {
        senders->weights[i] >>= MIN(n_ended, 31);
        begin_window(&senders->senders[i], senders->now, idle);
    }
    begin_window(&senders->total, senders->now, idle);
    senders->window_end = senders->now + UPCALL_SENDER_WINDOW;
}

/* The readers' side. */

/* Copies of the members that 'version' guards, and of the counts. */
struct look {
    uint64_t serial;
    uint64_t key[UPCALL_SENDER_KEY_WORDS];
    uint64_t since;
    uint64_t at[2], arrived_then[2], shed_then[2];
    uint64_t arrived, received, shed;
};

/* Loads a word that 'version' guards.  Acquire: the second load of
 * 'version'. */
static uint64_t
get_word(const atomic_uint64_t *where)
{
    uint64_t value;

    atomic_read_explicit(CONST_CAST(atomic_uint64_t *, where), &value,
                         memory_order_acquire);
    return value;
}

static void
look_once(const struct upcall_sender *sender, struct look *look)
{
    look->serial = get_word(&sender->serial);
    for (size_t i = 0; i < UPCALL_SENDER_KEY_WORDS; i++) {
        look->key[i] = get_word(&sender->key[i]);
    }
    look->since = get_word(&sender->since);
    for (size_t i = 0; i < ARRAY_SIZE(sender->marks); i++) {
        look->at[i] = get_word(&sender->marks[i].at);
        look->arrived_then[i] = get_word(&sender->marks[i].arrived);
        look->shed_then[i] = get_word(&sender->marks[i].shed);
    }

    /* The owner counts an upcall as arrived before it counts the upcall as
     * received or shed. */
    look->received = get_word(&sender->received);
    look->shed = get_word(&sender->shed);
    look->arrived = get_word(&sender->arrived);
}

/* Copies 'sender'.  Returns false if the owner changes it all the time. */
static bool
look_at(const struct upcall_sender *sender_, struct look *look)
{
    struct upcall_sender *sender = CONST_CAST(struct upcall_sender *,
                                              sender_);

    for (int i = 0; i < MAX_LOOKS; i++) {
        uint32_t before, after;

        /* Acquire: earlier changes. */
        atomic_read_explicit(&sender->version, &before,
                             memory_order_acquire);
        look_once(sender, look);
        atomic_read_relaxed(&sender->version, &after);
        if (before == after && !(before & 1)) {
            return true;
        }
    }
    return false;
}

/* 'a - b', or 0 if that is negative: counts are read one by one. */
static uint64_t
less(uint64_t a, uint64_t b)
{
    return a > b && a - b <= INT64_MAX ? a - b : 0;
}

static uint64_t
a_second(uint64_t n, uint64_t usec)
{
    return DIV_ROUND_UP(n * 1000000, MAX(usec, MIN_RATE_TIME));
}

static void
get_rates(const struct look *look, uint64_t now,
          struct upcall_sender_info *info)
{
    uint64_t age = less(now, look->at[1]);
    int i = age >= UPCALL_SENDER_WINDOW;

    if (age < 2 * UPCALL_SENDER_WINDOW) {
        uint64_t usec = less(now, look->at[i]);

        info->rate = a_second(less(look->arrived, look->arrived_then[i]),
                              usec);
        info->shed_rate = a_second(less(look->shed, look->shed_then[i]),
                                   usec);
    }
}

/* Stores the state of 'sender' at 'now' in '*info'.  Returns false if there is
 * no sender. */
static bool
get_info(const struct upcall_sender *sender, uint64_t reset_at, uint64_t now,
         struct upcall_sender_info *info)
{
    struct look look;

    if (!look_at(sender, &look) || !look.serial) {
        return false;
    }
    memset(info, 0, sizeof *info);
    memcpy(&info->key, look.key, sizeof info->key);
    info->waiting = less(look.arrived, look.received + look.shed);
    info->received = look.received;
    info->shed = look.shed;
    if (sender->base_serial == look.serial) {
        info->received -= sender->base_received;
        info->shed -= sender->base_shed;
    }
    info->age = less(now, MAX(look.since, reset_at)) / 1000;
    get_rates(&look, now, info);
    return true;
}

size_t
upcall_senders_get(const struct upcall_sender_set *senders, uint64_t now,
                   struct upcall_sender_info infos[UPCALL_SENDER_PLACES],
                   struct upcall_sender_info *total)
{
    size_t n = 0;

    for (size_t i = 0; i < UPCALL_SENDER_PLACES; i++) {
        n += get_info(&senders->senders[i], senders->reset_at, now,
                      &infos[n]);
    }

    /* The total is read last, so that no sender exceeds it. */
    if (!get_info(&senders->total, senders->reset_at, now, total)) {
        memset(total, 0, sizeof *total);
    }
    return n;
}

static void
reset_sender(struct upcall_sender *sender)
{
    struct look look;

    /* A sender that changes all the time is new. */
    if (look_at(sender, &look)) {
        sender->base_serial = look.serial;
        sender->base_received = look.received;
        sender->base_shed = look.shed;
    }
}

void
upcall_senders_reset(struct upcall_sender_set *senders, uint64_t now)
{
    for (size_t i = 0; i < UPCALL_SENDER_PLACES; i++) {
        reset_sender(&senders->senders[i]);
    }
    reset_sender(&senders->total);
    senders->reset_at = now;
}

void
upcall_sender_info_add(struct upcall_sender_info *a,
                       const struct upcall_sender_info *b)
{
    a->received += b->received;
    a->shed += b->shed;
    a->waiting += b->waiting;
    a->rate += b->rate;
    a->shed_rate += b->shed_rate;
    a->age = MAX(a->age, b->age);
}

void
upcall_sender_info_subtract(struct upcall_sender_info *a,
                            const struct upcall_sender_info *b)
{
    a->received = less(a->received, b->received);
    a->shed = less(a->shed, b->shed);
    a->waiting = less(a->waiting, b->waiting);
    a->rate = less(a->rate, b->rate);
    a->shed_rate = less(a->shed_rate, b->shed_rate);
}

static int
compare_keys(const void *a_, const void *b_)
{
    const struct upcall_sender_info *a = a_;
    const struct upcall_sender_info *b = b_;

    return memcmp(&a->key, &b->key, sizeof a->key);
}

size_t
upcall_senders_merge(struct upcall_sender_info *infos, size_t n)
{
    size_t n_merged = 0;

    if (n) {
        qsort(infos, n, sizeof *infos, compare_keys);
    }
    for (size_t i = 0; i < n; i++) {
        if (n_merged && !compare_keys(&infos[n_merged - 1], &infos[i])) {
            upcall_sender_info_add(&infos[n_merged - 1], &infos[i]);
        } else {
            infos[n_merged++] = infos[i];
        }
    }
    return n_merged;
}
