/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "harness/netns.h"

#include <errno.h>
#include <fcntl.h>
#include <libmnl/libmnl.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/net_namespace.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nl/nl-conn.h"
#include "openvswitch/dynamic-string.h"
#include "sset.h"
#include "util.h"

/* Namespaces. */

struct unit_ns *
unit_ns_own(void)
{
    struct unit_ns *ns = xzalloc(sizeof *ns);

    ns->fd = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    unit_check(ns->fd >= 0);
    unit_check(!nl_conn_open(NETLINK_ROUTE, &ns->conn));
    return ns;
}

struct unit_ns *
unit_ns_create(void)
{
    int own = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);

    unit_check(own >= 0);
    unit_check(!unshare(CLONE_NEWNET));
    struct unit_ns *ns = unit_ns_own();
    unit_check(!setns(own, CLONE_NEWNET));
    close(own);
    return ns;
}

void
unit_ns_destroy(struct unit_ns *ns)
{
    if (ns) {
        nl_conn_close(ns->conn);
        close(ns->fd);
        free(ns);
    }
}

/* Requests. */

#define REQUEST_SIZE 1024

/* A buffer for a request, with its header. */
#define REQUEST(NLH, TYPE, FLAGS, HEADER)                               \
    char NLH##_buf[REQUEST_SIZE] __attribute__((aligned(NLMSG_ALIGNTO))); \
    struct nlmsghdr *NLH = request_init(NLH##_buf, TYPE, FLAGS, HEADER)

static struct nlmsghdr *
request_init(void *buf, uint16_t type, uint16_t flags, size_t header)
{
    struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);

    nlh->nlmsg_type = type;
    nlh->nlmsg_flags = NLM_F_REQUEST | flags;
    mnl_nlmsg_put_extra_header(nlh, header);
    return nlh;
}

static struct nlmsghdr *
link_request_init(void *buf, uint16_t type, uint16_t flags, int ifindex)
{
    struct nlmsghdr *nlh = request_init(buf, type, flags,
                                        sizeof(struct ifinfomsg));
    struct ifinfomsg *ifi = mnl_nlmsg_get_payload(nlh);

    ifi->ifi_index = ifindex;
    return nlh;
}

