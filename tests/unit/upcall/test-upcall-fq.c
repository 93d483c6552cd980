/* SPDX-License-Identifier: Apache-2.0 */

/* U10: senders on one channel are served as if each had a channel of its
 * own: the queues alone. */

#include <config.h>
#include "upcall/upcall-fq.h"

#include <endian.h>
#include <libmnl/libmnl.h>
#include <linux/genetlink.h>
#include <stdlib.h>
#include <string.h>

#include "harness/prng.h"
#include "harness/unit.h"
#include "odp-netlink.h"
#include "util.h"

#define NOW UINT64_C(1000000)

/* What the tests send: the sender and a number. */
struct item {
    uint32_t sender;
    uint32_t seq;
    char pad[92];
};

static int
setup(void **state)
{
    static struct upcall_fq fq;

    upcall_fq_init(&fq);
    *state = &fq;
    return 0;
}

static int
teardown(void **state)
{
    upcall_fq_uninit(*state);
    assert_int_equal(upcall_fq_total_bytes(), 0);
    return 0;
}

static void
put_at(struct upcall_fq *fq, uint32_t sender, uint32_t seq, uint64_t at)
{
    const struct upcall_sender_key key = { .port_no = sender };
    struct item item = { .sender = sender, .seq = seq };
    const struct upcall_rx rx = { .data = &item, .len = sizeof item };

    upcall_fq_put(fq, &key, &rx, at);
}

static void
put(struct upcall_fq *fq, uint32_t sender, uint32_t seq)
{
    put_at(fq, sender, seq, NOW);
}

static void
put_n(struct upcall_fq *fq, uint32_t sender, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        put(fq, sender, i);
    }
}

/* Takes the next one.  Its sender is UINT32_MAX if there is none. */
static struct item
get_with(struct upcall_fq *fq, uint64_t now, uint64_t target)
{
    struct upcall_fq_msg *msg = upcall_fq_get(fq, now, target);
    struct item item = { .sender = UINT32_MAX };

    if (msg) {
        assert_int_equal(msg->rx.len, sizeof item);
        memcpy(&item, msg->rx.data, sizeof item);
        free(msg);
    }
    return item;
}

static struct item
get(struct upcall_fq *fq)
{
    return get_with(fq, NOW, 0);
}

static void
check_next(struct upcall_fq *fq, uint32_t sender, uint32_t first, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        struct item item = get(fq);

        assert_int_equal(item.sender, sender);
        assert_int_equal(item.seq, first + i);
    }
}

static void
senders_take_turns(void **state)
{
    struct upcall_fq *fq = *state;

    put_n(fq, 1, 10);
    put_n(fq, 2, 5);
    put_n(fq, 3, 1);
    assert_int_equal(fq->n, 16);
    assert_int_equal(fq->n_backlogged, 3);
    check_next(fq, 1, 0, 4);
    check_next(fq, 2, 0, 4);
    check_next(fq, 3, 0, 1);
    assert_int_equal(fq->n_backlogged, 2);
    check_next(fq, 1, 4, 4);
    check_next(fq, 2, 4, 1);
    check_next(fq, 1, 8, 2);
    assert_int_equal(get(fq).sender, UINT32_MAX);
    assert_int_equal(fq->n + fq->n_bytes + fq->n_backlogged, 0);
    assert_true(hmap_is_empty(&fq->classes));
}

static void
sender_that_was_quiet_goes_first(void **state)
{
    struct upcall_fq *fq = *state;

    put_n(fq, 1, 100);
    put_n(fq, 2, 100);
    check_next(fq, 1, 0, 4);
    check_next(fq, 2, 0, 2);
    put(fq, 3, 0);
    check_next(fq, 2, 2, 2);    /* It is new itself. */
    check_next(fq, 3, 0, 1);
    check_next(fq, 1, 4, 1);
    put_n(fq, 4, 3);
    check_next(fq, 4, 0, 3);

    /* For a turn, and not again and again. */
    put(fq, 4, 3);
    put(fq, 4, 4);
    check_next(fq, 4, 3, 1);
    check_next(fq, 1, 5, 3);
    check_next(fq, 2, 4, 4);
    check_next(fq, 4, 4, 1);
    put(fq, 4, 5);
    check_next(fq, 4, 5, 1);
}

