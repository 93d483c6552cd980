/* SPDX-License-Identifier: Apache-2.0 */

/* Parser of upcall messages.  Each message is parsed at the end of a page that
 * is followed by one that nobody may touch. */

#include <config.h>
#include "upcall/upcall-msg.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/genetlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "odp-netlink.h"
#include "harness/kernel-messages.h"
#include "harness/unit.h"
#include "util.h"

/* Headers in front of the attributes. */
#define HEADERS (NLMSG_HDRLEN + GENL_HDRLEN + sizeof(struct ovs_header))

static const char packet[42] = "a frame of forty-two bytes";
static const char key[24] = "attributes of a key";
static const char userdata[12] = "cookie";
static const char tun_key[8] = "tunnel";
static const char actions[16] = "actions";
static const uint16_t mru = 1500;
static const uint64_t hash = UINT64_C(0x123456789abcdef0);

/* Start of 'size' bytes, rounded up to alignment, that end where the process
 * may not read any further. */
static char *
guarded(size_t size)
{
    static char *pages;
    static const size_t room = 1 << 17;

    if (!pages) {
        size_t page = sysconf(_SC_PAGESIZE);

        pages = mmap(NULL, room + page, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        assert_ptr_not_equal(pages, MAP_FAILED);
        assert_int_equal(mprotect(pages + room, page, PROT_NONE), 0);
    }
    assert_true(size <= room);
    return pages + room - ROUND_UP(size, NLMSG_ALIGNTO);
}

static void
check_inside(const void *p, size_t n, const char *buf, size_t len)
{
    const char *start = p;

    assert_true(start >= buf && n <= len && start + n <= buf + len);
}

static void
check_attr_inside(const struct nlattr *attr, const char *buf, size_t len)
{
    if (attr) {
        check_inside(attr, sizeof *attr, buf, len);
        check_inside(attr, attr->nla_len, buf, len);
    }
}

/* Parses the 'len' bytes at 'msg' and checks that the view, if there is one,
 * lies within them. */
static int
parse(const void *msg, size_t len, struct upcall_view *view)
{
    char *buf = guarded(len);
    int error;

    memcpy(buf, msg, len);
    error = upcall_msg_parse(buf, len, UNIT_FAMILY, view);
    if (!error) {
        assert_true(view->packet_len >= UPCALL_PACKET_MIN);
        check_inside(view->packet, view->packet_len, buf, len);
        check_inside((char *) view->packet - view->headroom, view->headroom,
                     buf, len);
        check_inside(view->key, view->key_len, buf, len);
        check_attr_inside(view->userdata, buf, len);
        check_attr_inside(view->egress_tun_key, buf, len);
        check_attr_inside(view->actions, buf, len);
        check_attr_inside(view->mru, buf, len);
        check_attr_inside(view->hash, buf, len);
    } else {
        assert_int_equal(error, EINVAL);
    }
    return error;
}

static int
parse_msg(const struct unit_msg *msg, struct upcall_view *view)
{
    return parse(msg->buf, msg->len, view);
}

/* A message with every attribute there is, except type 'without' (0 for
 * none).  Stores the lengths at which an attribute ends in 'ends'. */
static size_t
put_all(struct unit_msg *msg, uint8_t cmd, uint16_t without, size_t ends[])
{
    const struct {
        uint16_t type;
        const void *data;
        size_t n;
    } attrs[] = {
        { OVS_PACKET_ATTR_KEY, key, sizeof key },
        { OVS_PACKET_ATTR_USERDATA, userdata, sizeof userdata },
        { OVS_PACKET_ATTR_EGRESS_TUN_KEY, tun_key, sizeof tun_key },
        { OVS_PACKET_ATTR_ACTIONS, actions, sizeof actions },
        { OVS_PACKET_ATTR_MRU, &mru, sizeof mru },
        { OVS_PACKET_ATTR_PACKET, packet, sizeof packet },
        { OVS_PACKET_ATTR_HASH, &hash, sizeof hash },
    };
    size_t n = 0;

    unit_msg_init(msg, UNIT_FAMILY, cmd, UNIT_DP_IFINDEX);
    for (size_t i = 0; i < ARRAY_SIZE(attrs); i++) {
        if (attrs[i].type != without) {
            unit_msg_put(msg, attrs[i].type, attrs[i].data, attrs[i].n);
            if (ends) {
                ends[n++] = msg->len;
            }
        }
    }
    return n;
}

static void
check_attr(const struct nlattr *attr, uint16_t type, const void *data,
           size_t n)
{
    assert_non_null(attr);
    assert_int_equal(mnl_attr_get_type(attr), type);
    assert_int_equal(mnl_attr_get_payload_len(attr), n);
    assert_memory_equal(mnl_attr_get_payload(attr), data, n);
}

static void
check_full_view(uint8_t cmd, enum upcall_type type)
{
    struct upcall_view view;
    struct unit_msg msg;

    put_all(&msg, cmd, 0, NULL);
    assert_int_equal(parse_msg(&msg, &view), 0);
    assert_int_equal(view.type, type);
    assert_int_equal(view.dp_ifindex, UNIT_DP_IFINDEX);
    assert_int_equal(view.packet_len, sizeof packet);
    assert_memory_equal(view.packet, packet, sizeof packet);
    assert_int_equal(view.key_len, sizeof key);
    assert_memory_equal(view.key, key, sizeof key);
    check_attr(view.userdata, OVS_PACKET_ATTR_USERDATA, userdata,
               sizeof userdata);
    check_attr(view.egress_tun_key, OVS_PACKET_ATTR_EGRESS_TUN_KEY, tun_key,
               sizeof tun_key);
    check_attr(view.actions, OVS_PACKET_ATTR_ACTIONS, actions,
               sizeof actions);
    check_attr(view.mru, OVS_PACKET_ATTR_MRU, &mru, sizeof mru);
    check_attr(view.hash, OVS_PACKET_ATTR_HASH, &hash, sizeof hash);
    unit_msg_uninit(&msg);
}

static void
miss_with_every_attribute_is_viewed(void **state OVS_UNUSED)
{
    check_full_view(OVS_PACKET_CMD_MISS, UPCALL_MISS);
}

static void
action_with_every_attribute_is_viewed(void **state OVS_UNUSED)
{
    check_full_view(OVS_PACKET_CMD_ACTION, UPCALL_ACTION);
}

static void
optional_attributes_are_null_when_missing(void **state OVS_UNUSED)
{
    struct upcall_view view;
    struct unit_msg msg;

    memset(&view, 0xff, sizeof view);
    unit_msg_upcall(&msg, 1, UNIT_PACKET_MIN);
    assert_int_equal(parse_msg(&msg, &view), 0);
    assert_null(view.userdata);
    assert_null(view.egress_tun_key);
    assert_null(view.actions);
    assert_null(view.mru);
    assert_null(view.hash);
    unit_msg_uninit(&msg);
}

static void
each_optional_attribute_may_be_missing(void **state OVS_UNUSED)
{
    static const uint16_t types[] = {
        OVS_PACKET_ATTR_USERDATA, OVS_PACKET_ATTR_EGRESS_TUN_KEY,
        OVS_PACKET_ATTR_ACTIONS, OVS_PACKET_ATTR_MRU, OVS_PACKET_ATTR_HASH,
    };

    for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
        struct upcall_view view;
        struct unit_msg msg;

        put_all(&msg, OVS_PACKET_CMD_MISS, types[i], NULL);
        assert_int_equal(parse_msg(&msg, &view), 0);
        assert_true(!view.userdata == (i == 0));
        assert_true(!view.egress_tun_key == (i == 1));
        assert_true(!view.actions == (i == 2));
        assert_true(!view.mru == (i == 3));
        assert_true(!view.hash == (i == 4));
        unit_msg_uninit(&msg);
    }
}

