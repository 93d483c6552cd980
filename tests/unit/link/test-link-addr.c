/* SPDX-License-Identifier: Apache-2.0 */

/* Invariant L2: IP addresses of links. */

#include <config.h>
#include "link/link-addr.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "packets.h"
#include "harness/unit.h"
#include "util.h"

#define LINK 7

static int
setup(void **state)
{
    *state = link_addrs_create();
    return 0;
}

static int
teardown(void **state)
{
    link_addrs_destroy(*state);
    return 0;
}

static bool
update(struct link_addrs *addrs, int ifindex, const char *string,
       uint8_t prefix_len, bool gone)
{
    struct in6_addr ip;
    struct link_addr_view view = {
        .family = strchr(string, ':') ? AF_INET6 : AF_INET,
        .prefix_len = prefix_len,
        .ifindex = ifindex,
        .address = &ip,
    };

    view.address_len = view.family == AF_INET ? 4 : 16;
    assert_int_equal(inet_pton(view.family, string, &ip), 1);
    return link_addrs_update(addrs, &view, gone);
}

#define ADD(IFINDEX, STRING, LEN) update(*state, IFINDEX, STRING, LEN, false)
#define DEL(IFINDEX, STRING, LEN) update(*state, IFINDEX, STRING, LEN, true)

/* Asserts that the addresses of 'ifindex' are those in 'expected', in order:
 * "ADDRESS/MASK ADDRESS/MASK ". */
static void
assert_addrs(struct link_addrs *addrs, int ifindex, const char *expected)
{
    struct in6_addr *a, *m;
    char got[1024] = "";
    size_t n = link_addrs_get(addrs, ifindex, &a, &m);

    for (size_t i = 0; i < n; i++) {
        char string[INET6_ADDRSTRLEN];

        inet_ntop(AF_INET6, &a[i], string, sizeof string);
        strcat(strcat(got, string), "/");
        inet_ntop(AF_INET6, &m[i], string, sizeof string);
        strcat(strcat(got, string), " ");
    }
    assert_string_equal(got, expected);
    assert_true(n || (!a && !m));
    free(a);
    free(m);
}

static void
ipv4_addresses_come_first_and_the_oldest_before(void **state)
{
    assert_addrs(*state, LINK, "");
    assert_true(ADD(LINK, "fe80::1", 64));
    assert_true(ADD(LINK, "10.0.0.2", 24));
    assert_true(ADD(LINK, "fd00::1", 128));
    assert_true(ADD(LINK, "10.0.0.1", 8));
    assert_addrs(*state, LINK,
                 "::ffff:10.0.0.2/::ffff:255.255.255.0 "
                 "::ffff:10.0.0.1/::ffff:255.0.0.0 "
                 "fd00::1/ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff "
                 "fe80::1/ffff:ffff:ffff:ffff:: ");
    assert_addrs(*state, LINK + 1, "");
    assert_int_equal(link_addrs_count(*state), 4);
}

/* As events tell them, and as the kernel lists them when a daemon starts. */
static void
ipv6_addresses_have_one_order(void **state)
{
    static const char *const expected =
        "fd00::1/ffff:ffff:ffff:ffff:: fd00::2/ffff:ffff:ffff:ffff:: ";

    ADD(LINK, "fd00::1", 64);
    ADD(LINK, "fd00::2", 64);
    assert_addrs(*state, LINK, expected);
    ADD(LINK + 1, "fd00::2", 64);
    ADD(LINK + 1, "fd00::1", 64);
    assert_addrs(*state, LINK + 1, expected);
}

static void
prefixes_may_have_any_length(void **state)
{
    ADD(1, "0.0.0.0", 0);
    assert_addrs(*state, 1, "::ffff:0.0.0.0/::ffff:0.0.0.0 ");
    ADD(2, "10.0.0.1", 32);
    assert_addrs(*state, 2, "::ffff:10.0.0.1/::ffff:255.255.255.255 ");
    ADD(3, "fd00::1", 0);
    assert_addrs(*state, 3, "fd00::1/:: ");
    ADD(4, "10.0.0.1", 33);
    ADD(4, "fd00::1", 129);
    assert_addrs(*state, 4, "");
    assert_int_equal(link_addrs_count(*state), 3);
}

/* True if addresses of links have changed since the last call. */
static bool
any_changed(struct link_addrs *addrs)
{
    bool any = false;
    int ifindex;

    while (link_addrs_next_changed(addrs, &ifindex)) {
        any = true;
    }
    return any;
}

static void
what_changes_nothing_is_no_change(void **state)
{
    assert_true(ADD(LINK, "10.0.0.1", 24));
    assert_true(any_changed(*state));
    assert_false(ADD(LINK, "10.0.0.1", 24));
    assert_false(DEL(LINK, "10.0.0.2", 24));
    assert_false(DEL(LINK + 1, "10.0.0.1", 24));
    link_addrs_remove_link(*state, LINK + 1);
    assert_false(any_changed(*state));
    assert_true(DEL(LINK, "10.0.0.1", 24));
    assert_true(any_changed(*state));
    assert_int_equal(link_addrs_count(*state), 0);
}

