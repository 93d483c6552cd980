/* SPDX-License-Identifier: Apache-2.0 */

/* Answers that the kernel gives seldom or never: interrupted dumps, late
 * answers, errors of the socket, and nonsense.  The linker sends the functions
 * that send and receive here (--wrap). */

#include <config.h>
#include "nl/nl-conn.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness/unit.h"
#include "util.h"

#define TYPE 0x30               /* Of the messages of an answer. */

/* Stands for the sequence number of the request. */
#define SEQ_OURS 0

/* What the socket says, one datagram or error after the other. */
struct datagram {
    int error;                  /* Errno value, or 0 for a datagram. */
    char buf[512] __attribute__((aligned(NLMSG_ALIGNTO)));
    size_t len;
};

static struct datagram script[8];
static size_t n_script;
static size_t next_datagram;
static int send_error;
static uint32_t request_seq;
static uint16_t request_flags;

ssize_t __wrap_mnl_socket_sendto(const struct mnl_socket *, const void *,
                                 size_t);
ssize_t
__wrap_mnl_socket_sendto(const struct mnl_socket *sock OVS_UNUSED,
                         const void *buf, size_t len)
{
    const struct nlmsghdr *nlh = buf;

    if (send_error) {
        errno = send_error;
        return -1;
    }
    assert_int_equal(nlh->nlmsg_len, len);
    request_seq = nlh->nlmsg_seq;
    request_flags = nlh->nlmsg_flags;
    return len;
}

ssize_t __wrap_nl_kernel_recv(const struct mnl_socket *, void *, size_t);
ssize_t
__wrap_nl_kernel_recv(const struct mnl_socket *sock OVS_UNUSED,
                      void *buf, size_t size)
{
    struct datagram *d;

    /* A caller that asks for more than there is would block for ever. */
    assert_true(next_datagram < n_script);
    d = &script[next_datagram++];
    if (d->error) {
        errno = d->error;
        return -1;
    }
    assert_true(d->len <= size);

    /* Fills in the sequence number of the request. */
    int left = d->len;
    for (struct nlmsghdr *nlh = (struct nlmsghdr *) d->buf;
         mnl_nlmsg_ok(nlh, left); nlh = mnl_nlmsg_next(nlh, &left)) {
        if (nlh->nlmsg_seq == SEQ_OURS) {
            nlh->nlmsg_seq = request_seq;
        }
    }
    memcpy(buf, d->buf, d->len);
    return d->len;
}

static struct datagram *
add_datagram(void)
{
    assert_true(n_script < ARRAY_SIZE(script));
    memset(&script[n_script], 0, sizeof script[n_script]);
    return &script[n_script++];
}

static void
add_error(int error)
{
    add_datagram()->error = error;
}

/* Appends a message to datagram 'd'. */
static struct nlmsghdr *
put_message(struct datagram *d, uint16_t type, uint16_t flags, uint32_t seq,
            const void *payload, size_t n)
{
    struct nlmsghdr *nlh = mnl_nlmsg_put_header(d->buf + d->len);

    nlh->nlmsg_type = type;
    nlh->nlmsg_flags = flags;
    nlh->nlmsg_seq = seq;
    memcpy(mnl_nlmsg_put_extra_header(nlh, n), payload, n);
    d->len += nlh->nlmsg_len;
    return nlh;
}

static void
put_value(struct datagram *d, uint16_t flags, uint32_t seq, uint32_t value)
{
    put_message(d, TYPE, flags, seq, &value, sizeof value);
}

/* Ends the answer to a dump. */
static void
put_done(struct datagram *d, uint16_t flags, int status)
{
    put_message(d, NLMSG_DONE, flags | NLM_F_MULTI, SEQ_OURS, &status,
                sizeof status);
}

/* An acknowledgement, or an error if 'error' is negative. */
static void
put_ack(struct datagram *d, uint32_t seq, int error)
{
    struct nlmsgerr err = { .error = error,
                            .msg.nlmsg_len = sizeof err.msg };

    put_message(d, NLMSG_ERROR, NLM_F_CAPPED, seq, &err, sizeof err);
}