static void
packet_and_key_are_required(void **state OVS_UNUSED)
{
    static const uint16_t types[] = { OVS_PACKET_ATTR_PACKET,
                                      OVS_PACKET_ATTR_KEY };

    for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
        struct upcall_view view;
        struct unit_msg msg;

        put_all(&msg, OVS_PACKET_CMD_MISS, types[i], NULL);
        assert_int_equal(parse_msg(&msg, &view), EINVAL);
        unit_msg_uninit(&msg);
    }
}

static void
message_cut_off_on_the_way_is_rejected(void **state OVS_UNUSED)
{
    struct unit_msg msg;

    put_all(&msg, OVS_PACKET_CMD_MISS, 0, NULL);
    for (size_t len = 0; len < msg.len; len++) {
        struct upcall_view view;

        assert_int_equal(parse(msg.buf, len, &view), EINVAL);
    }
    unit_msg_uninit(&msg);
}

static void
shorter_message_is_accepted_only_at_the_end_of_an_attribute(
    void **state OVS_UNUSED)
{
    size_t ends[8];
    struct unit_msg msg;
    size_t n_ends = put_all(&msg, OVS_PACKET_CMD_MISS, 0, ends);
    size_t n_accepted = 0;

    assert_int_equal(n_ends, 7);
    for (size_t len = 0; len <= msg.len; len++) {
        struct nlmsghdr *nlh = (struct nlmsghdr *) msg.buf;
        struct upcall_view view;
        int expected = EINVAL;

        /* The packet is the last but one: the message is complete there and
         * at its end, with or without the padding. */
        if (len == ends[5] || len == ends[6]
            || (len < ends[5] && len + MNL_ALIGN(sizeof packet)
                                 - sizeof packet >= ends[5])) {
            expected = 0;
            n_accepted++;
        }
        nlh->nlmsg_len = len;
        assert_int_equal(parse(msg.buf, len, &view), expected);

        /* The same when the datagram is longer than its message. */
        assert_int_equal(parse(msg.buf, len < HEADERS ? HEADERS : msg.len,
                               &view), expected);
    }
    assert_int_equal(n_accepted, 2 + MNL_ALIGN(sizeof packet) - sizeof packet);
    unit_msg_uninit(&msg);
}

