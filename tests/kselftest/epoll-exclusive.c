// SPDX-License-Identifier: GPL-2.0-only

/* Why the handlers of ovs-kdp do not have an epoll instance each, with the
 * sockets registered EPOLLEXCLUSIVE: a socket that one handler is at work on
 * disturbs the others, and cannot be kept from it.  Compare epoll-oneshot. */

#include "ks-util.h"
#include "ks-waiter.h"

#include "ks-harness.h"

/* Messages that come while a handler has the socket. */
#define N_MESSAGES 8

FIXTURE(exclusive) {
	int rx, tx;
	uint32_t rx_pid, tx_pid;
	int epoll_fds[KS_N_WAITERS];
	struct ks_waiter waiters[KS_N_WAITERS];
};

FIXTURE_VARIANT(exclusive) {
	uint32_t events;
};

FIXTURE_VARIANT_ADD(exclusive, edge_triggered) {
	.events = EPOLLIN | EPOLLET | EPOLLEXCLUSIVE,
};

FIXTURE_VARIANT_ADD(exclusive, level_triggered) {
	.events = EPOLLIN | EPOLLEXCLUSIVE,
};

FIXTURE_SETUP(exclusive)
{
	int i;

	self->rx = ks_netlink(&self->rx_pid);
	self->tx = ks_netlink(&self->tx_pid);
	ASSERT_LE(0, self->rx);
	ASSERT_LE(0, self->tx);
	for (i = 0; i < KS_N_WAITERS; i++) {
		self->epoll_fds[i] = epoll_create1(EPOLL_CLOEXEC);
		ASSERT_LE(0, self->epoll_fds[i]);
		ASSERT_EQ(0, ks_epoll_add(self->epoll_fds[i], self->rx,
					  variant->events));
	}
}

FIXTURE_TEARDOWN(exclusive)
{
	int i;

	ks_waiters_finish(self->waiters, KS_N_WAITERS);
	for (i = 0; i < KS_N_WAITERS; i++)
		close(self->epoll_fds[i]);
	close(self->rx);
	close(self->tx);
}

TEST_F_TIMEOUT(exclusive, one_of_several_instances_is_woken, 3 * KS_PATIENCE)
{
	int i;

	for (i = 0; i < KS_N_WAITERS; i++)
		ASSERT_TRUE(ks_waiter_start(&self->waiters[i],
					    self->epoll_fds[i], false));
	ASSERT_EQ(0, ks_send(self->tx, self->rx_pid, 64, 0));
	EXPECT_TRUE(KS_EVENTUALLY(ks_n_returned(self->waiters,
						KS_N_WAITERS)));
	EXPECT_EQ(1, ks_n_returned(self->waiters, KS_N_WAITERS));
	EXPECT_EQ(KS_N_WAITERS - 1,
		  ks_n_undisturbed(self->waiters, KS_N_WAITERS));
}

TEST_F(exclusive, every_instance_that_nobody_waits_for_has_the_event)
{
	int i;

	ASSERT_EQ(0, ks_send(self->tx, self->rx_pid, 64, 0));
	for (i = 0; i < KS_N_WAITERS; i++)
		EXPECT_EQ(1, ks_epoll_take(self->epoll_fds[i], NULL));
}

/* Handler 0 has the socket and is at work. */
TEST_F_TIMEOUT(exclusive, each_message_of_a_busy_handler_wakes_another,
	       5 * KS_PATIENCE)
{
	bool edge = variant->events & EPOLLET;
	int i;

	ASSERT_EQ(0, ks_send(self->tx, self->rx_pid, 64, 0));
	for (i = 0; i < KS_N_WAITERS; i++)
		ASSERT_EQ(1, ks_epoll_take(self->epoll_fds[i], NULL));

	/* Level-triggered, the others cannot sleep at all. */
	for (i = 1; i < KS_N_WAITERS; i++)
		ASSERT_EQ(edge, ks_waiter_start(&self->waiters[i],
						self->epoll_fds[i], false));
	if (!edge)
		return;

	for (i = 0; i < N_MESSAGES; i++) {
		struct ks_waiter *waiter = &self->waiters[1];

		ASSERT_EQ(0, ks_send(self->tx, self->rx_pid, 64, 0));
		ASSERT_TRUE(KS_EVENTUALLY(ks_n_returned(&self->waiters[1],
							KS_N_WAITERS - 1)));
		EXPECT_EQ(1, ks_n_returned(&self->waiters[1],
					   KS_N_WAITERS - 1));
		while (!ks_waiter_has_returned(waiter))
			waiter++;

		/* In vain; back to sleep. */
		ks_waiter_join(waiter);
		ASSERT_TRUE(ks_waiter_start(waiter, waiter->epoll_fd, false));
	}
}

TEST_F(exclusive, disarming_by_one_shot_is_refused)
{
	ASSERT_EQ(0, ks_epoll_del(self->epoll_fds[0], self->rx));
	EXPECT_EQ(EINVAL, ks_epoll_add(self->epoll_fds[0], self->rx,
				       variant->events | EPOLLONESHOT));
}

TEST_F(exclusive, disarming_by_modification_is_refused)
{
	EXPECT_EQ(EINVAL, ks_epoll_mod(self->epoll_fds[0], self->rx,
				       variant->events));
	EXPECT_EQ(EINVAL, ks_epoll_mod(self->epoll_fds[0], self->rx, 0));
}

TEST_HARNESS_MAIN