/* What the callback saw. */
struct seen {
    uint32_t values[16];
    size_t n;
    int error;                  /* What to return. */
};

static int
see(const struct nlmsghdr *nlh, void *seen_)
{
    struct seen *seen = seen_;

    assert_int_equal(nlh->nlmsg_type, TYPE);
    assert_int_equal(mnl_nlmsg_get_payload_len(nlh), sizeof(uint32_t));
    assert_true(seen->n < ARRAY_SIZE(seen->values));
    memcpy(&seen->values[seen->n++], mnl_nlmsg_get_payload(nlh),
           sizeof(uint32_t));
    return seen->error;
}

static int
setup(void **state)
{
    struct nl_conn *conn;

    n_script = next_datagram = 0;
    send_error = 0;
    assert_int_equal(nl_conn_open(NETLINK_GENERIC, &conn), 0);
    *state = conn;
    return 0;
}

static int
teardown(void **state)
{
    nl_conn_close(*state);
    return 0;
}

/* Sends a request with 'flags' and follows the script to its end. */
static int
transact(struct nl_conn *conn, uint16_t flags, struct seen *seen)
{
    char buf[64] __attribute__((aligned(NLMSG_ALIGNTO)));
    struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
    int error;

    nlh->nlmsg_type = TYPE;
    nlh->nlmsg_flags = NLM_F_REQUEST | flags;
    error = nl_conn_transact(conn, nlh, seen ? see : NULL, seen);
    assert_int_equal(next_datagram, n_script);
    n_script = next_datagram = 0;
    return error;
}

static void
answer_ends_with_the_acknowledgement(void **state)
{
    struct seen seen = { .n = 0 };
    struct datagram *d;

    put_value(add_datagram(), 0, SEQ_OURS, 1);
    d = add_datagram();
    put_value(d, 0, SEQ_OURS, 2);
    put_value(d, 0, SEQ_OURS, 3);
    put_ack(add_datagram(), SEQ_OURS, 0);
    assert_int_equal(transact(*state, NLM_F_ACK, &seen), 0);
    assert_int_equal(seen.n, 3);
    assert_int_equal(seen.values[0], 1);
    assert_int_equal(seen.values[2], 3);
}

static void
acknowledgement_is_asked_for_when_the_caller_forgot(void **state)
{
    put_ack(add_datagram(), SEQ_OURS, 0);
    assert_int_equal(transact(*state, NLM_F_ECHO, NULL), 0);
    assert_true(request_flags & NLM_F_ACK);
    assert_true(request_flags & NLM_F_ECHO);
}

static void
requests_have_sequence_numbers_of_their_own(void **state)
{
    uint32_t first;

    put_ack(add_datagram(), SEQ_OURS, 0);
    assert_int_equal(transact(*state, NLM_F_ACK, NULL), 0);
    first = request_seq;
    put_ack(add_datagram(), SEQ_OURS, 0);
    assert_int_equal(transact(*state, NLM_F_ACK, NULL), 0);
    assert_int_not_equal(request_seq, first);
}

static void
late_answers_to_other_requests_are_skipped(void **state)
{
    struct seen seen = { .n = 0 };
    struct datagram *d;

    put_ack(add_datagram(), 12345, -EPERM);
    d = add_datagram();
    put_value(d, 0, 12345, 1);
    put_value(d, 0, SEQ_OURS, 2);
    put_done(add_datagram(), 0, 0);
    ((struct nlmsghdr *) script[2].buf)->nlmsg_seq = 12345;
    put_ack(add_datagram(), SEQ_OURS, 0);
    assert_int_equal(transact(*state, NLM_F_ACK, &seen), 0);
    assert_int_equal(seen.n, 1);
    assert_int_equal(seen.values[0], 2);
}

