// SPDX-License-Identifier: GPL-2.0-only

/* What the receiving side of ovs-kdp relies on in epoll: all handlers wait in
 * one instance, where sockets are registered with EPOLLONESHOT. */

#include "ks-util.h"

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "kselftest_harness.h"

#define N_WAITERS 4

struct waiter {
	pthread_t thread;
	pid_t tid;		/* 0: not begun, -1: woken. */
	int epoll_fd;
	long n_sleeps;
};

static void *waiter_main(void *waiter_)
{
	struct waiter *waiter = waiter_;
	struct epoll_event event;

	__atomic_store_n(&waiter->tid, syscall(SYS_gettid), __ATOMIC_RELEASE);
	epoll_wait(waiter->epoll_fd, &event, 1, KS_PATIENCE * 1000);
	__atomic_store_n(&waiter->tid, -1, __ATOMIC_RELEASE);
	return NULL;
}

static pid_t waiter_tid(const struct waiter *waiter)
{
	return __atomic_load_n(&waiter->tid, __ATOMIC_ACQUIRE);
}

static bool waiter_is_asleep(const struct waiter *waiter)
{
	pid_t tid = waiter_tid(waiter);

	return tid > 0 && ks_asleep_in(tid, SYS_epoll_wait);
}

FIXTURE(epoll) {
	int rx[2], tx;
	uint32_t rx_pid[2], tx_pid;
	int epoll_fd, kick;
	int n_waiters;
	struct waiter waiters[N_WAITERS];
};

static int control(int epoll_fd, int op, int fd, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.fd = fd };

	return epoll_ctl(epoll_fd, op, fd, &event) ? errno : 0;
}

FIXTURE_SETUP(epoll)
{
	int i;

	self->tx = ks_netlink(&self->tx_pid);
	self->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	self->kick = eventfd(0, EFD_NONBLOCK);
	ASSERT_LE(0, self->tx);
	ASSERT_LE(0, self->epoll_fd);
	ASSERT_LE(0, self->kick);
	for (i = 0; i < 2; i++) {
		self->rx[i] = ks_netlink(&self->rx_pid[i]);
		ASSERT_LE(0, self->rx[i]);
		ASSERT_EQ(0, control(self->epoll_fd, EPOLL_CTL_ADD,
				     self->rx[i], EPOLLIN | EPOLLONESHOT));
	}
	ASSERT_EQ(0, control(self->epoll_fd, EPOLL_CTL_ADD, self->kick,
			     EPOLLIN | EPOLLET));
}

FIXTURE_TEARDOWN(epoll)
{
	static const uint64_t one = 1;
	int i;

	/* Whoever still waits is woken, by one ring after the other. */
	for (i = 0; i < self->n_waiters; i++) {
		while (waiter_tid(&self->waiters[i]) != -1) {
			if (write(self->kick, &one, sizeof one) < 0)
				break;
			ks_pause();
		}
		pthread_join(self->waiters[i].thread, NULL);
	}
	for (i = 0; i < 2; i++)
		close(self->rx[i]);
	close(self->tx);
	close(self->kick);
	close(self->epoll_fd);
}

static int n_events(FIXTURE_DATA(epoll) *self)
{
	struct epoll_event events[4];

	return epoll_wait(self->epoll_fd, events, 4, 0);
}

/* Puts one more waiter to sleep. */
static bool start_waiter(FIXTURE_DATA(epoll) *self)
{
	struct waiter *waiter = &self->waiters[self->n_waiters];

	waiter->epoll_fd = self->epoll_fd;
	waiter->tid = 0;
	if (pthread_create(&waiter->thread, NULL, waiter_main, waiter))
		return false;
	self->n_waiters++;
	if (!KS_EVENTUALLY(waiter_is_asleep(waiter)))
		return false;
	waiter->n_sleeps = ks_n_sleeps(waiter_tid(waiter));
	return true;
}

static bool start_waiters(FIXTURE_DATA(epoll) *self)
{
	int i;

	for (i = 0; i < N_WAITERS; i++) {
		if (!start_waiter(self))
			return false;
	}
	return true;
}

static int n_woken(FIXTURE_DATA(epoll) *self)
{
	int n = 0;
	int i;

	for (i = 0; i < self->n_waiters; i++)
		n += waiter_tid(&self->waiters[i]) == -1;
	return n;
}

/* Number of waiters that have slept without a break since they began. */
static int n_undisturbed(FIXTURE_DATA(epoll) *self)
{
	int n = 0;
	int i;

	for (i = 0; i < self->n_waiters; i++) {
		struct waiter *waiter = &self->waiters[i];

		n += waiter_is_asleep(waiter) &&
		     ks_n_sleeps(waiter_tid(waiter)) == waiter->n_sleeps;
	}
	return n;
}

