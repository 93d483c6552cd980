/* SPDX-License-Identifier: Apache-2.0 */

/* Parser of messages about ports: what it accepts has a name that ends, and
 * what the message does not tell is as documented. */

#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "nl/ovs-genl.h"
#include "odp-netlink.h"
#include "util.h"

/* Parses 'data' as what follows the header of a netlink message. */
static int
parse(const uint8_t *data, size_t size, struct ovs_vport *vport)
{
    size_t len = MNL_NLMSG_HDRLEN + size;
    struct nlmsghdr header = { .nlmsg_len = len };
    char *buf = xmalloc(len);
    struct nlmsghdr *nlh;
    int error;

    memcpy(buf, &header, sizeof header);
    if (size) {
        memcpy(buf + MNL_NLMSG_HDRLEN, data, size);
    }
    nlh = fuzz_copy(buf, len);
    error = ovs_vport_parse(nlh, vport);
    free(nlh);
    free(buf);
    return error;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ovs_vport vport;
    int error = parse(data, size, &vport);

    if (error) {
        fuzz_check(error == EINVAL);
    } else {
        fuzz_check(memchr(vport.name, '\0', sizeof vport.name));
        fuzz_check(vport.nsid >= NL_NSID_NONE
                   || vport.nsid == OVS_VPORT_LOCAL);
        fuzz_check(vport.n_pids || !vport.pid);
    }
    return 0;
}

bool
fuzz_accepts(const uint8_t *data, size_t size)
{
    struct ovs_vport vport;

    return !parse(data, size, &vport);
}

static void
emit_vport(fuzz_emit_func *emit, void *aux, const char *seed,
           const char *name, bool elsewhere, size_t n_pids)
{
    char buf[512] __attribute__((aligned(NLMSG_ALIGNTO)));
    struct nlmsghdr *nlh = genl_msg_init(buf, 1, OVS_VPORT_CMD_NEW,
                                         OVS_VPORT_VERSION, 0);
    struct ovs_header *ovs = mnl_nlmsg_put_extra_header(nlh, sizeof *ovs);
    static const uint32_t pids[8] = { 1, 2, 3 };

    ovs->dp_ifindex = 7;
    mnl_attr_put_u32(nlh, OVS_VPORT_ATTR_PORT_NO, 3);
    mnl_attr_put_u32(nlh, OVS_VPORT_ATTR_TYPE, OVS_VPORT_TYPE_NETDEV);
    mnl_attr_put_strz(nlh, OVS_VPORT_ATTR_NAME, name);
    mnl_attr_put(nlh, OVS_VPORT_ATTR_UPCALL_PID, n_pids * sizeof *pids, pids);
    mnl_attr_put_u32(nlh, OVS_VPORT_ATTR_IFINDEX, 12);
    if (elsewhere) {
        mnl_attr_put_u32(nlh, OVS_VPORT_ATTR_NETNSID, 5);
    }
    emit(seed, mnl_nlmsg_get_payload(nlh), mnl_nlmsg_get_payload_len(nlh),
         aux);
}

void
fuzz_seeds(fuzz_emit_func *emit, void *aux)
{
    emit_vport(emit, aux, "device", "eth0", false, 1);
    emit_vport(emit, aux, "elsewhere", "tap0", true, 1);
    emit_vport(emit, aux, "long-name", "a-name-of-more-than-fifteen", false,
               1);
    emit_vport(emit, aux, "no-pids", "eth0", false, 0);
    emit_vport(emit, aux, "pids", "eth0", false, 8);
}
