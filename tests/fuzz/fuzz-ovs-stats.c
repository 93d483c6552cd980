/* SPDX-License-Identifier: Apache-2.0 */

/* Parser of the statistics of vports: it reads nothing behind the message, and
 * what it accepts is filled in. */

#include <config.h>

#include <errno.h>
#include <linux/genetlink.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "nl/ovs-stats.h"

/* Whether 'data' is a message as a socket's reader passes it on: with a header
 * whose length is not that of more. */
static bool
is_message(const uint8_t *data, size_t size)
{
    struct nlmsghdr nlh;

    if (size < sizeof nlh) {
        return false;
    }
    memcpy(&nlh, data, sizeof nlh);
    return nlh.nlmsg_len >= sizeof nlh && nlh.nlmsg_len <= size;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ovs_vport_counters counters;
    void *buf;
    int error;

    if (!is_message(data, size)) {
        return 0;
    }
    buf = fuzz_copy(data, size);
    memset(&counters, 0xcc, sizeof counters);
    error = ovs_vport_counters_parse(buf, &counters);
    fuzz_check(!error || error == EINVAL || error == ENODATA);
    if (!error) {
        size_t n = strnlen(counters.name, sizeof counters.name);

        fuzz_check(n > 0 && n < sizeof counters.name);
        fuzz_touch(&counters, sizeof counters);
    }
    free(buf);
    return 0;
}

bool
fuzz_accepts(const uint8_t *data, size_t size)
{
    struct ovs_vport_counters counters;
    bool accepted = false;

    if (is_message(data, size)) {
        void *buf = fuzz_copy(data, size);

        accepted = !ovs_vport_counters_parse(buf, &counters);
        free(buf);
    }
    return accepted;
}

static struct nlmsghdr *
put_headers(void *buf, const char *name)
{
    struct nlmsghdr *nlh = genl_msg_init(buf, 0x22, OVS_VPORT_CMD_NEW,
                                         OVS_VPORT_VERSION, 0);
    struct ovs_header *ovs = mnl_nlmsg_put_extra_header(nlh, sizeof *ovs);

    ovs->dp_ifindex = 7;
    mnl_attr_put_strz(nlh, OVS_VPORT_ATTR_NAME, name);
    return nlh;
}

void
fuzz_seeds(fuzz_emit_func *emit, void *aux)
{
    char buf[1024] __attribute__((aligned(NLMSG_ALIGNTO)));
    struct ovs_vport_stats stats;
    struct nlmsghdr *nlh;

    memset(&stats, 0x11, sizeof stats);
    nlh = put_headers(buf, "eth0");
    mnl_attr_put(nlh, OVS_VPORT_ATTR_STATS, sizeof stats, &stats);
    emit("vport", buf, nlh->nlmsg_len, aux);

    nlh = put_headers(buf, "fifteen-letters");
    mnl_attr_put_u32(nlh, OVS_VPORT_ATTR_PORT_NO, 5);
    mnl_attr_put_u32(nlh, OVS_VPORT_ATTR_TYPE, OVS_VPORT_TYPE_NETDEV);
    mnl_attr_put_u32(nlh, OVS_VPORT_ATTR_UPCALL_PID, 1234);
    mnl_attr_put(nlh, OVS_VPORT_ATTR_STATS, sizeof stats, &stats);
    mnl_attr_put_u32(nlh, OVS_VPORT_ATTR_NETNSID, 1);
    emit("all", buf, nlh->nlmsg_len, aux);

    nlh = put_headers(buf, "eth0");
    emit("no-statistics", buf, nlh->nlmsg_len, aux);
}
