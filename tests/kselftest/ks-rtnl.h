/* SPDX-License-Identifier: GPL-2.0-only */

/* What the programs about rtnetlink share: network namespaces, requests about
 * links in them, and a socket that receives events. */

#ifndef KS_RTNL_H
#define KS_RTNL_H 1

#include "ks-util.h"

#include <libmnl/libmnl.h>
#include <linux/if_link.h>
#include <linux/net_namespace.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <sched.h>

/* No id of a namespace. */
#define KS_NO_NSID (-1)

/* Room for an answer or an event. */
#define KS_BUF_SIZE (1 << 18)

#define KS_ALIGNED __attribute__((aligned(NLMSG_ALIGNTO)))

/* A network namespace, and a socket for requests in it. */
struct ks_ns {
	int fd;
	struct mnl_socket *nl;
};

/* The namespace of the calling thread. */
static inline bool ks_ns_own(struct ks_ns *ns)
{
	ns->fd = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	ns->nl = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
	return ns->fd >= 0 && ns->nl &&
	       !mnl_socket_bind(ns->nl, 0, MNL_SOCKET_AUTOPID);
}

/* A new one, which the thread does not stay in. */
static inline bool ks_ns_new(struct ks_ns *ns)
{
	int own = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	bool ok = own >= 0 && !unshare(CLONE_NEWNET) && ks_ns_own(ns);

	ok = !setns(own, CLONE_NEWNET) && ok;
	close(own);
	return ok;
}

static inline void ks_ns_close(struct ks_ns *ns)
{
	mnl_socket_close(ns->nl);
	close(ns->fd);
}

/* Passes a datagram of an answer to 'cb'.  Returns 1 if more are to come, 0 if
 * it was the last one, or a negative errno value. */
static inline int ks_take(const void *buf, int left, mnl_cb_t cb, void *aux)
{
	const struct nlmsghdr *nlh = buf;

	/* Both NLMSG_ERROR and NLMSG_DONE start with a negative errno value or
	 * 0. */
	for (; mnl_nlmsg_ok(nlh, left); nlh = mnl_nlmsg_next(nlh, &left)) {
		if (nlh->nlmsg_type == NLMSG_ERROR ||
		    nlh->nlmsg_type == NLMSG_DONE)
			return *(const int *)mnl_nlmsg_get_payload(nlh);
		if (cb && cb(nlh, aux) != MNL_CB_OK)
			return -EPROTO;
	}
	return 1;
}

/* Sends a request and passes the messages of the answer to 'cb' until it ends.
 * Returns 0 or an errno value, EPROTO if 'cb' did not like the answer. */
static inline int ks_transact(struct ks_ns *ns, struct nlmsghdr *nlh,
			      mnl_cb_t cb, void *aux)
{
	static char buf[KS_BUF_SIZE] KS_ALIGNED;
	int retval;
	ssize_t n;

	nlh->nlmsg_flags |= NLM_F_REQUEST;
	if ((nlh->nlmsg_flags & NLM_F_DUMP) != NLM_F_DUMP)
		nlh->nlmsg_flags |= NLM_F_ACK;
	nlh->nlmsg_seq = 1;
	if (mnl_socket_sendto(ns->nl, nlh, nlh->nlmsg_len) < 0)
		return errno;
	do {
		n = mnl_socket_recvfrom(ns->nl, buf, sizeof(buf));
		if (n < 0)
			return errno;
		retval = ks_take(buf, n, cb, aux);
	} while (retval > 0);
	return -retval;
}

/* Starts a request about link 'ifindex', 0 for none, in 'buf'. */
static inline struct nlmsghdr *ks_link_request(void *buf, uint16_t type,
					       uint16_t flags, int ifindex)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct ifinfomsg *ifi;

	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = flags;
	ifi = mnl_nlmsg_put_extra_header(nlh, sizeof(*ifi));
	ifi->ifi_index = ifindex;
	return nlh;
}