#define LINK_REQUEST(NLH, TYPE, FLAGS, IFINDEX)                         \
    char NLH##_buf[REQUEST_SIZE] __attribute__((aligned(NLMSG_ALIGNTO))); \
    struct nlmsghdr *NLH = link_request_init(NLH##_buf, TYPE, FLAGS, IFINDEX)

static int
request(struct unit_ns *ns, struct nlmsghdr *nlh)
{
    return nl_conn_transact(ns->conn, nlh, NULL, NULL);
}

int
unit_ns_set_nsid(struct unit_ns *in, struct unit_ns *of, int32_t nsid)
{
    REQUEST(nlh, RTM_NEWNSID, 0, sizeof(struct rtgenmsg));

    mnl_attr_put_u32(nlh, NETNSA_FD, of->fd);
    mnl_attr_put_u32(nlh, NETNSA_NSID, nsid);
    return request(in, nlh);
}

static int
take_nsid(const struct nlmsghdr *nlh, void *nsid)
{
    const struct nlattr *attr;

    mnl_attr_for_each (attr, nlh, sizeof(struct rtgenmsg)) {
        if (mnl_attr_get_type(attr) == NETNSA_NSID) {
            *(int32_t *) nsid = mnl_attr_get_u32(attr);
        }
    }
    return 0;
}

int32_t
unit_ns_get_nsid(struct unit_ns *in, struct unit_ns *of)
{
    int32_t nsid = LINK_NSID_NONE;
    REQUEST(nlh, RTM_GETNSID, 0, sizeof(struct rtgenmsg));

    mnl_attr_put_u32(nlh, NETNSA_FD, of->fd);
    unit_check(!nl_conn_transact(in->conn, nlh, take_nsid, &nsid));
    return nsid;
}

int
unit_link_add(struct unit_ns *ns, const char *kind, int ifindex,
              const char *name)
{
    LINK_REQUEST(nlh, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, ifindex);

    mnl_attr_put_strz(nlh, IFLA_IFNAME, name);
    struct nlattr *info = mnl_attr_nest_start(nlh, IFLA_LINKINFO);
    mnl_attr_put_strz(nlh, IFLA_INFO_KIND, kind);
    mnl_attr_nest_end(nlh, info);
    return request(ns, nlh);
}

int
unit_link_add_veth(struct unit_ns *ns, int ifindex, const char *name,
                   struct unit_ns *peer_ns, int peer_ifindex,
                   const char *peer_name)
{
    LINK_REQUEST(nlh, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, ifindex);

    mnl_attr_put_strz(nlh, IFLA_IFNAME, name);
    struct nlattr *info = mnl_attr_nest_start(nlh, IFLA_LINKINFO);
    mnl_attr_put_strz(nlh, IFLA_INFO_KIND, "veth");
    struct nlattr *data = mnl_attr_nest_start(nlh, IFLA_INFO_DATA);
    struct nlattr *peer = mnl_attr_nest_start(nlh, VETH_INFO_PEER);
    struct ifinfomsg *ifi = mnl_nlmsg_put_extra_header(nlh, sizeof *ifi);
    ifi->ifi_index = peer_ifindex;
    mnl_attr_put_strz(nlh, IFLA_IFNAME, peer_name);
    mnl_attr_put_u32(nlh, IFLA_NET_NS_FD, peer_ns->fd);
    mnl_attr_nest_end(nlh, peer);
    mnl_attr_nest_end(nlh, data);
    mnl_attr_nest_end(nlh, info);
    return request(ns, nlh);
}

int
unit_link_del(struct unit_ns *ns, int ifindex)
{
    LINK_REQUEST(nlh, RTM_DELLINK, 0, ifindex);

    return request(ns, nlh);
}

int
unit_link_set_up(struct unit_ns *ns, int ifindex, bool up)
{
    LINK_REQUEST(nlh, RTM_NEWLINK, 0, ifindex);
    struct ifinfomsg *ifi = mnl_nlmsg_get_payload(nlh);

    ifi->ifi_flags = up ? IFF_UP : 0;
    ifi->ifi_change = IFF_UP;
    return request(ns, nlh);
}

int
unit_link_set_no_addresses(struct unit_ns *ns, int ifindex)
{
    LINK_REQUEST(nlh, RTM_NEWLINK, 0, ifindex);

    struct nlattr *af_spec = mnl_attr_nest_start(nlh, IFLA_AF_SPEC);
    struct nlattr *inet6 = mnl_attr_nest_start(nlh, AF_INET6);
    mnl_attr_put_u8(nlh, IFLA_INET6_ADDR_GEN_MODE, IN6_ADDR_GEN_MODE_NONE);
    mnl_attr_nest_end(nlh, inet6);
    mnl_attr_nest_end(nlh, af_spec);
    return request(ns, nlh);
}

int
unit_link_set_name(struct unit_ns *ns, int ifindex, const char *name)
{
    LINK_REQUEST(nlh, RTM_NEWLINK, 0, ifindex);

    mnl_attr_put_strz(nlh, IFLA_IFNAME, name);
    return request(ns, nlh);
}

int
unit_link_set_mtu(struct unit_ns *ns, int ifindex, uint32_t mtu)
{
    LINK_REQUEST(nlh, RTM_NEWLINK, 0, ifindex);

    mnl_attr_put_u32(nlh, IFLA_MTU, mtu);
    return request(ns, nlh);
}

int
unit_link_set_hwaddr(struct unit_ns *ns, int ifindex, const uint8_t hwaddr[6])
{
    LINK_REQUEST(nlh, RTM_NEWLINK, 0, ifindex);

    mnl_attr_put(nlh, IFLA_ADDRESS, 6, hwaddr);
    return request(ns, nlh);
}

int
unit_link_set_master(struct unit_ns *ns, int ifindex, int master)
{
    LINK_REQUEST(nlh, RTM_NEWLINK, 0, ifindex);

    mnl_attr_put_u32(nlh, IFLA_MASTER, master);
    return request(ns, nlh);
}

int
unit_link_move(struct unit_ns *ns, int ifindex, struct unit_ns *to,
               int new_ifindex)
{
    LINK_REQUEST(nlh, RTM_NEWLINK, 0, ifindex);

    mnl_attr_put_u32(nlh, IFLA_NET_NS_FD, to->fd);
    if (new_ifindex) {
        mnl_attr_put_u32(nlh, IFLA_NEW_IFINDEX, new_ifindex);
    }
    return request(ns, nlh);
}

static int
change_alt_name(struct unit_ns *ns, uint16_t type, int ifindex,
                const char *name)
{
    LINK_REQUEST(nlh, type, (type == RTM_NEWLINKPROP
                             ? NLM_F_CREATE | NLM_F_EXCL | NLM_F_APPEND : 0),
                 ifindex);

    struct nlattr *nest = mnl_attr_nest_start(nlh, IFLA_PROP_LIST);
    mnl_attr_put_strz(nlh, IFLA_ALT_IFNAME, name);
    mnl_attr_nest_end(nlh, nest);
    return request(ns, nlh);
}

int
unit_link_add_alt_name(struct unit_ns *ns, int ifindex, const char *name)
{
    return change_alt_name(ns, RTM_NEWLINKPROP, ifindex, name);
}

int
unit_link_del_alt_name(struct unit_ns *ns, int ifindex, const char *name)
{
    return change_alt_name(ns, RTM_DELLINKPROP, ifindex, name);
}

int
unit_addr_add(struct unit_ns *ns, int ifindex, uint32_t ipv4)
{
    REQUEST(nlh, RTM_NEWADDR, NLM_F_CREATE | NLM_F_REPLACE,
            sizeof(struct ifaddrmsg));
    struct ifaddrmsg *ifa = mnl_nlmsg_get_payload(nlh);

    ifa->ifa_family = AF_INET;
    ifa->ifa_prefixlen = 24;
    ifa->ifa_index = ifindex;
    mnl_attr_put_u32(nlh, IFA_LOCAL, ipv4);
    return request(ns, nlh);
}

/* The kernel's state. */

struct kernel_link {
    struct link_info info;
    struct sset alt_names;
};

struct kernel_links {
    struct kernel_link *links;
    size_t n, allocated;
    bool foreign;
};

static void
take_alt_names(struct kernel_link *link, const struct nlattr *list)
{
    const struct nlattr *attr;

    mnl_attr_for_each_nested (attr, list) {
        if (mnl_attr_get_type(attr) == IFLA_ALT_IFNAME) {
            sset_add(&link->alt_names, mnl_attr_get_str(attr));
        }
    }
}

static void
take_attr(struct kernel_link *link, const struct nlattr *attr)
{
    struct link_info *info = &link->info;
    const struct nlattr *nested;

    switch (mnl_attr_get_type(attr)) {
    case IFLA_IFNAME:
        ovs_strlcpy(info->name, mnl_attr_get_str(attr), sizeof info->name);
        break;
    case IFLA_ADDRESS:
        info->hwaddr_len = mnl_attr_get_payload_len(attr);
        memcpy(info->hwaddr, mnl_attr_get_payload(attr), info->hwaddr_len);
        break;
    case IFLA_MTU:
        info->mtu = mnl_attr_get_u32(attr);
        break;
    case IFLA_LINK:
        info->lower = mnl_attr_get_u32(attr);
        break;
    case IFLA_LINK_NETNSID:
        info->lower_nsid = mnl_attr_get_u32(attr);
        break;
    case IFLA_MASTER:
        info->master = mnl_attr_get_u32(attr);
        break;
    case IFLA_PHYS_PORT_NAME:
        ovs_strlcpy(info->port_name, mnl_attr_get_str(attr),
                    sizeof info->port_name);
        break;
    case IFLA_PHYS_SWITCH_ID:
        info->switch_id_len = mnl_attr_get_payload_len(attr);
        memcpy(info->switch_id, mnl_attr_get_payload(attr),
               info->switch_id_len);
        break;
    case IFLA_OPERSTATE:
        info->operstate = mnl_attr_get_u8(attr);
        break;
    case IFLA_CARRIER:
        info->carrier = mnl_attr_get_u8(attr);
        break;
    case IFLA_CARRIER_UP_COUNT:
        info->carrier_up = mnl_attr_get_u32(attr);
        break;
    case IFLA_CARRIER_DOWN_COUNT:
        info->carrier_down = mnl_attr_get_u32(attr);
        break;
    case IFLA_LINKINFO:
        mnl_attr_for_each_nested (nested, attr) {
            if (mnl_attr_get_type(nested) == IFLA_INFO_KIND) {
                ovs_strlcpy(info->kind, mnl_attr_get_str(nested),
                            sizeof info->kind);
            }
        }
        break;
    case IFLA_PROP_LIST:
        take_alt_names(link, attr);
        break;
    default:
        break;
    }
}

static int
take_link(const struct nlmsghdr *nlh, void *links_)
{
    const struct ifinfomsg *ifi = mnl_nlmsg_get_payload(nlh);
    struct kernel_links *links = links_;
    const struct nlattr *attr;

    if (links->n == links->allocated) {
        links->links = x2nrealloc(links->links, &links->allocated,
                                  sizeof *links->links);
    }

    struct kernel_link *link = &links->links[links->n++];
    memset(link, 0, sizeof *link);
    sset_init(&link->alt_names);
    link->info.ifindex = ifi->ifi_index;
    link->info.flags = ifi->ifi_flags;
    link->info.arp_type = ifi->ifi_type;
    link->info.lower_nsid = LINK_NSID_SAME;
    mnl_attr_for_each (attr, nlh, sizeof *ifi) {
        take_attr(link, attr);
    }
    if (links->foreign && link->info.lower_nsid != LINK_NSID_SAME) {
        link->info.lower_nsid = LINK_NSID_OTHER;
    }
    return 0;
}

static int
compare_links(const void *a_, const void *b_)
{
    const struct kernel_link *a = a_;
    const struct kernel_link *b = b_;

    return a->info.ifindex < b->info.ifindex ? -1
           : a->info.ifindex > b->info.ifindex;
}

static void
clear_links(struct kernel_links *links)
{
    for (size_t i = 0; i < links->n; i++) {
        sset_moved(&links->links[i].alt_names);
        sset_destroy(&links->links[i].alt_names);
    }
    links->n = 0;
}

static void
get_kernel_links(struct unit_ns *ns, bool foreign, struct kernel_links *links)
{
    int error;

    memset(links, 0, sizeof *links);
    links->foreign = foreign;
    do {
        LINK_REQUEST(nlh, RTM_GETLINK, NLM_F_DUMP, 0);

        clear_links(links);
        error = nl_conn_transact(ns->conn, nlh, take_link, links);
    } while (error == EINTR);
    unit_check(!error);
    if (links->n) {
        qsort(links->links, links->n, sizeof *links->links, compare_links);
    }
    for (size_t i = 0; i < links->n; i++) {
        sset_moved(&links->links[i].alt_names);
    }
}

int
unit_link_index(struct unit_ns *ns, const char *name)
{
    struct kernel_links links;
    int ifindex = 0;

    get_kernel_links(ns, false, &links);
    for (size_t i = 0; i < links.n; i++) {
        if (!strcmp(links.links[i].info.name, name)) {
            ifindex = links.links[i].info.ifindex;
        }
    }
    clear_links(&links);
    free(links.links);
    return ifindex;
}

#define DIFF_NUMBER(MEMBER)                                             \
    do {                                                                \
        if (table->MEMBER != kernel->MEMBER) {                          \
            return xasprintf("%d (%s): %s is %lld and should be %lld",  \
                             kernel->ifindex, kernel->name, #MEMBER,    \
                             (long long int) table->MEMBER,             \
                             (long long int) kernel->MEMBER);           \
        }                                                               \
    } while (0)
#define DIFF_STRING(MEMBER)                                             \
    do {                                                                \
        if (strcmp(table->MEMBER, kernel->MEMBER)) {                    \
            return xasprintf("%d (%s): %s is %s and should be %s",      \
                             kernel->ifindex, kernel->name, #MEMBER,    \
                             table->MEMBER, kernel->MEMBER);            \
        }                                                               \
    } while (0)

/* Flags that follow from the carrier. */
#define CARRIER_FLAGS (IFF_RUNNING | 0x10000 /* IFF_LOWER_UP */)

static char *
diff_link(const struct link_info *table, struct link_info *kernel,
          bool announced)
{
    struct link_info copy = *table;

    table = &copy;
    DIFF_STRING(name);
    DIFF_STRING(kind);
    DIFF_NUMBER(arp_type);
    if (announced && !(kernel->flags & IFF_UP)) {
        copy.flags &= ~CARRIER_FLAGS;
        kernel->flags &= ~CARRIER_FLAGS;
    } else {
        DIFF_NUMBER(operstate);
        DIFF_NUMBER(carrier);
        DIFF_NUMBER(carrier_up);
        DIFF_NUMBER(carrier_down);
    }
    DIFF_NUMBER(flags);
    DIFF_NUMBER(mtu);
    DIFF_NUMBER(master);
    DIFF_NUMBER(hwaddr_len);
    if (memcmp(table->hwaddr, kernel->hwaddr, sizeof table->hwaddr)) {
        return xasprintf("%d (%s): hardware address differs", kernel->ifindex,
                         kernel->name);
    }
    DIFF_STRING(port_name);
    DIFF_NUMBER(switch_id_len);
    if (memcmp(table->switch_id, kernel->switch_id, sizeof table->switch_id)) {
        return xasprintf("%d (%s): id of the switch differs", kernel->ifindex,
                         kernel->name);
    }
    if (!announced || strcmp(kernel->kind, "veth")) {
        DIFF_NUMBER(lower);
        DIFF_NUMBER(lower_nsid);
    }
    return NULL;
}

static char *
diff_alt_names(const struct link_table *table, int32_t nsid,
               struct kernel_link *kernel, bool announced)
{
    struct sset names = SSET_INITIALIZER(&names);
    char *diff = NULL;

    if (announced && !(kernel->info.flags & IFF_UP)) {
        return NULL;
    }
    link_table_get_alt_names(table, nsid, kernel->info.ifindex, &names);
    if (!sset_equals(&names, &kernel->alt_names)) {
        diff = xasprintf("%d (%s): alternative names differ",
                         kernel->info.ifindex, kernel->info.name);
    }
    sset_destroy(&names);
    return diff;
}

char *
unit_links_diff(const struct link_table *table, int32_t nsid,
                struct unit_ns *ns, bool announced)
{
    struct kernel_links kernel;
    char *diff = NULL;
    size_t n;

    get_kernel_links(ns, nsid != LINK_NSID_LOCAL, &kernel);
    struct link_info *links = link_table_get_links(table, nsid, &n);
    for (size_t i = 0; i < MIN(n, kernel.n) && !diff; i++) {
        struct link_info info;

        if (links[i].ifindex != kernel.links[i].info.ifindex) {
            diff = xasprintf("%d (%s) in place of %d (%s)", links[i].ifindex,
                             links[i].name, kernel.links[i].info.ifindex,
                             kernel.links[i].info.name);
            break;
        }
        if (!link_table_find_name(table, nsid, kernel.links[i].info.name,
                                  &info)
            || info.ifindex != links[i].ifindex) {
            diff = xasprintf("%d (%s) is not found by name", links[i].ifindex,
                             kernel.links[i].info.name);
            break;
        }
        diff = diff_link(&links[i], &kernel.links[i].info, announced);
        if (!diff) {
            diff = diff_alt_names(table, nsid, &kernel.links[i], announced);
        }
    }
    if (!diff && n != kernel.n) {
        diff = xasprintf("%"PRIuSIZE" links instead of %"PRIuSIZE, n,
                         kernel.n);
    }
    free(links);
    clear_links(&kernel);
    free(kernel.links);
    return diff;
}
