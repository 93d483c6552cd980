/* SPDX-License-Identifier: Apache-2.0 */

/* Records upcalls of the kernel as seeds for fuzz-upcall-msg.
 *
 *     record-upcalls DEVICE DIR
 *
 * DEVICE is of type "nlmon": the kernel gives it a copy of every netlink
 * message of its network namespace.  An upcall is written to a file in DIR if
 * it is the first one with such an envelope, which is what attributes it has
 * apart from the packet's protocols, or the first one of its protocols (for
 * each of misses and actions).  The file is called as both.  Says "ready" when
 * it listens, and ends on a signal.
 *
 * A message is stored as it came, except that the number of its family, which
 * the kernel chooses again after each start, becomes UPCALL_FAMILY. */

#include <arpa/inet.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/genetlink.h>
#include <linux/if_packet.h>
#include <linux/openvswitch.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* As FAMILY in fuzz-upcall-msg.c. */
#define UPCALL_FAMILY 0x1d

/* The largest message that is recorded, in bytes.  Larger ones would teach the
 * fuzzer nothing but their size. */
#define UPCALL_MAX 12000

/* Traffic comes faster than an emulated machine writes files. */
#define RCVBUF (64 << 20)

/* Number of types of attributes that are told apart. */
#define N_ATTRS 64

/* The most envelopes and lists of protocols. */
#define N_SEEN 1000

struct shape {
    char name[200];             /* Envelope and protocols. */
    size_t len;
    size_t protocols;           /* Where these begin in 'name'. */
};

static void
fail(const char *what)
{
    perror(what);
    exit(EXIT_FAILURE);
}

static void
add_word(struct shape *shape, const char *word)
{
    size_t n = strlen(word);

    if (shape->len + n + 2 > sizeof shape->name) {
        return;
    }
    if (shape->len) {
        shape->name[shape->len] = shape->len == shape->protocols ? '_' : '-';
        shape->len++;
    }
    memcpy(shape->name + shape->len, word, n + 1);
    shape->len += n;
}

static void
add_number(struct shape *shape, const char *word, unsigned int number)
{
    char buf[32];

    snprintf(buf, sizeof buf, "%s%u", word, number);
    add_word(shape, buf);
}

/* Sorts the attributes in the 'n' bytes at 'payload' by type. */
static void
sort_attrs(const void *payload, size_t n, const struct nlattr *attrs[N_ATTRS])
{
    const struct nlattr *attr;

    memset(attrs, 0, N_ATTRS * sizeof *attrs);
    mnl_attr_for_each_payload(payload, n) {
        if (mnl_attr_get_type(attr) < N_ATTRS) {
            attrs[mnl_attr_get_type(attr)] = attr;
        }
    }
}

static void
sort_nested(const struct nlattr *nest, const struct nlattr *attrs[N_ATTRS])
{
    sort_attrs(mnl_attr_get_payload(nest), mnl_attr_get_payload_len(nest),
               attrs);
}

static void
add_tunnel(struct shape *shape, const struct nlattr *tunnel, const char *what)
{
    const struct nlattr *attrs[N_ATTRS];

    sort_nested(tunnel, attrs);
    add_word(shape, what);
    add_word(shape, attrs[OVS_TUNNEL_KEY_ATTR_IPV6_DST] ? "over6" : "over4");
    if (attrs[OVS_TUNNEL_KEY_ATTR_GENEVE_OPTS]) {
        add_word(shape, "geneveopts");
    }
    if (attrs[OVS_TUNNEL_KEY_ATTR_VXLAN_OPTS]) {
        add_word(shape, "vxlanopts");
    }
    if (attrs[OVS_TUNNEL_KEY_ATTR_ERSPAN_OPTS]) {
        add_word(shape, "erspan");
    }
    if (!attrs[OVS_TUNNEL_KEY_ATTR_TP_DST]) {
        add_word(shape, "noports");
    }
}

/* User data begins with what Open vSwitch wants to be done. */
static void
add_userdata(struct shape *shape, const struct nlattr *userdata)
{
    unsigned int n = mnl_attr_get_payload_len(userdata);
    uint16_t type = 0;

    memcpy(&type, mnl_attr_get_payload(userdata),
           n < sizeof type ? n : sizeof type);
    add_number(shape, "userdata", n);
    add_number(shape, "type", type);
}

/* Protocols, as a flow key names them by its attributes. */
static const struct {
    int type;
    const char *name;
} protocols[] = {
    { OVS_KEY_ATTR_ARP, "arp" },
    { OVS_KEY_ATTR_MPLS, "mpls" },
    { OVS_KEY_ATTR_NSH, "nsh" },
    { OVS_KEY_ATTR_IPV4, "ipv4" },
    { OVS_KEY_ATTR_IPV6, "ipv6" },
    { OVS_KEY_ATTR_TCP, "tcp" },
    { OVS_KEY_ATTR_UDP, "udp" },
    { OVS_KEY_ATTR_SCTP, "sctp" },
    { OVS_KEY_ATTR_ICMP, "icmp" },
    { OVS_KEY_ATTR_ICMPV6, "icmpv6" },
    { OVS_KEY_ATTR_ND, "nd" },
};

