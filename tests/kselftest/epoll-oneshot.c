// SPDX-License-Identifier: GPL-2.0-only

/* What the scheduler of ovs-kdp (lib/upcall/upcall-sched.h) relies on in
 * epoll: all handlers wait in one instance, which holds the netlink sockets
 * with EPOLLONESHOT, an edge-triggered eventfd to kick one handler, and
 * level-triggered descriptors that all handlers are to see. */

#include "ks-util.h"
#include "ks-waiter.h"

#include "ks-harness.h"

#define ARMED (EPOLLIN | EPOLLONESHOT)

FIXTURE(oneshot) {
	int rx, tx;
	uint32_t rx_pid, tx_pid;
	int epoll_fd;
	int event_fd;
	struct ks_waiter waiters[KS_N_WAITERS];
};

FIXTURE_SETUP(oneshot)
{
	self->rx = ks_netlink(&self->rx_pid);
	self->tx = ks_netlink(&self->tx_pid);
	self->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	self->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	ASSERT_LE(0, self->rx);
	ASSERT_LE(0, self->tx);
	ASSERT_LE(0, self->epoll_fd);
	ASSERT_LE(0, self->event_fd);
}

FIXTURE_TEARDOWN(oneshot)
{
	ks_waiters_finish(self->waiters, KS_N_WAITERS);
	close(self->event_fd);
	close(self->epoll_fd);
	close(self->rx);
	close(self->tx);
}

/* Starts all waiters, the last one last.  Returns the number that sleeps. */
static int start_waiters(FIXTURE_DATA(oneshot) *self, bool use_poll)
{
	int n = 0;
	int i;

	for (i = 0; i < KS_N_WAITERS; i++)
		n += ks_waiter_start(&self->waiters[i], self->epoll_fd,
				     use_poll);
	return n;
}

static int n_returned(FIXTURE_DATA(oneshot) *self)
{
	return ks_n_returned(self->waiters, KS_N_WAITERS);
}

static int n_undisturbed(FIXTURE_DATA(oneshot) *self)
{
	return ks_n_undisturbed(self->waiters, KS_N_WAITERS);
}

static int send_one(FIXTURE_DATA(oneshot) *self)
{
	/* What it wakes is awake when it returns. */
	return ks_send(self->tx, self->rx_pid, 64, 0);
}

static void ring(int event_fd)
{
	static const uint64_t one = 1;

	if (write(event_fd, &one, sizeof(one)) != sizeof(one))
		abort();
}

/* Has the socket registered and its event taken. */
static bool disarm(FIXTURE_DATA(oneshot) *self)
{
	return !ks_epoll_add(self->epoll_fd, self->rx, ARMED) &&
	       !send_one(self) && ks_epoll_take(self->epoll_fd, NULL) == 1;
}

TEST_F_TIMEOUT(oneshot, the_waiter_that_slept_last_is_woken_alone,
	       5 * KS_PATIENCE)
{
	int i;

	ASSERT_EQ(0, ks_epoll_add(self->epoll_fd, self->rx, ARMED));
	ASSERT_EQ(KS_N_WAITERS, start_waiters(self, false));
	for (i = KS_N_WAITERS - 1; i >= 0; i--) {
		ASSERT_EQ(0, send_one(self));
		ASSERT_TRUE(KS_EVENTUALLY(n_returned(self) ==
					  KS_N_WAITERS - i));
		EXPECT_EQ(i, n_undisturbed(self));
		EXPECT_TRUE(ks_waiter_has_returned(&self->waiters[i]));
		EXPECT_EQ(1, self->waiters[i].n_events);
		EXPECT_EQ(self->rx, self->waiters[i].event.data.fd);
		EXPECT_EQ(EPOLLIN, self->waiters[i].event.events);
		ASSERT_EQ(0, ks_recv(self->rx, NULL));
		ASSERT_EQ(0, ks_epoll_mod(self->epoll_fd, self->rx, ARMED));
	}
}

/* Why the poll() of a handler thread is carried out as epoll_wait(). */
TEST_F_TIMEOUT(oneshot, every_waiter_in_poll_is_woken, 3 * KS_PATIENCE)
{
	ASSERT_EQ(0, ks_epoll_add(self->epoll_fd, self->rx, ARMED));
	ASSERT_EQ(KS_N_WAITERS, start_waiters(self, true));
	ASSERT_EQ(0, send_one(self));
	EXPECT_TRUE(KS_EVENTUALLY(n_returned(self) == KS_N_WAITERS));
}

