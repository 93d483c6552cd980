// SPDX-License-Identifier: GPL-2.0-only

/* What the link listener relies on when it asks for all links: what
 * RTEXT_FILTER_SKIP_STATS leaves out, which changes interrupt a dump, and that
 * a long message is told. */

#include "ks-rtnl.h"

#include "ks-harness.h"

#define INDEX 1000
#define NSID 4000

/* Enough for some tens of parts.  The kernel makes few parts in advance. */
#define N_LINKS 200

/* Bytes of a part. */
#define PART_SIZE 8192

FIXTURE(dump) {
	struct ks_ns own, other;
};

FIXTURE_SETUP(dump)
{
	ASSERT_EQ(0, unshare(CLONE_NEWNET));
	ASSERT_TRUE(ks_ns_own(&self->own));
	ASSERT_TRUE(ks_ns_new(&self->other));
	ASSERT_EQ(0, ks_set_nsid(&self->own, &self->other, NSID));
}

FIXTURE_TEARDOWN(dump)
{
	ks_ns_close(&self->other);
	ks_ns_close(&self->own);
}

struct seen {
	int n, n_stats, n_inet6_stats, n_interrupted, n_alt_names;
};

static int see(const struct nlmsghdr *nlh, void *seen_)
{
	struct seen *seen = seen_;
	struct ks_event event;

	ks_parse(nlh, &event);
	seen->n++;
	seen->n_stats += event.stats;
	seen->n_inet6_stats += event.inet6_stats;
	seen->n_alt_names += event.n_alt_names;
	return MNL_CB_OK;
}

static int dump_all(struct ks_ns *ns, uint32_t mask, int nsid,
		    struct seen *seen)
{
	KS_LINK_REQUEST(nlh, RTM_GETLINK, NLM_F_DUMP, 0);

	memset(seen, 0, sizeof(*seen));
	mnl_attr_put_u32(nlh, IFLA_EXT_MASK, mask);
	if (nsid != KS_NO_NSID)
		mnl_attr_put_u32(nlh, IFLA_TARGET_NETNSID, nsid);
	return ks_transact(ns, nlh, see, seen);
}

/* The kernel has many counters of IPv6 for each CPU.  On request it leaves
 * them out, but not the counters of the link. */
static void expect_stats(struct __test_metadata *_metadata, struct ks_ns *ns,
			 int nsid, int n)
{
	struct seen seen;

	ASSERT_EQ(0, dump_all(ns, 0, nsid, &seen));
	EXPECT_EQ(n, seen.n);
	EXPECT_EQ(n, seen.n_stats);
	EXPECT_EQ(n, seen.n_inet6_stats);
	ASSERT_EQ(0, dump_all(ns, RTEXT_FILTER_SKIP_STATS, nsid, &seen));
	EXPECT_EQ(n, seen.n);
	EXPECT_EQ(n, seen.n_stats);
	EXPECT_EQ(0, seen.n_inet6_stats);
}

TEST_F(dump, statistics_of_ipv6_can_be_left_out)
{
	ASSERT_EQ(0, ks_link_add(&self->own, "dummy", INDEX, "d"));
	ASSERT_EQ(0, ks_link_set_up(&self->own, INDEX, true));
	expect_stats(_metadata, &self->own, KS_NO_NSID, 2);
}

TEST_F(dump, those_of_other_namespaces_too)
{
	expect_stats(_metadata, &self->own, NSID, 1);
}

TEST_F(dump, a_long_message_is_told)
{
	struct seen seen;
	char name[128];
	int i;

	ASSERT_EQ(0, ks_link_add(&self->own, "dummy", INDEX, "d"));
	for (i = 0; i < 450; i++) {
		snprintf(name, sizeof(name), "%0127d", i);
		ASSERT_EQ(0, ks_link_alt_name(&self->own, RTM_NEWLINKPROP,
					      INDEX, name));
	}
	ASSERT_EQ(0, dump_all(&self->own, RTEXT_FILTER_SKIP_STATS, KS_NO_NSID,
			      &seen));
	EXPECT_EQ(2, seen.n);
	EXPECT_EQ(450, seen.n_alt_names);
}

/* What happens while a dump is under way. */
enum change {
	NOTHING, ADD, DELETE, MOVE_AWAY, MOVE_HERE,
	RENAME, MTU, ADDRESS, UP, ALT_NAME, ADD_ELSEWHERE
};