TEST_F(epoll, the_waiter_that_slept_last_is_woken_alone)
{
	int i;

	ASSERT_TRUE(start_waiters(self));
	for (i = N_WAITERS - 1; i >= 0; i--) {
		ks_send(self->tx, self->rx_pid[0], 64, 0);
		ASSERT_TRUE(KS_EVENTUALLY(waiter_tid(&self->waiters[i])
					  == -1));
		ASSERT_EQ(i, n_undisturbed(self));
		ASSERT_EQ(0, control(self->epoll_fd, EPOLL_CTL_MOD,
				     self->rx[0], 0));
		while (!ks_recv(self->rx[0], NULL))
			;
		ASSERT_EQ(0, control(self->epoll_fd, EPOLL_CTL_MOD,
				     self->rx[0], EPOLLIN | EPOLLONESHOT));
	}
}

TEST_F(epoll, a_disarmed_socket_wakes_nobody)
{
	ks_send(self->tx, self->rx_pid[0], 64, 0);
	ASSERT_EQ(1, n_events(self));
	ASSERT_TRUE(start_waiters(self));
	for (int i = 0; i < 100; i++)
		ks_send(self->tx, self->rx_pid[0], 64, 0);

	/* What another socket does shows that the kernel got this far. */
	ks_send(self->tx, self->rx_pid[1], 64, 0);
	ASSERT_TRUE(KS_EVENTUALLY(n_woken(self) == 1));
	ASSERT_EQ(N_WAITERS - 1, n_undisturbed(self));
}

TEST_F(epoll, arming_a_readable_socket_is_an_event)
{
	ks_send(self->tx, self->rx_pid[0], 64, 0);
	ASSERT_EQ(1, n_events(self));
	ASSERT_EQ(0, n_events(self));
	ASSERT_EQ(0, control(self->epoll_fd, EPOLL_CTL_MOD, self->rx[0],
			     EPOLLIN | EPOLLONESHOT));
	ASSERT_EQ(1, n_events(self));
	ASSERT_EQ(0, n_events(self));
}

TEST_F(epoll, arming_a_readable_socket_wakes_one_waiter)
{
	ks_send(self->tx, self->rx_pid[0], 64, 0);
	ASSERT_EQ(1, n_events(self));
	ASSERT_TRUE(start_waiters(self));
	ASSERT_EQ(0, control(self->epoll_fd, EPOLL_CTL_MOD, self->rx[0],
			     EPOLLIN | EPOLLONESHOT));
	ASSERT_TRUE(KS_EVENTUALLY(n_woken(self) == 1));
	ASSERT_EQ(N_WAITERS - 1, n_undisturbed(self));
}

TEST_F(epoll, arming_an_empty_socket_is_no_event)
{
	ks_send(self->tx, self->rx_pid[0], 64, 0);
	ASSERT_EQ(1, n_events(self));
	while (!ks_recv(self->rx[0], NULL))
		;
	ASSERT_EQ(0, control(self->epoll_fd, EPOLL_CTL_MOD, self->rx[0],
			     EPOLLIN | EPOLLONESHOT));
	ASSERT_EQ(0, n_events(self));
	ks_send(self->tx, self->rx_pid[0], 64, 0);
	ASSERT_EQ(1, n_events(self));
}

TEST_F(epoll, an_event_that_nobody_took_is_gone_when_the_socket_is_empty)
{
	ks_send(self->tx, self->rx_pid[0], 64, 0);
	while (!ks_recv(self->rx[0], NULL))
		;
	ASSERT_EQ(0, n_events(self));
	ks_send(self->tx, self->rx_pid[0], 64, 0);
	ASSERT_EQ(1, n_events(self));
}

TEST_F(epoll, each_ring_of_an_edge_triggered_eventfd_wakes_one)
{
	static const uint64_t one = 1;
	int i;

	ASSERT_TRUE(start_waiters(self));
	for (i = 1; i <= N_WAITERS; i++) {
		ASSERT_EQ(sizeof one, write(self->kick, &one, sizeof one));
		ASSERT_TRUE(KS_EVENTUALLY(n_woken(self) == i));
		ASSERT_EQ(N_WAITERS - i, n_undisturbed(self));
	}
}

TEST_F(epoll, a_level_triggered_descriptor_wakes_all_in_turn)
{
	static const uint64_t one = 1;
	int fd = eventfd(0, EFD_NONBLOCK);

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, control(self->epoll_fd, EPOLL_CTL_ADD, fd, EPOLLIN));
	ASSERT_TRUE(start_waiters(self));
	ASSERT_EQ(sizeof one, write(fd, &one, sizeof one));
	ASSERT_TRUE(KS_EVENTUALLY(n_woken(self) == N_WAITERS));
	close(fd);
}

TEST_F(epoll, arming_a_socket_that_was_removed_fails)
{
	ASSERT_EQ(0, control(self->epoll_fd, EPOLL_CTL_DEL, self->rx[0], 0));
	ASSERT_EQ(ENOENT, control(self->epoll_fd, EPOLL_CTL_MOD, self->rx[0],
				  EPOLLIN | EPOLLONESHOT));
}

TEST_HARNESS_MAIN