static void
packet_shorter_than_the_least_header_is_rejected(void **state OVS_UNUSED)
{
    for (size_t n = 0; n <= UPCALL_PACKET_MIN + 1; n++) {
        struct upcall_view view;
        struct unit_msg msg;

        unit_msg_init(&msg, UNIT_FAMILY, OVS_PACKET_CMD_MISS,
                      UNIT_DP_IFINDEX);
        unit_msg_put(&msg, OVS_PACKET_ATTR_KEY, key, sizeof key);
        unit_msg_put(&msg, OVS_PACKET_ATTR_PACKET, packet, n);
        assert_int_equal(parse_msg(&msg, &view),
                         n < UPCALL_PACKET_MIN ? EINVAL : 0);
        unit_msg_uninit(&msg);
    }
}

static void
largest_packet_is_accepted(void **state OVS_UNUSED)
{
    size_t n = UINT16_MAX - sizeof(struct nlattr);
    struct upcall_view view;
    struct unit_msg msg;

    unit_msg_upcall(&msg, 5, n);
    assert_int_equal(parse_msg(&msg, &view), 0);
    assert_int_equal(view.packet_len, n);
    assert_int_equal(unit_view_seq(&view), 5);
    unit_msg_uninit(&msg);
}

static void
other_families_are_rejected(void **state OVS_UNUSED)
{
    static const uint16_t families[] = { 0, NLMSG_ERROR, NLMSG_DONE,
                                         UNIT_FAMILY - 1, UNIT_FAMILY + 1,
                                         UINT16_MAX };
    struct upcall_view view;
    struct unit_msg msg;

    put_all(&msg, OVS_PACKET_CMD_MISS, 0, NULL);
    for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
        ((struct nlmsghdr *) msg.buf)->nlmsg_type = families[i];
        assert_int_equal(parse_msg(&msg, &view), EINVAL);
    }
    unit_msg_uninit(&msg);
}

