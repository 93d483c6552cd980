// SPDX-License-Identifier: GPL-2.0-only

/* How groups of handlers of ovs-kdp call each other: an eventfd that is never
 * read stands in the epoll instance of each group, EPOLLEXCLUSIVE and
 * edge-triggered.  What one write wakes, and what several do. */

#include "ks-util.h"
#include "ks-waiter.h"

#include "ks-harness.h"

#define CALL_EVENTS (EPOLLIN | EPOLLET | EPOLLEXCLUSIVE)

FIXTURE(call) {
	int fd;
	int epoll_fds[KS_N_WAITERS];
	struct ks_waiter waiters[KS_N_WAITERS];
};

FIXTURE_SETUP(call)
{
	int i;

	self->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	ASSERT_LE(0, self->fd);
	for (i = 0; i < KS_N_WAITERS; i++) {
		self->epoll_fds[i] = epoll_create1(EPOLL_CLOEXEC);
		ASSERT_LE(0, self->epoll_fds[i]);
		ASSERT_EQ(0, ks_epoll_add(self->epoll_fds[i], self->fd,
					  CALL_EVENTS));
	}
}

FIXTURE_TEARDOWN(call)
{
	int i;

	ks_waiters_finish(self->waiters, KS_N_WAITERS);
	for (i = 0; i < KS_N_WAITERS; i++)
		close(self->epoll_fds[i]);
	close(self->fd);
}

static bool call(int fd)
{
	static const uint64_t one = 1;

	return write(fd, &one, sizeof(one)) == sizeof(one);
}

/* Two groups of two. */
TEST_F_TIMEOUT(call, one_write_wakes_one_sleeper_of_one_group, 3 * KS_PATIENCE)
{
	int i;

	for (i = 0; i < KS_N_WAITERS; i++)
		ASSERT_TRUE(ks_waiter_start(&self->waiters[i],
					    self->epoll_fds[i / 2], false));
	ASSERT_TRUE(call(self->fd));
	EXPECT_TRUE(KS_EVENTUALLY(ks_n_returned(self->waiters,
						KS_N_WAITERS)));
	EXPECT_EQ(1, ks_n_returned(self->waiters, KS_N_WAITERS));
	EXPECT_EQ(KS_N_WAITERS - 1,
		  ks_n_undisturbed(self->waiters, KS_N_WAITERS));
}

/* Whether they come at once or not: who was woken waits no more, so that the
 * next write comes to the next group. */
TEST_F_TIMEOUT(call, k_writes_wake_the_only_sleepers_of_k_groups,
	       3 * KS_PATIENCE)
{
	int i;

	for (i = 0; i < KS_N_WAITERS; i++)
		ASSERT_TRUE(ks_waiter_start(&self->waiters[i],
					    self->epoll_fds[i], false));
	for (i = 0; i < KS_N_WAITERS - 1; i++)
		ASSERT_TRUE(call(self->fd));
	EXPECT_TRUE(KS_EVENTUALLY(ks_n_returned(self->waiters, KS_N_WAITERS) ==
				  KS_N_WAITERS - 1));
	EXPECT_EQ(1, ks_n_undisturbed(self->waiters, KS_N_WAITERS));
}

/* But one group has one event for all writes that nobody has taken it after:
 * whoever gets it has to call again if there is more. */
TEST_F(call, k_writes_are_one_event_of_a_group)
{
	int i;

	for (i = 0; i < KS_N_WAITERS; i++)
		ASSERT_TRUE(call(self->fd));
	EXPECT_EQ(1, ks_epoll_take(self->epoll_fds[0], NULL));
	EXPECT_EQ(0, ks_epoll_take(self->epoll_fds[0], NULL));
}

TEST_F_TIMEOUT(call, write_after_write_wakes_one_after_the_other,
	       5 * KS_PATIENCE)
{
	int i;

	for (i = 0; i < KS_N_WAITERS; i++)
		ASSERT_TRUE(ks_waiter_start(&self->waiters[i],
					    self->epoll_fds[i / 2], false));
	for (i = 1; i <= KS_N_WAITERS; i++) {
		ASSERT_TRUE(call(self->fd));
		EXPECT_TRUE(KS_EVENTUALLY(ks_n_returned(self->waiters,
							KS_N_WAITERS) == i));
	}
}

TEST_F_TIMEOUT(call, group_in_which_nobody_sleeps_is_passed_over,
	       3 * KS_PATIENCE)
{
	ASSERT_TRUE(ks_waiter_start(&self->waiters[0], self->epoll_fds[2],
				    false));
	ASSERT_TRUE(call(self->fd));
	EXPECT_TRUE(KS_EVENTUALLY(ks_n_returned(self->waiters, 1) == 1));

	/* Those before it have the event, which costs the next look there a
	 * glance; those behind it have not. */
	EXPECT_EQ(1, ks_epoll_take(self->epoll_fds[0], NULL));
	EXPECT_EQ(0, ks_epoll_take(self->epoll_fds[0], NULL));
	EXPECT_EQ(1, ks_epoll_take(self->epoll_fds[1], NULL));
	EXPECT_EQ(0, ks_epoll_take(self->epoll_fds[3], NULL));
}

TEST_F(call, neither_nested_instances_nor_one_shot_can_be_exclusive)
{
	EXPECT_EQ(EINVAL, ks_epoll_add(self->epoll_fds[0], self->epoll_fds[1],
				       EPOLLIN | EPOLLEXCLUSIVE));
	ASSERT_EQ(0, ks_epoll_del(self->epoll_fds[0], self->fd));
	EXPECT_EQ(EINVAL, ks_epoll_add(self->epoll_fds[0], self->fd,
				       CALL_EVENTS | EPOLLONESHOT));
}

TEST_HARNESS_MAIN
