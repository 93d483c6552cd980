// SPDX-License-Identifier: GPL-2.0-only

/* What the accounting of lost upcalls relies on: how netlink tells a receiver
 * that its buffer was too small. */

#include "ks-util.h"

#include "ks-harness.h"

/* Receive buffer in bytes: some answers of the kernel fit. */
#define RCVBUF 8192

/* The most questions that it takes to fill it. */
#define MAX_REQUESTS 1000

/* A question that finds no room costs two messages: the answer, and the report
 * that there was an error answering. */
#define DROPS_EACH 2

FIXTURE(overrun) {
	int rx;
	uint32_t rx_pid;
	uint32_t n_sent;
};

/* Makes the kernel send until it had to drop a message. */
static bool overrun(FIXTURE_DATA(overrun) *self)
{
	while (!ks_drops(self->rx)) {
		if (self->n_sent > MAX_REQUESTS ||
		    ks_request(self->rx, self->n_sent))
			return false;
		self->n_sent++;
	}
	return true;
}

FIXTURE_SETUP(overrun)
{
	int size = RCVBUF;

	self->rx = ks_netlink(&self->rx_pid);
	ASSERT_LE(0, self->rx);
	ASSERT_EQ(0, setsockopt(self->rx, SOL_SOCKET, SO_RCVBUF, &size,
				sizeof(size)));
	ASSERT_EQ(0, ks_drops(self->rx));
}

FIXTURE_TEARDOWN(overrun)
{
	close(self->rx);
}

TEST_F(overrun, every_dropped_message_is_counted)
{
	uint32_t i, n_received = 0;

	ASSERT_TRUE(overrun(self));
	for (i = 0; i < 7; i++)
		ASSERT_EQ(0, ks_request(self->rx, self->n_sent++));
	ASSERT_EQ(8 * DROPS_EACH, ks_drops(self->rx));
	ASSERT_EQ(ENOBUFS, ks_recv(self->rx, NULL));
	while (!ks_recv(self->rx, NULL))
		n_received++;
	EXPECT_EQ(self->n_sent, n_received + 8);
}

TEST_F(overrun, the_receiver_is_told_once_and_keeps_what_was_queued)
{
	uint32_t i, seq;

	ASSERT_TRUE(overrun(self));
	EXPECT_EQ(ENOBUFS, ks_recv(self->rx, NULL));
	for (i = 0; i < self->n_sent - 1; i++) {
		ASSERT_EQ(0, ks_recv(self->rx, &seq));
		EXPECT_EQ(i, seq);
	}
	EXPECT_EQ(EAGAIN, ks_recv(self->rx, NULL));
}

TEST_F(overrun, nothing_is_queued_until_the_receiver_is_empty)
{
	uint32_t n_queued, i;

	ASSERT_TRUE(overrun(self));
	ASSERT_EQ(ENOBUFS, ks_recv(self->rx, NULL));
	n_queued = self->n_sent - 1;
	for (i = 0; i < n_queued; i++) {
		ASSERT_EQ(0, ks_request(self->rx, self->n_sent++));
		EXPECT_EQ((2 + i) * DROPS_EACH, ks_drops(self->rx));
		ASSERT_EQ(0, ks_recv(self->rx, NULL));
	}
	ASSERT_EQ(0, ks_request(self->rx, 4711));
	ASSERT_EQ(0, ks_recv(self->rx, &i));
	EXPECT_EQ(4711, i);
}

TEST_F(overrun, recvmmsg_tells_it_before_the_messages)
{
	char bufs[4][4096];
	struct iovec iovs[4];
	struct mmsghdr msgs[4] = { 0 };
	int i;

	for (i = 0; i < 4; i++) {
		iovs[i].iov_base = bufs[i];
		iovs[i].iov_len = sizeof(bufs[i]);
		msgs[i].msg_hdr.msg_iov = &iovs[i];
		msgs[i].msg_hdr.msg_iovlen = 1;
	}
	ASSERT_TRUE(overrun(self));
	ASSERT_LE(5, self->n_sent);
	EXPECT_EQ(-1, recvmmsg(self->rx, msgs, 4, MSG_DONTWAIT, NULL));
	EXPECT_EQ(ENOBUFS, errno);
	EXPECT_EQ(4, recvmmsg(self->rx, msgs, 4, MSG_DONTWAIT, NULL));
}

TEST_HARNESS_MAIN