static void
other_commands_are_rejected(void **state OVS_UNUSED)
{
    for (int cmd = 0; cmd <= UINT8_MAX; cmd++) {
        bool known = (cmd == OVS_PACKET_CMD_MISS
                      || cmd == OVS_PACKET_CMD_ACTION);
        struct upcall_view view;
        struct unit_msg msg;

        put_all(&msg, cmd, 0, NULL);
        assert_int_equal(parse_msg(&msg, &view), known ? 0 : EINVAL);
        unit_msg_uninit(&msg);
    }
}

/* Sets the length that attribute 'attr' of 'msg' claims, tries to parse it and
 * restores it. */
static int
parse_with_length(struct unit_msg *msg, struct nlattr *attr, uint16_t length)
{
    uint16_t honest = attr->nla_len;
    struct upcall_view view;
    int error;

    attr->nla_len = length;
    error = parse_msg(msg, &view);
    attr->nla_len = honest;
    return error;
}

static void
attribute_with_an_impossible_length_is_rejected(void **state OVS_UNUSED)
{
    struct unit_msg msg;
    struct nlattr *attr;
    unsigned int n = 0;

    put_all(&msg, OVS_PACKET_CMD_MISS, 0, NULL);
    mnl_attr_for_each (attr, (struct nlmsghdr *) msg.buf,
                       HEADERS - NLMSG_HDRLEN) {
        size_t left = msg.buf + msg.len - (char *) attr;

        for (uint16_t length = 0; length < sizeof *attr; length++) {
            assert_int_equal(parse_with_length(&msg, attr, length), EINVAL);
        }
        assert_int_equal(parse_with_length(&msg, attr, left + 1), EINVAL);
        assert_int_equal(parse_with_length(&msg, attr, left + 4), EINVAL);
        assert_int_equal(parse_with_length(&msg, attr, UINT16_MAX), EINVAL);
        n++;
    }
    assert_int_equal(n, 7);
    unit_msg_uninit(&msg);
}

static void
attribute_with_any_length_never_leads_outside(void **state OVS_UNUSED)
{
    struct unit_msg msg;
    struct nlattr *attr;

    /* The view is checked where parse_msg() accepts. */
    put_all(&msg, OVS_PACKET_CMD_ACTION, 0, NULL);
    mnl_attr_for_each (attr, (struct nlmsghdr *) msg.buf,
                       HEADERS - NLMSG_HDRLEN) {
        for (unsigned int length = 0; length <= msg.len + 8; length++) {
            parse_with_length(&msg, attr, length);
        }
    }
    unit_msg_uninit(&msg);
}

static void
fixed_size_attributes_of_other_sizes_are_rejected(void **state OVS_UNUSED)
{
    static const struct {
        uint16_t type;
        size_t n;
    } attrs[] = {
        { OVS_PACKET_ATTR_MRU, sizeof mru },
        { OVS_PACKET_ATTR_HASH, sizeof hash },
    };

    for (size_t i = 0; i < ARRAY_SIZE(attrs); i++) {
        for (size_t n = 0; n <= 2 * sizeof hash; n++) {
            static const char zeros[2 * sizeof hash];
            struct upcall_view view;
            struct unit_msg msg;

            put_all(&msg, OVS_PACKET_CMD_MISS, attrs[i].type, NULL);
            unit_msg_put(&msg, attrs[i].type, zeros, n);
            assert_int_equal(parse_msg(&msg, &view),
                             n == attrs[i].n ? 0 : EINVAL);
            unit_msg_uninit(&msg);
        }
    }
}

