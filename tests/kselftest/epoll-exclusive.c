// SPDX-License-Identifier: GPL-2.0-only

/* What the receiving side of ovs-kdp relies on in epoll: many instances hold
 * one netlink socket with EPOLLEXCLUSIVE. */

#include "ks-util.h"

#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>

#include "kselftest_harness.h"

#define N_WAITERS 4

/* A thread that waits once for its epoll instance. */
struct waiter {
	pthread_t thread;
	volatile pid_t tid;
	int epoll_fd;
	bool use_poll;		/* poll() on the instance's descriptor. */
	int result;
	long n_sleeps;
};

static void *waiter_main(void *waiter_)
{
	struct waiter *waiter = waiter_;

	waiter->tid = syscall(SYS_gettid);
	if (waiter->use_poll) {
		struct pollfd pfd = { .fd = waiter->epoll_fd,
				      .events = POLLIN };

		waiter->result = poll(&pfd, 1, KS_PATIENCE * 1000);
	} else {
		struct epoll_event event;

		waiter->result = epoll_wait(waiter->epoll_fd, &event, 1,
					    KS_PATIENCE * 1000);
	}
	__atomic_store_n(&waiter->tid, -1, __ATOMIC_RELEASE);
	return NULL;
}

static bool waiter_is_asleep(const struct waiter *waiter)
{
	pid_t tid = __atomic_load_n(&waiter->tid, __ATOMIC_ACQUIRE);

	return tid > 0 && ks_asleep_in(tid, waiter->use_poll ? SYS_poll
					    : SYS_epoll_wait);
}

FIXTURE(epoll) {
	int rx, tx;
	uint32_t rx_pid, tx_pid;
	int epoll_fds[N_WAITERS];
	struct waiter waiters[N_WAITERS];
};

FIXTURE_SETUP(epoll)
{
	int i;

	self->rx = ks_netlink(&self->rx_pid);
	self->tx = ks_netlink(&self->tx_pid);
	ASSERT_LE(0, self->rx);
	ASSERT_LE(0, self->tx);
	for (i = 0; i < N_WAITERS; i++) {
		self->epoll_fds[i] = epoll_create1(EPOLL_CLOEXEC);
		ASSERT_LE(0, self->epoll_fds[i]);
	}
}

FIXTURE_TEARDOWN(epoll)
{
	int i;

	for (i = 0; i < N_WAITERS; i++)
		close(self->epoll_fds[i]);
	close(self->rx);
	close(self->tx);
}

static int add(int epoll_fd, int fd, uint32_t events)
{
	struct epoll_event event = { .events = events };

	return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) ? errno : 0;
}

static int n_events(int epoll_fd)
{
	struct epoll_event events[4];

	return epoll_wait(epoll_fd, events, 4, 0);
}

/* Starts all waiters and waits until they are asleep. */
static bool start_waiters(FIXTURE_DATA(epoll) *self, bool use_poll)
{
	int i;

	for (i = 0; i < N_WAITERS; i++) {
		struct waiter *waiter = &self->waiters[i];

		waiter->epoll_fd = self->epoll_fds[i];
		waiter->use_poll = use_poll;
		waiter->tid = 0;
		if (pthread_create(&waiter->thread, NULL, waiter_main, waiter))
			return false;
	}
	for (i = 0; i < N_WAITERS; i++) {
		struct waiter *waiter = &self->waiters[i];

		if (!KS_EVENTUALLY(waiter_is_asleep(waiter)))
			return false;
		waiter->n_sleeps = ks_n_sleeps(waiter->tid);
	}
	return true;
}

static int n_returned(FIXTURE_DATA(epoll) *self)
{
	int n = 0;
	int i;

	for (i = 0; i < N_WAITERS; i++)
		n += __atomic_load_n(&self->waiters[i].tid,
				     __ATOMIC_ACQUIRE) == -1;
	return n;
}

/* Number of waiters that have slept without a break since they began. */
static int n_undisturbed(FIXTURE_DATA(epoll) *self)
{
	int n = 0;
	int i;

	for (i = 0; i < N_WAITERS; i++) {
		struct waiter *waiter = &self->waiters[i];

		n += waiter_is_asleep(waiter) &&
		     ks_n_sleeps(waiter->tid) == waiter->n_sleeps;
	}
	return n;
}

static void finish_waiters(FIXTURE_DATA(epoll) *self)
{
	int i;

	/* One more message for each that still waits. */
	while (n_returned(self) < N_WAITERS) {
		int n = n_returned(self);

		ks_send(self->tx, self->rx_pid, 64, 0);
		if (!KS_EVENTUALLY(n_returned(self) > n))
			break;
	}
	for (i = 0; i < N_WAITERS; i++)
		pthread_join(self->waiters[i].thread, NULL);
}

FIXTURE_VARIANT(epoll) {
	uint32_t events;
};

FIXTURE_VARIANT_ADD(epoll, edge_triggered) {
	.events = EPOLLIN | EPOLLET | EPOLLEXCLUSIVE,
};

FIXTURE_VARIANT_ADD(epoll, level_triggered) {
	.events = EPOLLIN | EPOLLEXCLUSIVE,
};

