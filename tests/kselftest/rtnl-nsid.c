// SPDX-License-Identifier: GPL-2.0-only

/* What the link listener relies on with several namespaces: which events come,
 * how they are tagged, and what is said of moves and of ids. */

#include "ks-rtnl.h"

#include "ks-harness.h"

#define INDEX 1000
#define NSID 4000
#define SELF_NSID 5000

FIXTURE(nsid) {
	struct ks_ns own, other;
	bool other_closed;
	int rx;
};

FIXTURE_SETUP(nsid)
{
	ASSERT_EQ(0, unshare(CLONE_NEWNET));
	ASSERT_TRUE(ks_ns_own(&self->own));
	ASSERT_TRUE(ks_ns_new(&self->other));
	self->rx = ks_listen(true);
	ASSERT_LE(0, self->rx);
}

FIXTURE_TEARDOWN(nsid)
{
	close(self->rx);
	if (!self->other_closed)
		ks_ns_close(&self->other);
	ks_ns_close(&self->own);
}

TEST_F(nsid, without_an_id_a_namespace_is_not_heard_of)
{
	struct ks_event event;

	ASSERT_EQ(0, ks_link_add(&self->other, "dummy", INDEX, "d"));
	EXPECT_EQ(EAGAIN, ks_next(self->rx, &event));
	ASSERT_EQ(0, ks_link_add(&self->own, "dummy", INDEX, "d"));
	EXPECT_EQ(0, ks_next(self->rx, &event));
	EXPECT_EQ(KS_NO_NSID, event.tag);
}

TEST_F(nsid, an_id_is_announced_and_tags_what_follows)
{
	struct ks_event event;

	ASSERT_EQ(0, ks_set_nsid(&self->own, &self->other, NSID));
	ASSERT_EQ(0, ks_link_add(&self->other, "dummy", INDEX, "d"));
	ASSERT_EQ(0, ks_link_add(&self->own, "dummy", INDEX, "d"));
	ASSERT_EQ(0, ks_next(self->rx, &event));
	EXPECT_EQ(RTM_NEWNSID, event.type);
	EXPECT_EQ(NSID, event.nsid);
	EXPECT_EQ(KS_NO_NSID, event.tag);
	ASSERT_TRUE(ks_find(self->rx, RTM_NEWLINK, INDEX, &event));
	EXPECT_EQ(NSID, event.tag);
	while (event.tag == NSID)
		ASSERT_TRUE(ks_find(self->rx, RTM_NEWLINK, INDEX, &event));
	EXPECT_EQ(KS_NO_NSID, event.tag);
}

TEST_F(nsid, only_who_asks_hears_of_other_namespaces)
{
	int rx = ks_listen(false);
	struct ks_event event;

	ASSERT_LE(0, rx);
	ASSERT_EQ(0, ks_set_nsid(&self->own, &self->other, NSID));
	ASSERT_EQ(0, ks_link_add(&self->other, "dummy", INDEX, "d"));
	EXPECT_TRUE(ks_find(self->rx, RTM_NEWLINK, INDEX, &event));
	EXPECT_FALSE(ks_find(rx, RTM_NEWLINK, INDEX, &event));
	close(rx);
}

/* Not every kernel tags them. */
TEST_F(nsid, own_events_have_no_other_tag_than_the_id_for_itself)
{
	struct ks_event event;

	ASSERT_EQ(0, ks_link_add(&self->own, "dummy", INDEX, "d"));
	ASSERT_EQ(0, ks_next(self->rx, &event));
	EXPECT_EQ(KS_NO_NSID, event.tag);
	ks_drain(self->rx);
	ASSERT_EQ(0, ks_set_nsid(&self->own, &self->own, SELF_NSID));
	ASSERT_EQ(0, ks_next(self->rx, &event));
	EXPECT_EQ(RTM_NEWNSID, event.type);
	EXPECT_EQ(SELF_NSID, event.nsid);
	EXPECT_TRUE(event.tag == SELF_NSID || event.tag == KS_NO_NSID);
	ASSERT_EQ(0, ks_link_set_u32(&self->own, INDEX, IFLA_MTU, 1300));
	ASSERT_TRUE(ks_find(self->rx, RTM_NEWLINK, INDEX, &event));
	EXPECT_TRUE(event.tag == SELF_NSID || event.tag == KS_NO_NSID);
	EXPECT_EQ(1300, event.mtu);
	TH_LOG("own events are tagged: %s",
	       event.tag == SELF_NSID ? "yes" : "no");
}

TEST_F(nsid, ids_that_others_have_are_told_with_their_tag)
{
	struct ks_event event;

	ASSERT_EQ(0, ks_set_nsid(&self->own, &self->other, NSID));
	ks_drain(self->rx);
	ASSERT_EQ(0, ks_set_nsid(&self->other, &self->own, 7));
	ASSERT_EQ(0, ks_next(self->rx, &event));
	EXPECT_EQ(RTM_NEWNSID, event.type);
	EXPECT_EQ(7, event.nsid);
	EXPECT_EQ(NSID, event.tag);
}