static int apply(FIXTURE_DATA(dump) *self, enum change c)
{
	struct ks_ns *own = &self->own;

	switch (c) {
	case NOTHING:
		return 0;
	case ADD:
		return ks_link_add(own, "dummy", INDEX + N_LINKS, "new");
	case DELETE:
		return ks_link_del(own, INDEX);
	case MOVE_AWAY:
		return ks_link_set_u32(own, INDEX, IFLA_NET_NS_FD,
				       self->other.fd);
	case MOVE_HERE:
		return ks_link_set_u32(&self->other, INDEX + N_LINKS,
				       IFLA_NET_NS_FD, self->own.fd);
	case RENAME:
		return ks_link_set_name(own, INDEX, "renamed");
	case MTU:
		return ks_link_set_u32(own, INDEX, IFLA_MTU, 1300);
	case ADDRESS:
		return ks_link_set_address(own, INDEX, "\2\0\0\0\0\1");
	case UP:
		return ks_link_set_up(own, INDEX, true);
	case ALT_NAME:
		return ks_link_alt_name(own, RTM_NEWLINKPROP, INDEX, "alt");
	case ADD_ELSEWHERE:
		return ks_link_add(&self->other, "dummy", INDEX, "new");
	}
	return EINVAL;
}

/* Reads parts of a dump, to the end, or only the first.  Returns 0 or an errno
 * value. */
static int read_parts(struct ks_ns *ns, bool all, struct seen *seen)
{
	static char buf[PART_SIZE] KS_ALIGNED;
	const struct nlmsghdr *nlh;
	ssize_t n;
	int left;

	do {
		n = mnl_socket_recvfrom(ns->nl, buf, sizeof(buf));
		if (n < 0)
			return errno;
		left = n;
		for (nlh = (struct nlmsghdr *)buf; mnl_nlmsg_ok(nlh, left);
		     nlh = mnl_nlmsg_next(nlh, &left)) {
			seen->n += nlh->nlmsg_type == RTM_NEWLINK;
			seen->n_interrupted += !!(nlh->nlmsg_flags &
						  NLM_F_DUMP_INTR);
			if (nlh->nlmsg_type == NLMSG_DONE)
				return 0;
			if (nlh->nlmsg_type == NLMSG_ERROR)
				return EIO;
		}
	} while (all);
	return 0;
}

/* Makes the links, starts a dump, and does 'c' after its first part.  Returns
 * 0 or an errno value. */
static int dump_during(FIXTURE_DATA(dump) *self, enum change c,
		       struct seen *seen)
{
	KS_LINK_REQUEST(nlh, RTM_GETLINK, NLM_F_REQUEST | NLM_F_DUMP, 0);
	char name[IFNAMSIZ];
	struct ks_ns by;	/* A socket that never read larger parts. */
	int error, i;

	memset(seen, 0, sizeof(*seen));
	for (i = 0; i < N_LINKS; i++) {
		snprintf(name, sizeof(name), "d%d", i);
		error = ks_link_add(&self->own, "dummy", INDEX + i, name);
		if (error)
			return error;
	}
	error = ks_link_add(&self->other, "dummy", INDEX + N_LINKS, "far");
	if (error || !ks_ns_own(&by))
		return error ? error : errno;

	mnl_attr_put_u32(nlh, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
	if (mnl_socket_sendto(by.nl, nlh, nlh->nlmsg_len) < 0)
		return errno;
	error = read_parts(&by, false, seen);
	if (!error && seen->n >= N_LINKS / 2)
		error = E2BIG;
	if (!error)
		error = apply(self, c);
	if (!error)
		error = read_parts(&by, true, seen);
	ks_ns_close(&by);
	return error;
}

FIXTURE(during) {
	struct ks_ns own, other;
};

FIXTURE_VARIANT(during) {
	enum change change;
	bool interrupts;
};

#define VARIANT(NAME, CHANGE, INTERRUPTS)		\
	FIXTURE_VARIANT_ADD(during, NAME) {		\
		.change = CHANGE,			\
		.interrupts = INTERRUPTS,		\
	}

VARIANT(nothing, NOTHING, false);
VARIANT(add, ADD, true);
VARIANT(delete, DELETE, true);
VARIANT(move_away, MOVE_AWAY, true);
VARIANT(move_here, MOVE_HERE, true);
VARIANT(rename, RENAME, false);
VARIANT(mtu, MTU, false);
VARIANT(address, ADDRESS, false);
VARIANT(up, UP, false);
VARIANT(alt_name, ALT_NAME, false);
VARIANT(add_elsewhere, ADD_ELSEWHERE, false);

FIXTURE_SETUP(during)
{
	ASSERT_EQ(0, unshare(CLONE_NEWNET));
	ASSERT_TRUE(ks_ns_own(&self->own));
	ASSERT_TRUE(ks_ns_new(&self->other));
}

FIXTURE_TEARDOWN(during)
{
	ks_ns_close(&self->other);
	ks_ns_close(&self->own);
}

TEST_F(during, links_that_come_or_go_interrupt_a_dump)
{
	FIXTURE_DATA(dump) both = { .own = self->own, .other = self->other };
	struct seen seen;

	ASSERT_EQ(0, dump_during(&both, variant->change, &seen));
	if (variant->interrupts) {
		EXPECT_LE(1, seen.n_interrupted);
	} else {
		EXPECT_EQ(0, seen.n_interrupted);
		EXPECT_EQ(N_LINKS + 1, seen.n);
	}
}

TEST_HARNESS_MAIN