static void
largest_sender_makes_room(void **state)
{
    struct upcall_fq *fq = *state;

    put_n(fq, 1, UPCALL_FQ_MAX - 100);
    put_n(fq, 2, 100);
    assert_int_equal(fq->n_shed, 0);
    put(fq, 3, 0);
    assert_int_equal(fq->n_shed, (UPCALL_FQ_MAX - 100) / 2);
    assert_int_equal(fq->n + fq->n_shed, UPCALL_FQ_MAX + 1);

    /* The oldest went. */
    check_next(fq, 1, (UPCALL_FQ_MAX - 100) / 2, 4);
    check_next(fq, 2, 0, 4);
    check_next(fq, 3, 0, 1);
}

static void
memory_is_bounded(void **state)
{
    static char data[65536];
    const struct upcall_rx rx = { .data = data, .len = sizeof data };
    struct upcall_fq *fq = *state;
    const struct upcall_sender_key key = { .port_no = 1 };

    put(fq, 2, 7);
    for (int i = 0; i < 100; i++) {
        upcall_fq_put(fq, &key, &rx, NOW);
        assert_true(fq->n_bytes <= UPCALL_FQ_MAX_BYTES);
        assert_int_equal(upcall_fq_total_bytes(), fq->n_bytes);
    }
    assert_int_equal(fq->n + fq->n_shed, 101);
    check_next(fq, 2, 7, 1);
}

static void
what_waits_too_long_is_thrown_away(void **state)
{
    struct upcall_fq *fq = *state;

    for (uint32_t i = 0; i < 20; i++) {
        put_at(fq, 1, i, NOW + i * 1000);
    }
    put_at(fq, 2, 0, NOW);

    /* Except for a turn. */
    assert_int_equal(get_with(fq, NOW + 15000, 5000).seq, 10);
    assert_int_equal(fq->n_shed, 10);
    assert_int_equal(get_with(fq, NOW + 15000, 5000).seq, 11);
    assert_int_equal(get_with(fq, NOW + 900000, 5000).seq, 16);
    assert_int_equal(get_with(fq, NOW + 900000, 5000).seq, 17);
    assert_int_equal(fq->n_shed, 14);
    assert_int_equal(get_with(fq, NOW + 900000, 5000).sender, 2);
    assert_int_equal(get_with(fq, NOW + 900000, 5000).seq, 18);
}

/* Checks that the summary refers to 'n' senders. */
static void
check_referred(const struct upcall_fq *fq, size_t n)
{
    const struct upcall_sender_set *senders = upcall_fq_senders(fq);
    size_t n_referred = 0;

    for (size_t i = 0; i < senders->n; i++) {
        n_referred += senders->senders[i].user != NULL;
    }
    assert_int_equal(n_referred, n);
}

/* A sender that takes its place would write to freed memory. */
static void
summary_does_not_refer_to_a_sender_that_is_gone(void **state)
{
    struct upcall_fq *fq = *state;

    put(fq, 1, 0);
    put(fq, 2, 0);
    check_referred(fq, 2);
    check_next(fq, 1, 0, 1);
    check_next(fq, 2, 0, 1);
    assert_int_equal(get(fq).sender, UINT32_MAX);
    assert_true(hmap_is_empty(&fq->classes));
    check_referred(fq, 0);

    /* It comes back to its place. */
    put(fq, 1, 1);
    check_referred(fq, 1);
    assert_int_equal(upcall_fq_senders(fq)->n, 2);
    upcall_fq_clear(fq);
    check_referred(fq, 0);
}

/* Whatever the senders do: each one's upcalls come in order, none is there
 * twice, all are handed out or counted, and a sender that sends no more than
 * its share loses none and does not wait for more than a turn of each other
 * one. */