TEST_F(nsid, a_move_is_an_end_and_a_beginning)
{
	struct ks_event event;

	ASSERT_EQ(0, ks_set_nsid(&self->own, &self->other, NSID));
	ASSERT_EQ(0, ks_link_add(&self->own, "dummy", INDEX, "d"));
	ks_drain(self->rx);
	ASSERT_EQ(0, ks_link_set_u32(&self->own, INDEX, IFLA_NET_NS_FD,
				     self->other.fd));
	ASSERT_TRUE(ks_find(self->rx, RTM_DELLINK, INDEX, &event));
	EXPECT_EQ(KS_NO_NSID, event.tag);
	EXPECT_EQ(NSID, event.new_nsid);
	EXPECT_EQ(INDEX, event.new_ifindex);
	ASSERT_TRUE(ks_find(self->rx, RTM_NEWLINK, INDEX, &event));
	EXPECT_EQ(NSID, event.tag);
	ks_drain(self->rx);

	/* And back, where its index is taken. */
	ASSERT_EQ(0, ks_link_add(&self->own, "dummy", INDEX, "e"));
	ks_drain(self->rx);
	ASSERT_EQ(0, ks_link_set_u32(&self->other, INDEX, IFLA_NET_NS_FD,
				     self->own.fd));
	ASSERT_TRUE(ks_find(self->rx, RTM_DELLINK, INDEX, &event));
	EXPECT_EQ(NSID, event.tag);
	EXPECT_NE(0, event.new_ifindex);
	EXPECT_NE(INDEX, event.new_ifindex);
	ASSERT_TRUE(ks_find(self->rx, RTM_NEWLINK, event.new_ifindex,
			    &event));
	EXPECT_EQ(KS_NO_NSID, event.tag);
	EXPECT_STREQ("d", event.name);
}

TEST_F(nsid, a_namespace_ends_with_its_id_and_not_link_by_link)
{
	struct ks_event event = { .type = 0 };
	int n_links = 0;

	ASSERT_EQ(0, ks_set_nsid(&self->own, &self->other, NSID));
	ASSERT_EQ(0, ks_link_add(&self->other, "dummy", INDEX, "d"));
	ks_drain(self->rx);
	ks_ns_close(&self->other);
	self->other_closed = true;
	ASSERT_TRUE(KS_EVENTUALLY(({
		if (!ks_next(self->rx, &event))
			n_links += event.type != RTM_DELNSID;
		event.type == RTM_DELNSID;
	})));
	EXPECT_EQ(NSID, event.nsid);
	EXPECT_EQ(0, n_links);
}

static int take_nsid(const struct nlmsghdr *nlh, void *nsid)
{
	struct ks_event event;

	ks_parse(nlh, &event);
	*(int *)nsid = event.nsid;
	return MNL_CB_OK;
}

/* Asks for id 'nsid', or for that of the thread's own namespace. */
static int ask(struct ks_ns *ns, int nsid, int *answer)
{
	KS_NSID_REQUEST(nlh, RTM_GETNSID, 0);

	*answer = -2;
	if (nsid == KS_NO_NSID)
		mnl_attr_put_u32(nlh, NETNSA_PID, syscall(SYS_gettid));
	else
		mnl_attr_put_u32(nlh, NETNSA_NSID, nsid);
	return ks_transact(ns, nlh, take_nsid, answer);
}

TEST_F(nsid, ids_can_be_asked_for)
{
	int answer;

	ASSERT_EQ(0, ask(&self->own, KS_NO_NSID, &answer));
	EXPECT_EQ(KS_NO_NSID, answer);
	EXPECT_EQ(ENOENT, ask(&self->own, NSID, &answer));
	ASSERT_EQ(0, ks_set_nsid(&self->own, &self->other, NSID));
	EXPECT_EQ(0, ask(&self->own, NSID, &answer));
	ASSERT_EQ(0, ks_set_nsid(&self->own, &self->own, SELF_NSID));
	ASSERT_EQ(0, ask(&self->own, KS_NO_NSID, &answer));
	EXPECT_EQ(SELF_NSID, answer);
}

static int count_foreign(const struct nlmsghdr *nlh, void *n)
{
	struct ks_event event;

	ks_parse(nlh, &event);
	if (event.type != RTM_NEWLINK || event.target_nsid != NSID)
		return MNL_CB_ERROR;
	++*(int *)n;
	return MNL_CB_OK;
}

TEST_F(nsid, links_of_a_namespace_are_told_with_its_id)
{
	KS_LINK_REQUEST(nlh, RTM_GETLINK, NLM_F_DUMP, 0);
	int n = 0;

	mnl_attr_put_u32(nlh, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
	mnl_attr_put_u32(nlh, IFLA_TARGET_NETNSID, NSID);
	EXPECT_EQ(EINVAL, ks_transact(&self->own, nlh, count_foreign, &n));
	ASSERT_EQ(0, ks_set_nsid(&self->own, &self->other, NSID));
	ASSERT_EQ(0, ks_link_add(&self->other, "dummy", INDEX, "d"));
	EXPECT_EQ(0, ks_transact(&self->own, nlh, count_foreign, &n));
	EXPECT_EQ(2, n);
}

TEST_HARNESS_MAIN