static void
add_protocols(struct shape *shape, const struct nlattr *key)
{
    const struct nlattr *attrs[N_ATTRS];
    uint8_t frag = 0;

    sort_nested(key, attrs);
    for (size_t i = 0; i < sizeof protocols / sizeof *protocols; i++) {
        const struct nlattr *attr = attrs[protocols[i].type];

        if (!attr) {
            continue;
        }
        add_word(shape, protocols[i].name);
        if (protocols[i].type == OVS_KEY_ATTR_MPLS) {
            add_number(shape, "labels", mnl_attr_get_payload_len(attr)
                       / sizeof(struct ovs_key_mpls));
        } else if (protocols[i].type == OVS_KEY_ATTR_IPV4) {
            frag = ((struct ovs_key_ipv4 *)
                    mnl_attr_get_payload(attr))->ipv4_frag;
        } else if (protocols[i].type == OVS_KEY_ATTR_IPV6) {
            frag = ((struct ovs_key_ipv6 *)
                    mnl_attr_get_payload(attr))->ipv6_frag;
        }
    }
    if (frag) {
        add_word(shape, frag == OVS_FRAG_TYPE_FIRST ? "frag" : "laterfrag");
    }
    if (attrs[OVS_KEY_ATTR_ENCAP]) {
        add_word(shape, "vlan");
        add_protocols(shape, attrs[OVS_KEY_ATTR_ENCAP]);
    }
}

static void
add_key(struct shape *shape, const struct nlattr *key)
{
    const struct nlattr *attrs[N_ATTRS];

    sort_nested(key, attrs);
    if (attrs[OVS_KEY_ATTR_TUNNEL]) {
        add_tunnel(shape, attrs[OVS_KEY_ATTR_TUNNEL], "tunnel");
    }
    if (!attrs[OVS_KEY_ATTR_ETHERNET]) {
        add_word(shape, "l3");
    }
    if (attrs[OVS_KEY_ATTR_RECIRC_ID]
        && mnl_attr_get_u32(attrs[OVS_KEY_ATTR_RECIRC_ID])) {
        add_word(shape, "recirc");
    }
    if (attrs[OVS_KEY_ATTR_CT_STATE]
        && mnl_attr_get_u32(attrs[OVS_KEY_ATTR_CT_STATE])) {
        add_number(shape, "ct",
                   mnl_attr_get_u32(attrs[OVS_KEY_ATTR_CT_STATE]));
    }
    if (attrs[OVS_KEY_ATTR_CT_ORIG_TUPLE_IPV4]
        || attrs[OVS_KEY_ATTR_CT_ORIG_TUPLE_IPV6]) {
        add_word(shape, "tuple");
    }
    shape->protocols = shape->len;
    add_protocols(shape, key);
}

/* Gives the message its name.  Returns false if it is no upcall. */
static bool
name_shape(const struct nlmsghdr *nlh, struct shape *shape)
{
    const size_t offset = (sizeof(struct genlmsghdr)
                           + sizeof(struct ovs_header));
    const struct genlmsghdr *genl = mnl_nlmsg_get_payload(nlh);
    const struct nlattr *attrs[N_ATTRS];

    if (nlh->nlmsg_len < NLMSG_HDRLEN + offset
        || (genl->cmd != OVS_PACKET_CMD_MISS
            && genl->cmd != OVS_PACKET_CMD_ACTION)) {
        return false;
    }
    sort_attrs((const char *) genl + offset,
               nlh->nlmsg_len - NLMSG_HDRLEN - offset, attrs);
    if (!attrs[OVS_PACKET_ATTR_KEY] || !attrs[OVS_PACKET_ATTR_PACKET]) {
        return false;
    }

    shape->len = shape->protocols = 0;
    add_word(shape, genl->cmd == OVS_PACKET_CMD_MISS ? "miss" : "action");
    if (attrs[OVS_PACKET_ATTR_USERDATA]) {
        add_userdata(shape, attrs[OVS_PACKET_ATTR_USERDATA]);
    }
    if (attrs[OVS_PACKET_ATTR_EGRESS_TUN_KEY]) {
        add_tunnel(shape, attrs[OVS_PACKET_ATTR_EGRESS_TUN_KEY], "egress");
    }
    if (attrs[OVS_PACKET_ATTR_ACTIONS]) {
        add_word(shape, "actions");
    }
    if (attrs[OVS_PACKET_ATTR_MRU]) {
        add_word(shape, "mru");
    }
    if (attrs[OVS_PACKET_ATTR_LEN]) {
        add_word(shape, "cut");
    }
    if (attrs[OVS_PACKET_ATTR_HASH]) {
        add_word(shape, "hash");
    }
    add_key(shape, attrs[OVS_PACKET_ATTR_KEY]);
    if (mnl_attr_get_payload_len(attrs[OVS_PACKET_ATTR_PACKET]) > 1600) {
        add_word(shape, "large");
    }
    return true;
}