static void
dump_that_was_interrupted_says_so_at_its_end(void **state)
{
    static const int where[] = { 0, 1, 2 };

    /* The mark may be on any of the messages. */
    for (size_t i = 0; i < ARRAY_SIZE(where); i++) {
        struct seen seen = { .n = 0 };
        struct datagram *d = add_datagram();

        for (int j = 0; j < 2; j++) {
            put_value(d, NLM_F_MULTI | (where[i] == j ? NLM_F_DUMP_INTR : 0),
                      SEQ_OURS, j);
        }
        put_done(add_datagram(), where[i] == 2 ? NLM_F_DUMP_INTR : 0, 0);
        assert_int_equal(transact(*state, NLM_F_DUMP, &seen), EINTR);

        /* Each message was true when it was written. */
        assert_int_equal(seen.n, 2);
        assert_int_equal(seen.values[1], 1);
    }

    /* An error of who reads it is the one to know of. */
    struct seen seen = { .error = EXFULL };
    put_value(add_datagram(), NLM_F_MULTI | NLM_F_DUMP_INTR, SEQ_OURS, 1);
    put_done(add_datagram(), 0, 0);
    assert_int_equal(transact(*state, NLM_F_DUMP, &seen), EXFULL);
    assert_int_equal(seen.n, 1);
}

static void
interruption_of_another_dump_is_not_ours(void **state)
{
    struct seen seen = { .n = 0 };
    struct datagram *d = add_datagram();

    put_value(d, NLM_F_MULTI | NLM_F_DUMP_INTR, 12345, 1);
    put_value(d, NLM_F_MULTI, SEQ_OURS, 2);
    put_done(add_datagram(), 0, 0);
    assert_int_equal(transact(*state, NLM_F_DUMP, &seen), 0);
    assert_int_equal(seen.n, 1);
}

static void
dump_that_failed_half_way_returns_the_error(void **state)
{
    struct seen seen = { .n = 0 };

    put_value(add_datagram(), NLM_F_MULTI, SEQ_OURS, 1);
    put_done(add_datagram(), 0, -ENOMEM);
    assert_int_equal(transact(*state, NLM_F_DUMP, &seen), ENOMEM);
    assert_int_equal(seen.n, 1);

    /* Or was refused to begin with. */
    put_ack(add_datagram(), SEQ_OURS, -EOPNOTSUPP);
    assert_int_equal(transact(*state, NLM_F_DUMP, &seen), EOPNOTSUPP);
}

static void
error_of_the_callback_waits_for_the_end_of_the_answer(void **state)
{
    struct seen seen = { .error = EXFULL };

    put_value(add_datagram(), NLM_F_MULTI, SEQ_OURS, 1);
    put_value(add_datagram(), NLM_F_MULTI, SEQ_OURS, 2);
    put_done(add_datagram(), 0, 0);
    assert_int_equal(transact(*state, NLM_F_DUMP, &seen), EXFULL);
    assert_int_equal(seen.n, 1);
}

static void
errors_of_the_socket_are_returned(void **state)
{
    send_error = ENOBUFS;
    assert_int_equal(transact(*state, NLM_F_ACK, NULL), ENOBUFS);
    send_error = 0;

    /* A signal is none. */
    add_error(EINTR);
    add_error(EINTR);
    put_ack(add_datagram(), SEQ_OURS, 0);
    assert_int_equal(transact(*state, NLM_F_ACK, NULL), 0);

    add_error(ENOBUFS);
    assert_int_equal(transact(*state, NLM_F_ACK, NULL), ENOBUFS);

    /* As libmnl calls a truncated datagram. */
    add_error(ENOSPC);
    assert_int_equal(transact(*state, NLM_F_ACK, NULL), EMSGSIZE);
}

static void
malformed_answers_are_errors(void **state)
{
    static const uint32_t zero;
    struct datagram *d;

    /* An error message that is too short for one. */
    put_message(add_datagram(), NLMSG_ERROR, 0, SEQ_OURS, &zero, sizeof zero);
    assert_int_equal(transact(*state, NLM_F_ACK, NULL), EBADMSG);

    /* A message that is longer than its datagram. */
    d = add_datagram();
    put_value(d, 0, SEQ_OURS, 1);
    ((struct nlmsghdr *) d->buf)->nlmsg_len += 4;
    assert_int_equal(transact(*state, NLM_F_ACK, NULL), EBADMSG);

    /* One that is shorter than a header. */
    d = add_datagram();
    put_value(d, 0, SEQ_OURS, 1);
    ((struct nlmsghdr *) d->buf)->nlmsg_len = 3;
    assert_int_equal(transact(*state, NLM_F_ACK, NULL), EBADMSG);
}