TEST_F_TIMEOUT(epoll, one_waiter_in_epoll_wait_is_woken, 3 * KS_PATIENCE)
{
	int i;

	for (i = 0; i < N_WAITERS; i++)
		ASSERT_EQ(0, add(self->epoll_fds[i], self->rx,
				 variant->events));
	ASSERT_TRUE(start_waiters(self, false));

	/* Waking is done when the send returns. */
	ASSERT_EQ(0, ks_send(self->tx, self->rx_pid, 64, 0));
	EXPECT_TRUE(KS_EVENTUALLY(n_returned(self) == 1));
	EXPECT_EQ(N_WAITERS - 1, n_undisturbed(self));
	EXPECT_EQ(1, n_returned(self));
	finish_waiters(self);
}

TEST_F_TIMEOUT(epoll, every_poller_of_an_instance_is_woken, 3 * KS_PATIENCE)
{
	int i;

	for (i = 0; i < N_WAITERS; i++)
		ASSERT_EQ(0, add(self->epoll_fds[i], self->rx,
				 variant->events));
	ASSERT_TRUE(start_waiters(self, true));
	ASSERT_EQ(0, ks_send(self->tx, self->rx_pid, 64, 0));

	/* The herd: EPOLLEXCLUSIVE does not reach those who poll(). */
	EXPECT_TRUE(KS_EVENTUALLY(n_returned(self) == N_WAITERS));
	finish_waiters(self);
}

TEST_F(epoll, a_busy_handler_collects_the_event)
{
	ASSERT_EQ(0, add(self->epoll_fds[0], self->rx, variant->events));
	ASSERT_EQ(0, add(self->epoll_fds[1], self->rx, variant->events));

	/* Nobody waits: all instances have it. */
	ASSERT_EQ(0, ks_send(self->tx, self->rx_pid, 64, 0));
	EXPECT_EQ(1, n_events(self->epoll_fds[0]));
	EXPECT_EQ(1, n_events(self->epoll_fds[1]));
}

TEST_F(epoll, an_event_of_a_drained_socket_is_not_reported)
{
	ASSERT_EQ(0, add(self->epoll_fds[0], self->rx, variant->events));
	ASSERT_EQ(0, add(self->epoll_fds[1], self->rx, variant->events));
	ASSERT_EQ(0, ks_send(self->tx, self->rx_pid, 64, 0));
	EXPECT_EQ(1, n_events(self->epoll_fds[0]));
	EXPECT_EQ(0, ks_recv(self->rx, NULL));
	EXPECT_EQ(0, n_events(self->epoll_fds[1]));
}

TEST_F(epoll, adding_a_readable_socket_is_an_event)
{
	ASSERT_EQ(0, ks_send(self->tx, self->rx_pid, 64, 0));
	ASSERT_EQ(0, add(self->epoll_fds[0], self->rx, variant->events));
	EXPECT_EQ(1, n_events(self->epoll_fds[0]));
}

TEST_F(epoll, each_arrival_is_an_edge)
{
	bool edge = variant->events & EPOLLET;

	ASSERT_EQ(0, add(self->epoll_fds[0], self->rx, variant->events));
	ASSERT_EQ(0, ks_send(self->tx, self->rx_pid, 64, 0));
	EXPECT_EQ(1, n_events(self->epoll_fds[0]));
	EXPECT_EQ(!edge, n_events(self->epoll_fds[0]));
	ASSERT_EQ(0, ks_send(self->tx, self->rx_pid, 64, 0));
	EXPECT_EQ(1, n_events(self->epoll_fds[0]));
}

TEST_F(epoll, an_overrun_is_an_event)
{
	int size = 2048;
	int i;

	setsockopt(self->rx, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	ASSERT_EQ(0, add(self->epoll_fds[0], self->rx, variant->events));
	for (i = 0; i < 1000 && !ks_drops(self->rx); i++) {
		n_events(self->epoll_fds[0]);
		ASSERT_EQ(0, ks_request(self->rx, i));
	}
	ASSERT_GT(1000, i);
	EXPECT_EQ(1, n_events(self->epoll_fds[0]));
	EXPECT_EQ(ENOBUFS, ks_recv(self->rx, NULL));
}

TEST_F(epoll, modification_is_refused)
{
	struct epoll_event event = { .events = variant->events };

	ASSERT_EQ(0, add(self->epoll_fds[0], self->rx, variant->events));
	EXPECT_EQ(-1, epoll_ctl(self->epoll_fds[0], EPOLL_CTL_MOD, self->rx,
				&event));
	EXPECT_EQ(EINVAL, errno);
}

TEST_F(epoll, one_shot_is_refused)
{
	EXPECT_EQ(EINVAL, add(self->epoll_fds[0], self->rx,
			      variant->events | EPOLLONESHOT));
}

TEST_F(epoll, closing_the_socket_removes_it)
{
	ASSERT_EQ(0, add(self->epoll_fds[0], self->rx, variant->events));
	ASSERT_EQ(0, ks_send(self->tx, self->rx_pid, 64, 0));
	close(self->rx);
	EXPECT_EQ(0, n_events(self->epoll_fds[0]));
	self->rx = ks_netlink(&self->rx_pid);
}

TEST_HARNESS_MAIN