static void
one_address_may_have_two_prefixes_and_be_on_two_links(void **state)
{
    assert_true(ADD(LINK, "10.0.0.1", 24));
    assert_true(ADD(LINK, "10.0.0.1", 16));
    assert_true(ADD(LINK + 1, "10.0.0.1", 24));
    assert_true(DEL(LINK, "10.0.0.1", 24));
    assert_addrs(*state, LINK, "::ffff:10.0.0.1/::ffff:255.255.0.0 ");
    assert_addrs(*state, LINK + 1, "::ffff:10.0.0.1/::ffff:255.255.255.0 ");

    /* An IPv6 address that looks like an IPv4 one is another. */
    assert_true(ADD(LINK, "::ffff:10.0.0.1", 16));
    assert_int_equal(link_addrs_count(*state), 3);
}

static void
addresses_go_with_their_link(void **state)
{
    ADD(LINK, "10.0.0.1", 24);
    ADD(LINK, "fd00::1", 64);
    ADD(LINK + 1, "10.0.0.1", 24);
    link_addrs_remove_link(*state, LINK);
    assert_addrs(*state, LINK, "");
    assert_int_equal(link_addrs_count(*state), 1);
}

static void
a_sweep_removes_what_was_not_told_again(void **state)
{
    ADD(LINK, "10.0.0.1", 24);
    ADD(LINK, "10.0.0.2", 24);
    ADD(LINK + 1, "fd00::1", 64);
    link_addrs_mark(*state);
    assert_false(ADD(LINK, "10.0.0.2", 24));
    assert_true(ADD(LINK, "10.0.0.3", 24));
    assert_true(any_changed(*state));
    assert_int_equal(link_addrs_count(*state), 4);
    link_addrs_sweep(*state);
    assert_true(any_changed(*state));
    assert_addrs(*state, LINK, "::ffff:10.0.0.2/::ffff:255.255.255.0 "
                 "::ffff:10.0.0.3/::ffff:255.255.255.0 ");
    assert_addrs(*state, LINK + 1, "");

    /* With all told again, nothing changes. */
    link_addrs_mark(*state);
    ADD(LINK, "10.0.0.2", 24);
    ADD(LINK, "10.0.0.3", 24);
    link_addrs_sweep(*state);
    assert_false(any_changed(*state));
}

static void
what_is_no_ip_address_is_ignored(void **state)
{
    struct link_addr_view view = {
        .family = AF_INET, .prefix_len = 24, .ifindex = LINK,
    };

    assert_false(link_addrs_update(*state, &view, false));
    view.address = "0123456789abcdef";
    view.address_len = 16;
    assert_false(link_addrs_update(*state, &view, false));
    view.family = AF_PHONET;
    assert_false(link_addrs_update(*state, &view, false));
    assert_int_equal(link_addrs_count(*state), 0);
    link_addrs_destroy(NULL);
}

/* So that what depends on addresses is looked at where they changed. */
static void
each_link_whose_addresses_changed_is_told_once(void **state)
{
    int ifindex;

    ADD(LINK, "10.0.0.1", 24);
    ADD(LINK, "10.0.0.2", 24);
    assert_true(link_addrs_next_changed(*state, &ifindex));
    assert_int_equal(ifindex, LINK);
    assert_false(link_addrs_next_changed(*state, &ifindex));

    /* Told again, it is no change. */
    assert_false(ADD(LINK, "10.0.0.1", 24));
    assert_false(link_addrs_next_changed(*state, &ifindex));

    ADD(LINK + 1, "10.0.0.3", 24);
    assert_true(link_addrs_next_changed(*state, &ifindex));
    link_addrs_mark(*state);
    ADD(LINK + 1, "10.0.0.3", 24);
    link_addrs_sweep(*state);
    assert_true(link_addrs_next_changed(*state, &ifindex));
    assert_int_equal(ifindex, LINK);
    assert_false(link_addrs_next_changed(*state, &ifindex));

    link_addrs_remove_link(*state, LINK + 1);
    assert_true(link_addrs_next_changed(*state, &ifindex));
    assert_int_equal(ifindex, LINK + 1);
    ADD(LINK, "10.0.0.1", 24);
}

int
main(int argc OVS_UNUSED, char *argv[])
{
    static const struct CMUnitTest tests[] = {
#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)
        TEST(ipv4_addresses_come_first_and_the_oldest_before),
        TEST(ipv6_addresses_have_one_order),
        TEST(prefixes_may_have_any_length),
        TEST(what_changes_nothing_is_no_change),
        TEST(one_address_may_have_two_prefixes_and_be_on_two_links),
        TEST(addresses_go_with_their_link),
        TEST(a_sweep_removes_what_was_not_told_again),
        TEST(what_is_no_ip_address_is_ignored),
        TEST(each_link_whose_addresses_changed_is_told_once),
    };

    unit_init(argv[0]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