/* A refusal with attribute 'type' behind the request, which has 'request_len'
 * bytes of payload unless it is left out. */
static void
add_explained_error(bool capped, size_t request_len, uint16_t type,
                    const void *data, size_t n)
{
    struct nlmsgerr err = {
        .error = -EINVAL,
        .msg.nlmsg_len = sizeof err.msg + request_len,
    };
    struct datagram *d = add_datagram();
    struct nlmsghdr *nlh;

    nlh = put_message(d, NLMSG_ERROR,
                      NLM_F_ACK_TLVS | (capped ? NLM_F_CAPPED : 0), SEQ_OURS,
                      &err, sizeof err);
    if (!capped) {
        mnl_nlmsg_put_extra_header(nlh, request_len);
    }
    mnl_attr_put(nlh, type, n, data);
    d->len = nlh->nlmsg_len;
}

static void
check_explanation(struct nl_conn *conn, const char *expected)
{
    assert_int_equal(transact(conn, NLM_F_ACK, NULL), EINVAL);
    assert_string_equal(nl_conn_ext_error(conn), expected);
}

static void
explanation_is_found_with_and_without_the_request(void **state)
{
    add_explained_error(true, 0, NLMSGERR_ATTR_MSG, "why", 4);
    check_explanation(*state, "why");
    add_explained_error(true, 40, NLMSGERR_ATTR_MSG, "capped", 7);
    check_explanation(*state, "capped");
    add_explained_error(false, 0, NLMSGERR_ATTR_MSG, "short", 6);
    check_explanation(*state, "short");
    add_explained_error(false, 37, NLMSGERR_ATTR_MSG, "odd", 4);
    check_explanation(*state, "odd");
    add_explained_error(true, 0, NLMSGERR_ATTR_OFFS, "1234", 4);
    check_explanation(*state, "");
}

static void
explanation_that_makes_no_sense_is_none(void **state)
{
    struct nlmsghdr *nlh;
    char text[300];

    /* Without an end. */
    add_explained_error(true, 0, NLMSGERR_ATTR_MSG, "why", 3);
    check_explanation(*state, "");

    /* A request that is longer than the message, or shorter than a header. */
    add_explained_error(false, 0, NLMSGERR_ATTR_MSG, "why", 4);
    nlh = (struct nlmsghdr *) script[0].buf;
    ((struct nlmsgerr *) mnl_nlmsg_get_payload(nlh))->msg.nlmsg_len = 100000;
    check_explanation(*state, "");
    add_explained_error(false, 0, NLMSGERR_ATTR_MSG, "why", 4);
    nlh = (struct nlmsghdr *) script[0].buf;
    ((struct nlmsgerr *) mnl_nlmsg_get_payload(nlh))->msg.nlmsg_len = 3;
    check_explanation(*state, "");

    /* Longer than what is kept of it. */
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    add_explained_error(true, 0, NLMSGERR_ATTR_MSG, text, sizeof text);
    assert_int_equal(transact(*state, NLM_F_ACK, NULL), EINVAL);
    assert_in_range(strlen(nl_conn_ext_error(*state)), 60, sizeof text - 1);
}

#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(answer_ends_with_the_acknowledgement),
        TEST(acknowledgement_is_asked_for_when_the_caller_forgot),
        TEST(requests_have_sequence_numbers_of_their_own),
        TEST(late_answers_to_other_requests_are_skipped),
        TEST(dump_that_was_interrupted_says_so_at_its_end),
        TEST(interruption_of_another_dump_is_not_ours),
        TEST(dump_that_failed_half_way_returns_the_error),
        TEST(error_of_the_callback_waits_for_the_end_of_the_answer),
        TEST(errors_of_the_socket_are_returned),
        TEST(malformed_answers_are_errors),
        TEST(explanation_is_found_with_and_without_the_request),
        TEST(explanation_that_makes_no_sense_is_none),
    };

    unit_init("test-nl-answer");
    return cmocka_run_group_tests_name("nl-answer", tests, NULL, NULL);
}