/* Returns true the first time that it is called with the 'n' bytes of 'name'
 * in list 'kind'. */
static bool
is_new(char kind, const char *name, size_t n)
{
    static char *seen[N_SEEN];
    static size_t n_seen;
    char *key;

    if (asprintf(&key, "%c%.*s", kind, (int) n, name) < 0) {
        fail("asprintf");
    }
    for (size_t i = 0; i < n_seen; i++) {
        if (!strcmp(seen[i], key)) {
            free(key);
            return false;
        }
    }
    if (n_seen == N_SEEN) {
        free(key);
        return false;
    }
    seen[n_seen++] = key;
    return true;
}

/* Writes 'nlh' if there is something new about it. */
static void
record(const char *dir, struct nlmsghdr *nlh, const struct shape *shape)
{
    bool new_envelope = is_new('e', shape->name, shape->protocols);
    bool new_protocols = is_new(shape->name[0], shape->name + shape->protocols,
                                shape->len - shape->protocols);
    char path[4096];
    FILE *file;

    if (!new_envelope && !new_protocols) {
        return;
    }
    snprintf(path, sizeof path, "%s/%s", dir, shape->name);
    nlh->nlmsg_type = UPCALL_FAMILY;
    file = fopen(path, "wb");
    if (!file || fwrite(nlh, nlh->nlmsg_len, 1, file) != 1 || fclose(file)) {
        fail(path);
    }
    printf("%s, %u bytes\n", shape->name, nlh->nlmsg_len);
}

static int
family_cb(const struct nlmsghdr *nlh, void *family)
{
    const struct nlattr *attr;

    mnl_attr_for_each(attr, nlh, sizeof(struct genlmsghdr)) {
        if (mnl_attr_get_type(attr) == CTRL_ATTR_FAMILY_ID) {
            *(uint16_t *) family = mnl_attr_get_u16(attr);
        }
    }
    return MNL_CB_OK;
}

/* Asks for the number of the family that upcalls belong to. */
static uint16_t
get_family(void)
{
    struct mnl_socket *sock = mnl_socket_open(NETLINK_GENERIC);
    char buf[4096] __attribute__((aligned(NLMSG_ALIGNTO)));
    struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
    struct genlmsghdr *genl;
    uint16_t family = 0;
    ssize_t n;

    nlh->nlmsg_type = GENL_ID_CTRL;
    nlh->nlmsg_flags = NLM_F_REQUEST;
    genl = mnl_nlmsg_put_extra_header(nlh, sizeof *genl);
    genl->cmd = CTRL_CMD_GETFAMILY;
    genl->version = 1;
    mnl_attr_put_strz(nlh, CTRL_ATTR_FAMILY_NAME, OVS_PACKET_FAMILY);
    if (!sock || mnl_socket_bind(sock, 0, MNL_SOCKET_AUTOPID)
        || mnl_socket_sendto(sock, nlh, nlh->nlmsg_len) < 0
        || (n = mnl_socket_recvfrom(sock, buf, sizeof buf)) < 0
        || mnl_cb_run(buf, n, 0, 0, family_cb, &family) < 0) {
        fail(OVS_PACKET_FAMILY);
    }
    mnl_socket_close(sock);
    return family;
}

static int
open_monitor(const char *device)
{
    struct sockaddr_ll addr = {
        .sll_family = AF_PACKET,
        .sll_protocol = htons(ETH_P_ALL),
        .sll_ifindex = if_nametoindex(device),
    };
    int rcvbuf = RCVBUF;
    int fd;

    if (!addr.sll_ifindex) {
        fail(device);
    }
    fd = socket(AF_PACKET, SOCK_RAW, 0);
    if (fd < 0
        || setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &rcvbuf, sizeof rcvbuf)
        || bind(fd, (struct sockaddr *) &addr, sizeof addr)) {
        fail(device);
    }
    return fd;
}

int
main(int argc, char *argv[])
{
    static char buf[1 << 17] __attribute__((aligned(NLMSG_ALIGNTO)));
    uint16_t family;
    int fd;

    if (argc != 3) {
        fprintf(stderr, "usage: %s DEVICE DIR\n", argv[0]);
        return 2;
    }
    family = get_family();
    fd = open_monitor(argv[1]);
    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("ready\n");
    for (;;) {
        ssize_t n = recv(fd, buf, sizeof buf, 0);
        struct nlmsghdr *nlh = (struct nlmsghdr *) buf;
        struct shape shape;

        if (n < 0) {
            fail(argv[1]);
        }
        if (n >= (ssize_t) sizeof *nlh && nlh->nlmsg_type == family
            && nlh->nlmsg_len <= n && nlh->nlmsg_len <= UPCALL_MAX
            && name_shape(nlh, &shape)) {
            record(argv[2], nlh, &shape);
        }
    }
}