TEST_F_TIMEOUT(oneshot, a_disarmed_socket_wakes_nobody, 3 * KS_PATIENCE)
{
	int i;

	ASSERT_TRUE(disarm(self));
	ASSERT_EQ(KS_N_WAITERS, start_waiters(self, false));
	for (i = 0; i < 8; i++)
		ASSERT_EQ(0, send_one(self));
	EXPECT_EQ(KS_N_WAITERS, n_undisturbed(self));
	EXPECT_EQ(0, ks_epoll_take(self->epoll_fd, NULL));
}

TEST_F(oneshot, a_disarmed_socket_has_no_event_of_an_overrun)
{
	int size = 2048;

	ASSERT_EQ(0, setsockopt(self->rx, SOL_SOCKET, SO_RCVBUF, &size,
				sizeof(size)));
	ASSERT_TRUE(disarm(self));
	ASSERT_TRUE(ks_overrun(self->rx));
	EXPECT_EQ(0, ks_epoll_take(self->epoll_fd, NULL));
}

TEST_F(oneshot, arming_a_readable_socket_is_an_event)
{
	ASSERT_TRUE(disarm(self));
	ASSERT_EQ(0, ks_epoll_take(self->epoll_fd, NULL));
	ASSERT_EQ(0, ks_epoll_mod(self->epoll_fd, self->rx, ARMED));
	EXPECT_EQ(1, ks_epoll_take(self->epoll_fd, NULL));

	/* One, and it is disarmed again. */
	EXPECT_EQ(0, ks_epoll_take(self->epoll_fd, NULL));
	ASSERT_EQ(0, send_one(self));
	EXPECT_EQ(0, ks_epoll_take(self->epoll_fd, NULL));
}

TEST_F_TIMEOUT(oneshot, arming_a_readable_socket_wakes_one_waiter,
	       3 * KS_PATIENCE)
{
	ASSERT_TRUE(disarm(self));
	ASSERT_EQ(KS_N_WAITERS, start_waiters(self, false));
	ASSERT_EQ(0, ks_epoll_mod(self->epoll_fd, self->rx, ARMED));
	EXPECT_TRUE(KS_EVENTUALLY(n_returned(self)));
	EXPECT_EQ(1, n_returned(self));
	EXPECT_EQ(KS_N_WAITERS - 1, n_undisturbed(self));
}

TEST_F_TIMEOUT(oneshot, arming_an_empty_socket_is_no_event, 3 * KS_PATIENCE)
{
	ASSERT_TRUE(disarm(self));
	ASSERT_EQ(0, ks_recv(self->rx, NULL));
	ASSERT_EQ(KS_N_WAITERS, start_waiters(self, false));
	ASSERT_EQ(0, ks_epoll_mod(self->epoll_fd, self->rx, ARMED));
	EXPECT_EQ(KS_N_WAITERS, n_undisturbed(self));
	EXPECT_EQ(0, ks_epoll_take(self->epoll_fd, NULL));

	/* The next message is one. */
	ASSERT_EQ(0, send_one(self));
	EXPECT_TRUE(KS_EVENTUALLY(n_returned(self)));
	EXPECT_EQ(1, n_returned(self));
}

TEST_F(oneshot, an_event_of_a_drained_socket_is_not_reported)
{
	ASSERT_EQ(0, ks_epoll_add(self->epoll_fd, self->rx, ARMED));
	ASSERT_EQ(0, send_one(self));
	ASSERT_EQ(0, ks_recv(self->rx, NULL));
	EXPECT_EQ(0, ks_epoll_take(self->epoll_fd, NULL));

	/* It is still armed. */
	ASSERT_EQ(0, send_one(self));
	EXPECT_EQ(1, ks_epoll_take(self->epoll_fd, NULL));
}

TEST_F(oneshot, what_one_waiter_leaves_is_there_for_the_next)
{
	struct epoll_event events[2];

	ASSERT_EQ(0, ks_epoll_add(self->epoll_fd, self->rx, ARMED));
	ASSERT_EQ(0, ks_epoll_add(self->epoll_fd, self->tx, ARMED));
	ASSERT_EQ(0, send_one(self));
	ASSERT_EQ(0, ks_send(self->rx, self->tx_pid, 64, 0));
	EXPECT_EQ(1, epoll_wait(self->epoll_fd, &events[0], 1, 0));
	EXPECT_EQ(1, epoll_wait(self->epoll_fd, &events[1], 1, 0));
	EXPECT_EQ(0, ks_epoll_take(self->epoll_fd, NULL));
	EXPECT_EQ(self->rx, events[0].data.fd);
	EXPECT_EQ(self->tx, events[1].data.fd);
}