#define KS_LINK_REQUEST(NLH, TYPE, FLAGS, IFINDEX)	\
	char NLH##_buf[1024] KS_ALIGNED;		\
	struct nlmsghdr *NLH = ks_link_request(NLH##_buf, TYPE, FLAGS, IFINDEX)

static inline int ks_link_add(struct ks_ns *ns, const char *kind, int ifindex,
			      const char *name)
{
	KS_LINK_REQUEST(nlh, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, ifindex);
	struct nlattr *info;

	mnl_attr_put_strz(nlh, IFLA_IFNAME, name);
	info = mnl_attr_nest_start(nlh, IFLA_LINKINFO);
	mnl_attr_put_strz(nlh, IFLA_INFO_KIND, kind);
	mnl_attr_nest_end(nlh, info);
	return ks_transact(ns, nlh, NULL, NULL);
}

static inline int ks_link_del(struct ks_ns *ns, int ifindex)
{
	KS_LINK_REQUEST(nlh, RTM_DELLINK, 0, ifindex);

	return ks_transact(ns, nlh, NULL, NULL);
}

static inline int ks_link_set_up(struct ks_ns *ns, int ifindex, bool up)
{
	KS_LINK_REQUEST(nlh, RTM_NEWLINK, 0, ifindex);
	struct ifinfomsg *ifi = mnl_nlmsg_get_payload(nlh);

	ifi->ifi_flags = up ? IFF_UP : 0;
	ifi->ifi_change = IFF_UP;
	return ks_transact(ns, nlh, NULL, NULL);
}

static inline int ks_link_set_u32(struct ks_ns *ns, int ifindex, uint16_t attr,
				  uint32_t value)
{
	KS_LINK_REQUEST(nlh, RTM_NEWLINK, 0, ifindex);

	mnl_attr_put_u32(nlh, attr, value);
	return ks_transact(ns, nlh, NULL, NULL);
}

static inline int ks_link_set_carrier(struct ks_ns *ns, int ifindex, bool on)
{
	KS_LINK_REQUEST(nlh, RTM_NEWLINK, 0, ifindex);

	mnl_attr_put_u8(nlh, IFLA_CARRIER, on);
	return ks_transact(ns, nlh, NULL, NULL);
}

static inline int ks_link_set_name(struct ks_ns *ns, int ifindex,
				   const char *name)
{
	KS_LINK_REQUEST(nlh, RTM_NEWLINK, 0, ifindex);

	mnl_attr_put_strz(nlh, IFLA_IFNAME, name);
	return ks_transact(ns, nlh, NULL, NULL);
}

static inline int ks_link_set_address(struct ks_ns *ns, int ifindex,
				      const char address[6])
{
	KS_LINK_REQUEST(nlh, RTM_NEWLINK, 0, ifindex);

	mnl_attr_put(nlh, IFLA_ADDRESS, 6, address);
	return ks_transact(ns, nlh, NULL, NULL);
}

static inline int ks_link_alt_name(struct ks_ns *ns, uint16_t type,
				   int ifindex, const char *name)
{
	KS_LINK_REQUEST(nlh, type, 0, ifindex);
	struct nlattr *list = mnl_attr_nest_start(nlh, IFLA_PROP_LIST);

	mnl_attr_put_strz(nlh, IFLA_ALT_IFNAME, name);
	mnl_attr_nest_end(nlh, list);
	return ks_transact(ns, nlh, NULL, NULL);
}

/* Starts a request about ids of namespaces in 'buf'. */
static inline struct nlmsghdr *ks_nsid_request(void *buf, uint16_t type,
					       uint16_t flags)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);

	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = flags;
	mnl_nlmsg_put_extra_header(nlh, sizeof(struct rtgenmsg));
	return nlh;
}

