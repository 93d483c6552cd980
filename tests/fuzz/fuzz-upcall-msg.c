/* SPDX-License-Identifier: Apache-2.0 */

/* Parser of upcall messages: whatever the bytes are, the view stays within
 * them. */

#include <config.h>

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/genetlink.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "odp-netlink.h"
#include "upcall/upcall-fq.h"
#include "upcall/upcall-msg.h"

/* As UPCALL_FAMILY in record-upcalls.c. */
#define FAMILY 0x1d

static void
check_inside(const void *p, size_t n, const char *buf, size_t size)
{
    const char *start = p;

    fuzz_check(start >= buf && n <= size && start + n <= buf + size);
    fuzz_touch(start, n);
}

static void
check_attr(const struct nlattr *attr, const char *buf, size_t size)
{
    if (attr) {
        check_inside(attr, sizeof *attr, buf, size);
        check_inside(attr, attr->nla_len, buf, size);
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *buf = fuzz_copy(data, size);
    struct upcall_sender_key key;
    struct upcall_view view;
    int error = upcall_msg_parse(buf, size, FAMILY, &view);

    upcall_sender_key_get(buf, size, true, &key);
    upcall_sender_key_get(buf, size, false, &key);
    if (!error) {
        fuzz_check(view.type == UPCALL_MISS || view.type == UPCALL_ACTION);
        fuzz_check(view.packet_len >= UPCALL_PACKET_MIN);
        check_inside(view.packet, view.packet_len, buf, size);
        check_inside((char *) view.packet - view.headroom, view.headroom, buf,
                     size);
        check_inside(view.key, view.key_len, buf, size);
        check_attr(view.userdata, buf, size);
        check_attr(view.egress_tun_key, buf, size);
        check_attr(view.actions, buf, size);
        check_attr(view.mru, buf, size);
        check_attr(view.hash, buf, size);
        fuzz_check(!view.mru || mnl_attr_get_payload_len(view.mru) == 2);
        fuzz_check(!view.hash || mnl_attr_get_payload_len(view.hash) == 8);

        /* The user of the view may overwrite the headroom. */
        memset((char *) view.packet - view.headroom, 0, view.headroom);
    } else {
        fuzz_check(error == EINVAL);
    }
    free(buf);
    return 0;
}

bool
fuzz_accepts(const uint8_t *data, size_t size)
{
    struct upcall_view view;
    void *buf = fuzz_copy(data, size);
    int error = upcall_msg_parse(buf, size, FAMILY, &view);

    free(buf);
    return !error;
}

static struct nlmsghdr *
put_headers(void *buf, uint8_t cmd)
{
    struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
    struct genlmsghdr *genl;
    struct ovs_header *ovs;

    nlh->nlmsg_type = FAMILY;
    genl = mnl_nlmsg_put_extra_header(nlh, sizeof *genl);
    genl->cmd = cmd;
    ovs = mnl_nlmsg_put_extra_header(nlh, sizeof *ovs);
    ovs->dp_ifindex = 1;
    return nlh;
}

void
fuzz_seeds(fuzz_emit_func *emit, void *aux)
{
    static const char zeros[64];
    char buf[512] __attribute__((aligned(NLMSG_ALIGNTO)));
    struct nlmsghdr *nlh;
    struct nlattr *key, *tunnel;

    nlh = put_headers(buf, OVS_PACKET_CMD_MISS);
    key = mnl_attr_nest_start(nlh, OVS_PACKET_ATTR_KEY);
    tunnel = mnl_attr_nest_start(nlh, OVS_KEY_ATTR_TUNNEL);
    mnl_attr_put_u64(nlh, OVS_TUNNEL_KEY_ATTR_ID, 1);
    mnl_attr_put_u32(nlh, OVS_TUNNEL_KEY_ATTR_IPV4_SRC, 1);
    mnl_attr_put(nlh, OVS_TUNNEL_KEY_ATTR_IPV6_SRC, 16, zeros);
    mnl_attr_nest_end(nlh, tunnel);
    mnl_attr_put_u32(nlh, OVS_KEY_ATTR_IN_PORT, 1);
    mnl_attr_nest_end(nlh, key);
    mnl_attr_put(nlh, OVS_PACKET_ATTR_PACKET, 42, zeros);
    emit("miss", buf, nlh->nlmsg_len, aux);

    nlh = put_headers(buf, OVS_PACKET_CMD_ACTION);
    mnl_attr_put(nlh, OVS_PACKET_ATTR_KEY, 24, zeros);
    mnl_attr_put(nlh, OVS_PACKET_ATTR_USERDATA, 12, zeros);
    mnl_attr_put(nlh, OVS_PACKET_ATTR_EGRESS_TUN_KEY, 8, zeros);
    mnl_attr_put(nlh, OVS_PACKET_ATTR_ACTIONS, 16, zeros);
    mnl_attr_put_u16(nlh, OVS_PACKET_ATTR_MRU, 1500);
    mnl_attr_put_u64(nlh, OVS_PACKET_ATTR_HASH, 1);
    mnl_attr_put(nlh, OVS_PACKET_ATTR_PACKET, 61, zeros);
    emit("action", buf, nlh->nlmsg_len, aux);

    nlh = put_headers(buf, OVS_PACKET_CMD_MISS);
    emit("no-attributes", buf, nlh->nlmsg_len, aux);
}