/* An empty socket does not overrun, so one that is armed for messages has its
 * event before.  This one is armed for errors alone, which are always
 * reported. */
TEST_F_TIMEOUT(oneshot, an_overrun_of_an_armed_socket_is_an_event,
	       3 * KS_PATIENCE)
{
	uint32_t events;
	int size = 2048;

	ASSERT_EQ(0, setsockopt(self->rx, SOL_SOCKET, SO_RCVBUF, &size,
				sizeof(size)));
	ASSERT_EQ(0, ks_epoll_add(self->epoll_fd, self->rx, EPOLLONESHOT));
	ASSERT_EQ(0, ks_request(self->rx, 0));
	ASSERT_EQ(0, ks_epoll_take(self->epoll_fd, NULL));
	ASSERT_TRUE(ks_waiter_start(&self->waiters[0], self->epoll_fd,
				    false));
	ASSERT_TRUE(ks_overrun(self->rx));
	ASSERT_TRUE(KS_EVENTUALLY(n_returned(self) == 1));
	events = self->waiters[0].event.events;
	EXPECT_EQ(EPOLLERR, events);
	EXPECT_EQ(ENOBUFS, ks_recv(self->rx, NULL));
}

/* So no mask keeps a socket quiet: a channel whose upcalls are to wait has an
 * owner instead. */
TEST_F(oneshot, no_mask_hides_an_overrun)
{
	static const uint32_t masks[] = { 0, EPOLLET, EPOLLONESHOT };
	uint32_t events;
	int size = 2048;
	size_t i;

	ASSERT_EQ(0, setsockopt(self->rx, SOL_SOCKET, SO_RCVBUF, &size,
				sizeof(size)));
	ASSERT_EQ(0, send_one(self));
	ASSERT_TRUE(ks_overrun(self->rx));
	for (i = 0; i < sizeof(masks) / sizeof(masks[0]); i++) {
		ASSERT_EQ(0, ks_epoll_add(self->epoll_fd, self->rx, masks[i]));
		EXPECT_EQ(1, ks_epoll_take(self->epoll_fd, &events));
		EXPECT_EQ(EPOLLERR, events);
		ASSERT_EQ(0, ks_epoll_del(self->epoll_fd, self->rx));
	}

	/* The event takes nothing from the socket: whoever reads it is told. */
	EXPECT_EQ(ENOBUFS, ks_recv(self->rx, NULL));
	EXPECT_EQ(0, ks_recv(self->rx, NULL));
}

TEST_F(oneshot, arming_after_an_overrun_is_an_event)
{
	uint32_t events;
	int size = 2048;

	ASSERT_EQ(0, setsockopt(self->rx, SOL_SOCKET, SO_RCVBUF, &size,
				sizeof(size)));
	ASSERT_TRUE(disarm(self));
	ASSERT_TRUE(ks_overrun(self->rx));

	/* The error alone would do. */
	ASSERT_EQ(0, ks_epoll_mod(self->epoll_fd, self->rx, EPOLLONESHOT));
	EXPECT_EQ(1, ks_epoll_take(self->epoll_fd, &events));
	EXPECT_EQ(EPOLLERR, events);
	ASSERT_EQ(0, ks_epoll_mod(self->epoll_fd, self->rx, ARMED));
	EXPECT_EQ(1, ks_epoll_take(self->epoll_fd, &events));
	EXPECT_EQ(EPOLLIN | EPOLLERR, events);
	EXPECT_EQ(ENOBUFS, ks_recv(self->rx, NULL));

	/* Told once; the messages that were queued are still there. */
	ASSERT_EQ(0, ks_epoll_mod(self->epoll_fd, self->rx, ARMED));
	EXPECT_EQ(1, ks_epoll_take(self->epoll_fd, &events));
	EXPECT_EQ(EPOLLIN, events);
}