#define KS_NSID_REQUEST(NLH, TYPE, FLAGS)		\
	char NLH##_buf[256] KS_ALIGNED;			\
	struct nlmsghdr *NLH = ks_nsid_request(NLH##_buf, TYPE, FLAGS)

/* Gives 'of' the id 'nsid' in 'in'. */
static inline int ks_set_nsid(struct ks_ns *in, struct ks_ns *of, int nsid)
{
	KS_NSID_REQUEST(nlh, RTM_NEWNSID, 0);

	mnl_attr_put_u32(nlh, NETNSA_FD, of->fd);
	mnl_attr_put_u32(nlh, NETNSA_NSID, nsid);
	return ks_transact(in, nlh, NULL, NULL);
}

/* What an event says. */
struct ks_event {
	uint16_t type;
	int tag;		/* Id of the namespace, or KS_NO_NSID. */
	int ifindex;
	unsigned int flags;
	char name[IFNAMSIZ];
	uint32_t mtu;
	int carrier;
	uint32_t carrier_down;
	int n_alt_names;
	int nsid;		/* NETNSA_NSID. */
	int new_nsid;
	int new_ifindex;
	int target_nsid;
	bool stats;		/* Has the link's counters... */
	bool inet6_stats;	/* ...or those of IPv6. */
	bool interrupted;	/* NLM_F_DUMP_INTR. */
};

static inline void ks_take_nested(const struct nlattr *attr,
				  struct ks_event *event)
{
	const struct nlattr *family, *nested;

	if (mnl_attr_get_type(attr) == IFLA_PROP_LIST) {
		mnl_attr_for_each_nested(nested, attr)
			event->n_alt_names++;
		return;
	}

	/* IFLA_AF_SPEC: attributes of each address family. */
	mnl_attr_for_each_nested(family, attr) {
		if (mnl_attr_get_type(family) != AF_INET6)
			continue;
		mnl_attr_for_each_nested(nested, family) {
			int type = mnl_attr_get_type(nested);

			if (type == IFLA_INET6_STATS ||
			    type == IFLA_INET6_ICMP6STATS)
				event->inet6_stats = true;
		}
	}
}

static inline void ks_take_link_attr(const struct nlattr *attr,
				     struct ks_event *event)
{
	switch (mnl_attr_get_type(attr)) {
	case IFLA_IFNAME:
		strncpy(event->name, mnl_attr_get_str(attr), IFNAMSIZ - 1);
		break;
	case IFLA_MTU:
		event->mtu = mnl_attr_get_u32(attr);
		break;
	case IFLA_CARRIER:
		event->carrier = mnl_attr_get_u8(attr);
		break;
	case IFLA_CARRIER_DOWN_COUNT:
		event->carrier_down = mnl_attr_get_u32(attr);
		break;
	case IFLA_NEW_NETNSID:
		event->new_nsid = mnl_attr_get_u32(attr);
		break;
	case IFLA_NEW_IFINDEX:
		event->new_ifindex = mnl_attr_get_u32(attr);
		break;
	case IFLA_TARGET_NETNSID:
		event->target_nsid = mnl_attr_get_u32(attr);
		break;
	case IFLA_STATS:
	case IFLA_STATS64:
		event->stats = true;
		break;
	case IFLA_PROP_LIST:
	case IFLA_AF_SPEC:
		ks_take_nested(attr, event);
		break;
	}
}

/* Fills '*event', with no tag. */
static inline void ks_parse(const struct nlmsghdr *nlh, struct ks_event *event)
{
	const struct ifinfomsg *ifi = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *attr;

	memset(event, 0, sizeof(*event));
	event->type = nlh->nlmsg_type;
	event->interrupted = nlh->nlmsg_flags & NLM_F_DUMP_INTR;
	event->tag = event->nsid = KS_NO_NSID;
	event->new_nsid = event->target_nsid = KS_NO_NSID;
	if (event->type == RTM_NEWNSID || event->type == RTM_DELNSID) {
		mnl_attr_for_each(attr, nlh, sizeof(struct rtgenmsg))
			if (mnl_attr_get_type(attr) == NETNSA_NSID)
				event->nsid = mnl_attr_get_u32(attr);
	} else if (event->type == RTM_NEWLINK || event->type == RTM_DELLINK) {
		event->ifindex = ifi->ifi_index;
		event->flags = ifi->ifi_flags;
		mnl_attr_for_each(attr, nlh, sizeof(*ifi))
			ks_take_link_attr(attr, event);
	}
}

/* Opens a socket for events of links and ids, of all namespaces if 'all'. */
static inline int ks_listen(bool all)
{
	struct sockaddr_nl addr = { .nl_family = AF_NETLINK };
	int groups[] = { RTNLGRP_LINK, RTNLGRP_NSID };
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	int on = 1, i;

	if (fd < 0 || bind(fd, (struct sockaddr *)&addr, sizeof(addr)) ||
	    (all && setsockopt(fd, SOL_NETLINK, NETLINK_LISTEN_ALL_NSID, &on,
			       sizeof(on))))
		return -1;
	for (i = 0; i < 2; i++)
		if (setsockopt(fd, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP,
			       &groups[i], sizeof(groups[i])))
			return -1;
	return fd;
}

/* Receives an event without waiting.  Returns 0 or an errno value. */
static inline int ks_next(int fd, struct ks_event *event)
{
	static char buf[KS_BUF_SIZE] KS_ALIGNED;
	char control[CMSG_SPACE(sizeof(int)) * 2] KS_ALIGNED;
	struct iovec iov = { buf, sizeof(buf) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1,
			      .msg_control = control,
			      .msg_controllen = sizeof(control) };
	struct cmsghdr *cmsg;

	if (recvmsg(fd, &msg, MSG_DONTWAIT) < 0)
		return errno;
	ks_parse((struct nlmsghdr *)buf, event);
	for (cmsg = CMSG_FIRSTHDR(&msg); cmsg; cmsg = CMSG_NXTHDR(&msg, cmsg))
		if (cmsg->cmsg_level == SOL_NETLINK &&
		    cmsg->cmsg_type == NETLINK_LISTEN_ALL_NSID)
			memcpy(&event->tag, CMSG_DATA(cmsg), sizeof(int));
	return 0;
}

/* Throws away what waits. */
static inline void ks_drain(int fd)
{
	struct ks_event event;

	while (!ks_next(fd, &event))
		;
}

/* Receives up to the next event of 'type' about link 'ifindex' (0: any).
 * Returns false if none waits. */
static inline bool ks_find(int fd, uint16_t type, int ifindex,
			   struct ks_event *event)
{
	while (!ks_next(fd, event))
		if (event->type == type &&
		    (!ifindex || event->ifindex == ifindex))
			return true;
	return false;
}

#endif