static void
model_of_many_senders(void **state)
{
    enum { N = 30 };
    struct upcall_fq *fq = *state;
    uint32_t sent[N] = { 0 }, got[N] = { 0 }, next[N] = { 0 };
    uint64_t n_sent = 0, n_got = 0;

    for (int i = 0; i < 100000; i++) {
        uint32_t sender = unit_random(3) ? unit_random(N - 1) : 0;
        struct item item;

        for (int j = 0; j < 2; j++) {
            put(fq, sender, sent[sender]++);
            n_sent++;
        }
        if (i % 500 == 0) {
            /* The quiet one. */
            put(fq, N - 1, sent[N - 1]++);
            n_sent++;
        }
        item = get(fq);
        assert_true(item.sender < N);
        assert_true(item.seq >= next[item.sender]);
        if (item.sender == N - 1) {
            assert_int_equal(item.seq, next[item.sender]);
        }
        next[item.sender] = item.seq + 1;
        got[item.sender]++;
        n_got++;
        assert_int_equal(fq->n, n_sent - n_got - fq->n_shed);
        assert_true(sent[N - 1] - got[N - 1] <= 1);
    }
    /* A third of all is one's, which got a share as the others. */
    for (uint32_t i = 1; i < N - 1; i++) {
        assert_true(got[0] * 10 < got[i] * 11 + 100);
    }
    assert_int_equal(got[N - 1], sent[N - 1]);
}

/* Keys. */

static struct nlmsghdr *
begin_upcall(char *buf)
{
    struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);

    mnl_nlmsg_put_extra_header(nlh, sizeof(struct genlmsghdr));
    mnl_nlmsg_put_extra_header(nlh, sizeof(struct ovs_header));
    return nlh;
}

/* An upcall of input port 'port_no', from a tunnel with 'id' if 'source' is
 * not null. */
static struct upcall_sender_key
key_of(uint32_t port_no, const void *source, size_t source_len, uint64_t id,
       bool by_port)
{
    char buf[1024] = { 0 };
    struct nlmsghdr *nlh = begin_upcall(buf);
    struct upcall_sender_key key;
    struct nlattr *flow_key;

    flow_key = mnl_attr_nest_start(nlh, OVS_PACKET_ATTR_KEY);
    mnl_attr_put_u32(nlh, OVS_KEY_ATTR_RECIRC_ID, 0);
    if (source) {
        struct nlattr *tunnel = mnl_attr_nest_start(nlh, OVS_KEY_ATTR_TUNNEL);

        mnl_attr_put_u64(nlh, OVS_TUNNEL_KEY_ATTR_ID, id);
        mnl_attr_put(nlh, (source_len == 4 ? OVS_TUNNEL_KEY_ATTR_IPV4_SRC
                           : OVS_TUNNEL_KEY_ATTR_IPV6_SRC), source_len,
                     source);
        mnl_attr_put_u32(nlh, OVS_TUNNEL_KEY_ATTR_IPV4_DST, id + 1);
        mnl_attr_nest_end(nlh, tunnel);
    }
    mnl_attr_put_u32(nlh, OVS_KEY_ATTR_IN_PORT, port_no);
    mnl_attr_nest_end(nlh, flow_key);
    upcall_sender_key_get(buf, nlh->nlmsg_len, by_port, &key);

    /* Every part of it is something, too. */
    for (size_t i = 0; i < nlh->nlmsg_len; i++) {
        struct upcall_sender_key other;
        char *part = xmemdup(buf, MAX(1, i));

        memset(&other, 0xff, sizeof other);
        upcall_sender_key_get(part, i, by_port, &other);
        assert_int_equal(other.pad, 0);
        free(part);
    }
    return key;
}

static bool
is_same(struct upcall_sender_key a, struct upcall_sender_key b)
{
    return !memcmp(&a, &b, sizeof a);
}