/* The kick.  Nobody reads the eventfd. */
TEST_F_TIMEOUT(oneshot, each_write_to_an_edge_triggered_eventfd_wakes_one,
	       5 * KS_PATIENCE)
{
	int i;

	ASSERT_EQ(0, ks_epoll_add(self->epoll_fd, self->event_fd,
				  EPOLLIN | EPOLLET));
	ASSERT_EQ(KS_N_WAITERS, start_waiters(self, false));
	for (i = 1; i <= KS_N_WAITERS; i++) {
		ring(self->event_fd);
		ASSERT_TRUE(KS_EVENTUALLY(n_returned(self) == i));
		EXPECT_EQ(KS_N_WAITERS - i, n_undisturbed(self));
	}
	EXPECT_EQ(0, ks_epoll_take(self->epoll_fd, NULL));
}

TEST_F(oneshot, writes_while_nobody_waits_are_one_event)
{
	ASSERT_EQ(0, ks_epoll_add(self->epoll_fd, self->event_fd,
				  EPOLLIN | EPOLLET));
	ring(self->event_fd);
	ring(self->event_fd);
	EXPECT_EQ(1, ks_epoll_take(self->epoll_fd, NULL));
	EXPECT_EQ(0, ks_epoll_take(self->epoll_fd, NULL));
}

/* The end of a set of handlers, and what is watched along. */
TEST_F_TIMEOUT(oneshot, a_level_triggered_descriptor_wakes_all_in_turn,
	       3 * KS_PATIENCE)
{
	int i;

	ASSERT_EQ(0, ks_epoll_add(self->epoll_fd, self->event_fd, EPOLLIN));
	ASSERT_EQ(KS_N_WAITERS, start_waiters(self, false));
	ring(self->event_fd);
	EXPECT_TRUE(KS_EVENTUALLY(n_returned(self) == KS_N_WAITERS));
	for (i = 0; i < KS_N_WAITERS; i++) {
		EXPECT_EQ(1, self->waiters[i].n_events);
		EXPECT_EQ(self->event_fd, self->waiters[i].event.data.fd);
	}

	/* It stays an event, for those who come later. */
	EXPECT_EQ(1, ks_epoll_take(self->epoll_fd, NULL));
}

TEST_F(oneshot, a_deleted_descriptor_has_no_event)
{
	ASSERT_EQ(0, ks_epoll_add(self->epoll_fd, self->rx, ARMED));
	ASSERT_EQ(0, send_one(self));
	ASSERT_EQ(0, ks_epoll_del(self->epoll_fd, self->rx));
	EXPECT_EQ(0, ks_epoll_take(self->epoll_fd, NULL));

	/* Its owner may arm it after that. */
	EXPECT_EQ(ENOENT, ks_epoll_mod(self->epoll_fd, self->rx, ARMED));
	EXPECT_EQ(ENOENT, ks_epoll_del(self->epoll_fd, self->rx));
	EXPECT_EQ(0, ks_epoll_take(self->epoll_fd, NULL));
}

TEST_F(oneshot, adding_a_readable_socket_is_an_event)
{
	ASSERT_EQ(0, send_one(self));
	ASSERT_EQ(0, ks_epoll_add(self->epoll_fd, self->rx, ARMED));
	EXPECT_EQ(EEXIST, ks_epoll_add(self->epoll_fd, self->rx, ARMED));
	EXPECT_EQ(1, ks_epoll_take(self->epoll_fd, NULL));
}

TEST_F(oneshot, a_socket_may_be_in_two_instances)
{
	int epoll_fd = epoll_create1(EPOLL_CLOEXEC);

	/* The one of the handlers before, and that of those who come. */
	ASSERT_LE(0, epoll_fd);
	ASSERT_EQ(0, ks_epoll_add(self->epoll_fd, self->rx, ARMED));
	ASSERT_EQ(0, ks_epoll_add(epoll_fd, self->rx, ARMED));
	ASSERT_EQ(0, send_one(self));
	EXPECT_EQ(1, ks_epoll_take(self->epoll_fd, NULL));
	EXPECT_EQ(1, ks_epoll_take(epoll_fd, NULL));
	close(epoll_fd);
}

TEST_F(oneshot, closing_the_descriptor_removes_it)
{
	int fd = self->rx;

	ASSERT_EQ(0, ks_epoll_add(self->epoll_fd, fd, ARMED));
	ASSERT_EQ(0, send_one(self));
	close(fd);
	EXPECT_EQ(0, ks_epoll_take(self->epoll_fd, NULL));

	/* Its number can be registered again. */
	self->rx = ks_netlink(&self->rx_pid);
	ASSERT_EQ(fd, self->rx);
	EXPECT_EQ(0, ks_epoll_add(self->epoll_fd, self->rx, ARMED));
}

TEST_HARNESS_MAIN