static void
garbage_in_nested_attributes_is_left_to_their_reader(void **state OVS_UNUSED)
{
    static const uint16_t types[] = { OVS_PACKET_ATTR_KEY,
                                      OVS_PACKET_ATTR_EGRESS_TUN_KEY,
                                      OVS_PACKET_ATTR_ACTIONS };

    /* Whatever a nested attribute holds, its own bounds hold. */
    for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
        char garbage[20];
        struct upcall_view view;
        struct unit_msg msg;

        memset(garbage, 0xff, sizeof garbage);
        put_all(&msg, OVS_PACKET_CMD_MISS, types[i], NULL);
        unit_msg_put(&msg, types[i], garbage, sizeof garbage);
        assert_int_equal(parse_msg(&msg, &view), 0);
        if (types[i] == OVS_PACKET_ATTR_KEY) {
            assert_int_equal(view.key_len, sizeof garbage);
            assert_memory_equal(view.key, garbage, sizeof garbage);
        }
        unit_msg_uninit(&msg);
    }
}

static void
unknown_attributes_are_ignored(void **state OVS_UNUSED)
{
    static const uint16_t types[] = { OVS_PACKET_ATTR_UNSPEC,
                                      __OVS_PACKET_ATTR_MAX,
                                      __OVS_PACKET_ATTR_MAX + 1,
                                      UINT16_C(0x3fff) };

    for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
        struct upcall_view view;
        struct unit_msg msg;

        unit_msg_init(&msg, UNIT_FAMILY, OVS_PACKET_CMD_MISS,
                      UNIT_DP_IFINDEX);
        unit_msg_put(&msg, types[i], actions, sizeof actions);
        unit_msg_put(&msg, OVS_PACKET_ATTR_KEY, key, sizeof key);
        unit_msg_put(&msg, types[i], NULL, 0);
        unit_msg_put(&msg, OVS_PACKET_ATTR_PACKET, packet, sizeof packet);
        unit_msg_put(&msg, types[i], actions, 1);
        assert_int_equal(parse_msg(&msg, &view), 0);
        assert_memory_equal(view.packet, packet, sizeof packet);
        unit_msg_uninit(&msg);
    }
}

static void
attribute_flags_do_not_hide_the_type(void **state OVS_UNUSED)
{
    struct upcall_view view;
    struct unit_msg msg;

    unit_msg_init(&msg, UNIT_FAMILY, OVS_PACKET_CMD_MISS, UNIT_DP_IFINDEX);
    unit_msg_put(&msg, NLA_F_NESTED | OVS_PACKET_ATTR_KEY, key, sizeof key);
    unit_msg_put(&msg, OVS_PACKET_ATTR_PACKET, packet, sizeof packet);
    assert_int_equal(parse_msg(&msg, &view), 0);
    assert_memory_equal(view.key, key, sizeof key);
    unit_msg_uninit(&msg);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(miss_with_every_attribute_is_viewed),
        cmocka_unit_test(action_with_every_attribute_is_viewed),
        cmocka_unit_test(optional_attributes_are_null_when_missing),
        cmocka_unit_test(each_optional_attribute_may_be_missing),
        cmocka_unit_test(packet_and_key_are_required),
        cmocka_unit_test(message_cut_off_on_the_way_is_rejected),
        cmocka_unit_test(
            shorter_message_is_accepted_only_at_the_end_of_an_attribute),
        cmocka_unit_test(packet_shorter_than_the_least_header_is_rejected),
        cmocka_unit_test(largest_packet_is_accepted),
        cmocka_unit_test(other_families_are_rejected),
        cmocka_unit_test(other_commands_are_rejected),
        cmocka_unit_test(attribute_with_an_impossible_length_is_rejected),
        cmocka_unit_test(attribute_with_any_length_never_leads_outside),
        cmocka_unit_test(fixed_size_attributes_of_other_sizes_are_rejected),
        cmocka_unit_test(garbage_in_nested_attributes_is_left_to_their_reader),
        cmocka_unit_test(unknown_attributes_are_ignored),
        cmocka_unit_test(attribute_flags_do_not_hide_the_type),
    };

    unit_init("test-upcall-msg");
    return cmocka_run_group_tests_name("upcall-msg", tests, NULL, NULL);
}