/* Checks all of 'key'. */
static void
check_key(struct upcall_sender_key key, struct upcall_sender_key expected,
          uint64_t id, const char *remote)
{
    char buf[UPCALL_SENDER_REMOTE_LEN];

    assert_memory_equal(&key, &expected, sizeof key);
    assert_true(upcall_sender_id(&key) == id);
    assert_int_equal(upcall_sender_has_remote(&key),
                     strcmp(remote, "(unknown)") != 0);
    upcall_sender_format_remote(&key, buf);
    assert_string_equal(buf, remote);
}

static void
key_says_where_an_upcall_comes_from(void **state OVS_UNUSED)
{
    static const uint8_t v4[4] = { 10, 0, 0, 1 };
    static const uint8_t v6[16] = { 0x20, 1, [15] = 9 };
    static const uint8_t v6_last[16] = { [15] = 1 };
    const uint64_t id = htobe64(70000);

    check_key(key_of(3, v4, 4, id, false), (struct upcall_sender_key) {
        .source = { [10] = 0xff, 0xff, 10, 0, 0, 1 }, .id = id,
    }, 70000, "10.0.0.1");
    check_key(key_of(3, v6, 16, id, false), (struct upcall_sender_key) {
        .source = { 0x20, 1, [15] = 9 }, .id = id,
    }, 70000, "2001::9");
    check_key(key_of(3, v6_last, 16, 0, false), (struct upcall_sender_key) {
        .source = { [15] = 1 },
    }, 0, "::1");
    check_key(key_of(3, v6, 15, id, false), (struct upcall_sender_key) {
        .id = id,
    }, 70000, "(unknown)");
    check_key(key_of(3, NULL, 0, 0, false), (struct upcall_sender_key) {
        .id = 0,
    }, 0, "(unknown)");
    check_key(key_of(3, v4, 4, id, true), (struct upcall_sender_key) {
        .port_no = 3,
    }, 0, "(unknown)");
}

static void
senders_are_told_apart(void **state OVS_UNUSED)
{
    static const uint8_t v4[2][4] = { { 10, 0, 0, 1 }, { 10, 0, 0, 2 } };
    static const uint8_t v6[2][16] = { { 0x20, 1 }, { 0x20, 2 } };
    struct upcall_sender_key key = key_of(3, v4[0], 4, 7, false);

    assert_true(is_same(key, key_of(4, v4[0], 4, 7, false)));
    assert_false(is_same(key, key_of(3, v4[1], 4, 7, false)));
    assert_false(is_same(key, key_of(3, v4[0], 4, 8, false)));
    assert_false(is_same(key, key_of(3, v6[0], 16, 7, false)));
    assert_false(is_same(key_of(3, v6[0], 16, 7, false),
                         key_of(3, v6[1], 16, 7, false)));
    assert_false(is_same(key, key_of(3, NULL, 0, 0, false)));
    assert_true(is_same(key_of(3, NULL, 0, 0, false),
                        key_of(4, NULL, 0, 0, false)));

    assert_int_equal(key_of(3, v4[0], 4, 7, true).port_no, 3);
    assert_true(is_same(key_of(3, v4[0], 4, 7, true),
                        key_of(3, NULL, 0, 0, true)));
    assert_false(is_same(key_of(3, NULL, 0, 0, true),
                         key_of(4, NULL, 0, 0, true)));
}

int
main(int argc OVS_UNUSED, char *argv[])
{
#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(senders_take_turns),
        TEST(sender_that_was_quiet_goes_first),
        TEST(largest_sender_makes_room),
        TEST(memory_is_bounded),
        TEST(what_waits_too_long_is_thrown_away),
        TEST(summary_does_not_refer_to_a_sender_that_is_gone),
        TEST(model_of_many_senders),
        cmocka_unit_test(key_says_where_an_upcall_comes_from),
        cmocka_unit_test(senders_are_told_apart),
    };

    unit_init(argv[0]);
    return cmocka_run_group_tests_name("upcall-fq", tests, NULL, NULL);
}
