// SPDX-License-Identifier: GPL-2.0-only

/* What the link listener relies on: which changes of a link are announced,
 * and how a loss of events shows. */

#include "ks-rtnl.h"

#include "ks-harness.h"

#define INDEX 1000

/* Receive buffer in bytes: some events fit. */
#define RCVBUF 16384

/* The most events that it takes to fill it. */
#define MAX_EVENTS 1000

FIXTURE(events) {
	struct ks_ns own;
	int rx;
};

FIXTURE_SETUP(events)
{
	ASSERT_EQ(0, unshare(CLONE_NEWNET));
	ASSERT_TRUE(ks_ns_own(&self->own));
	self->rx = ks_listen(true);
	ASSERT_LE(0, self->rx);
	ASSERT_EQ(0, ks_link_add(&self->own, "dummy", INDEX, "d"));
	ks_drain(self->rx);
}

FIXTURE_TEARDOWN(events)
{
	close(self->rx);
	ks_ns_close(&self->own);
}

static int take_event(const struct nlmsghdr *nlh, void *event)
{
	ks_parse(nlh, event);
	return MNL_CB_OK;
}

/* What the kernel answers about a link. */
static int get(struct ks_ns *ns, int ifindex, struct ks_event *event)
{
	KS_LINK_REQUEST(nlh, RTM_GETLINK, 0, ifindex);

	return ks_transact(ns, nlh, take_event, event);
}

TEST_F(events, changes_of_a_link_that_is_down_are_announced)
{
	struct ks_event event;

	ASSERT_EQ(0, ks_link_set_u32(&self->own, INDEX, IFLA_MTU, 1300));
	ASSERT_TRUE(ks_find(self->rx, RTM_NEWLINK, INDEX, &event));
	EXPECT_EQ(1300, event.mtu);
	ks_drain(self->rx);

	ASSERT_EQ(0, ks_link_set_address(&self->own, INDEX, "\2\0\0\0\0\1"));
	ASSERT_TRUE(ks_find(self->rx, RTM_NEWLINK, INDEX, &event));
	ks_drain(self->rx);

	ASSERT_EQ(0, ks_link_set_name(&self->own, INDEX, "renamed"));
	ASSERT_TRUE(ks_find(self->rx, RTM_NEWLINK, INDEX, &event));
	EXPECT_STREQ("renamed", event.name);
	ks_drain(self->rx);

	ASSERT_EQ(0, ks_link_add(&self->own, "bridge", INDEX + 1, "br"));
	ks_drain(self->rx);
	ASSERT_EQ(0, ks_link_set_u32(&self->own, INDEX, IFLA_MASTER,
				     INDEX + 1));
	ASSERT_TRUE(ks_find(self->rx, RTM_NEWLINK, INDEX, &event));
	ks_drain(self->rx);

	ASSERT_EQ(0, ks_link_set_up(&self->own, INDEX, true));
	ASSERT_TRUE(ks_find(self->rx, RTM_NEWLINK, INDEX, &event));
	EXPECT_TRUE(event.flags & IFF_UP);
	ks_drain(self->rx);

	ASSERT_EQ(0, ks_link_del(&self->own, INDEX));
	ASSERT_TRUE(ks_find(self->rx, RTM_DELLINK, INDEX, &event));
}

TEST_F(events, an_event_tells_the_whole_link)
{
	struct ks_event event;

	ASSERT_EQ(0, ks_link_set_u32(&self->own, INDEX, IFLA_MTU, 1300));
	ASSERT_TRUE(ks_find(self->rx, RTM_NEWLINK, INDEX, &event));
	EXPECT_EQ(KS_NO_NSID, event.tag);
	EXPECT_EQ(1300, event.mtu);
	EXPECT_EQ(1, event.carrier);
	EXPECT_STREQ("d", event.name);
}

TEST_F(events, alternative_names_are_announced_of_links_that_are_up)
{
	struct ks_event event;

	ASSERT_EQ(0, ks_link_alt_name(&self->own, RTM_NEWLINKPROP, INDEX,
				      "while-it-is-down"));
	EXPECT_EQ(EAGAIN, ks_next(self->rx, &event));
	ASSERT_EQ(0, get(&self->own, INDEX, &event));
	EXPECT_EQ(1, event.n_alt_names);

	/* They come with the next event, whatever that is about. */
	ASSERT_EQ(0, ks_link_set_up(&self->own, INDEX, true));
	ASSERT_TRUE(ks_find(self->rx, RTM_NEWLINK, INDEX, &event));
	EXPECT_EQ(1, event.n_alt_names);
	ks_drain(self->rx);

	ASSERT_EQ(0, ks_link_alt_name(&self->own, RTM_NEWLINKPROP, INDEX,
				      "while-it-is-up"));
	ASSERT_TRUE(ks_find(self->rx, RTM_NEWLINK, INDEX, &event));
	EXPECT_EQ(2, event.n_alt_names);
	ks_drain(self->rx);
	ASSERT_EQ(0, ks_link_alt_name(&self->own, RTM_DELLINKPROP, INDEX,
				      "while-it-is-down"));
	ASSERT_TRUE(ks_find(self->rx, RTM_NEWLINK, INDEX, &event));
	EXPECT_EQ(1, event.n_alt_names);
}

TEST_F(events, the_carrier_of_a_link_that_is_down_changes_in_silence)
{
	struct ks_event before, event = { .ifindex = 0 };
	int n_told = 0;

	/* The kernel takes up changes of carriers in turn: what it says of the
	 * second link, it says after it has looked at the first. */
	ASSERT_EQ(0, ks_link_add(&self->own, "dummy", INDEX + 1, "up"));
	ASSERT_EQ(0, ks_link_set_up(&self->own, INDEX + 1, true));
	ASSERT_EQ(0, get(&self->own, INDEX + 1, &event));
	ASSERT_TRUE(KS_EVENTUALLY(!get(&self->own, INDEX + 1, &event) &&
				  event.flags & IFF_RUNNING));
	ASSERT_EQ(0, get(&self->own, INDEX, &before));
	EXPECT_EQ(1, before.carrier);
	ks_drain(self->rx);

	ASSERT_EQ(0, ks_link_set_carrier(&self->own, INDEX, false));
	ASSERT_EQ(0, ks_link_set_carrier(&self->own, INDEX + 1, false));
	ASSERT_TRUE(KS_EVENTUALLY(({
		event.carrier = 1;
		if (!ks_next(self->rx, &event))
			n_told += event.ifindex == INDEX;
		event.ifindex == INDEX + 1 && !event.carrier;
	})));
	EXPECT_EQ(0, n_told);
	ASSERT_EQ(0, get(&self->own, INDEX, &event));
	EXPECT_EQ(0, event.carrier);
	EXPECT_EQ(before.carrier_down + 1, event.carrier_down);

	/* Both come with the next event. */
	ks_drain(self->rx);
	ASSERT_EQ(0, ks_link_set_u32(&self->own, INDEX, IFLA_MTU, 1300));
	ASSERT_TRUE(ks_find(self->rx, RTM_NEWLINK, INDEX, &event));
	EXPECT_EQ(0, event.carrier);
	EXPECT_EQ(before.carrier_down + 1, event.carrier_down);
}

/* Changes the link once, which is one event.  The MTU tells which. */
static int change(struct ks_ns *ns, uint32_t n)
{
	return ks_link_set_u32(ns, INDEX, IFLA_MTU, 100 + n);
}

/* Fills the socket until the kernel drops an event.  Returns the number of
 * changes, or 0 on failure.  The event of the last change was lost. */
static uint32_t overrun(struct ks_ns *ns, int rx)
{
	int size = RCVBUF;
	uint32_t n = 0;

	if (setsockopt(rx, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size)))
		return 0;
	while (!ks_drops(rx))
		if (n == MAX_EVENTS || change(ns, n++))
			return 0;
	return n;
}

TEST_F(events, a_loss_is_told_once_before_what_was_queued)
{
	uint32_t n = overrun(&self->own, self->rx);
	struct ks_event event;
	uint32_t i;

	ASSERT_LE(3, n);
	ASSERT_EQ(0, change(&self->own, n));
	EXPECT_EQ(2, ks_drops(self->rx));
	EXPECT_EQ(ENOBUFS, ks_next(self->rx, &event));
	for (i = 0; i < n - 1; i++) {
		ASSERT_EQ(0, ks_next(self->rx, &event));
		EXPECT_EQ(100 + i, event.mtu);
	}
	EXPECT_EQ(EAGAIN, ks_next(self->rx, &event));
}

TEST_F(events, nothing_is_queued_nor_told_until_the_socket_is_empty)
{
	uint32_t n = overrun(&self->own, self->rx);
	uint32_t n_queued = n - 1, i;
	struct ks_event event;

	ASSERT_LE(3, n);
	EXPECT_EQ(ENOBUFS, ks_next(self->rx, &event));
	for (i = 0; i < n_queued; i++) {
		ASSERT_EQ(0, change(&self->own, n++));
		EXPECT_EQ(i + 2, ks_drops(self->rx));
		ASSERT_EQ(0, ks_next(self->rx, &event));
		EXPECT_EQ(100 + i, event.mtu);
	}

	/* Reading the last one ended it. */
	ASSERT_EQ(0, change(&self->own, n));
	ASSERT_EQ(0, ks_next(self->rx, &event));
	EXPECT_EQ(100 + n, event.mtu);
	EXPECT_EQ(EAGAIN, ks_next(self->rx, &event));
	EXPECT_EQ(n_queued + 1, ks_drops(self->rx));
}

TEST_F(events, the_smallest_buffer_holds_an_event)
{
	struct ks_event event;
	int size = 1;

	ASSERT_EQ(0, setsockopt(self->rx, SOL_SOCKET, SO_RCVBUF, &size,
				sizeof(size)));
	ASSERT_EQ(0, change(&self->own, 0));
	EXPECT_EQ(0, ks_drops(self->rx));
	ASSERT_EQ(0, change(&self->own, 1));
	EXPECT_EQ(1, ks_drops(self->rx));
	EXPECT_EQ(ENOBUFS, ks_next(self->rx, &event));
	ASSERT_EQ(0, ks_next(self->rx, &event));
	EXPECT_EQ(100, event.mtu);
	EXPECT_EQ(EAGAIN, ks_next(self->rx, &event));
}

TEST_HARNESS_MAIN
