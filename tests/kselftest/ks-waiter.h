/* SPDX-License-Identifier: GPL-2.0-only */

/* Threads that wait once for an epoll instance, and what became of them.
 *
 * What a test looks at is settled when it looks: a thread is started when the
 * one before it is asleep, and a thread that the kernel did not wake has gone
 * to sleep no more often than when it began. */

#ifndef KS_WAITER_H
#define KS_WAITER_H 1

#include "ks-util.h"

#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#define KS_N_WAITERS 4

struct ks_waiter {
	pthread_t thread;
	pid_t tid;		/* -1 when it has returned. */
	int epoll_fd;
	bool use_poll;		/* poll() on the instance's descriptor. */
	int n_events;
	struct epoll_event event;
	long n_sleeps;		/* When it began. */
};

static inline void *ks_waiter_main(void *waiter_)
{
	struct ks_waiter *waiter = waiter_;
	struct pollfd pfd = { .fd = waiter->epoll_fd, .events = POLLIN };

	__atomic_store_n(&waiter->tid, syscall(SYS_gettid), __ATOMIC_RELEASE);
	waiter->n_events = waiter->use_poll
			   ? poll(&pfd, 1, 2 * KS_PATIENCE * 1000)
			   : epoll_wait(waiter->epoll_fd, &waiter->event, 1,
					2 * KS_PATIENCE * 1000);
	__atomic_store_n(&waiter->tid, -1, __ATOMIC_RELEASE);
	return NULL;
}

static inline bool ks_waiter_has_returned(struct ks_waiter *waiter)
{
	return __atomic_load_n(&waiter->tid, __ATOMIC_ACQUIRE) == -1;
}

static inline bool ks_waiter_is_asleep(struct ks_waiter *waiter)
{
	pid_t tid = __atomic_load_n(&waiter->tid, __ATOMIC_ACQUIRE);

	return tid > 0 && ks_asleep_in(tid, waiter->use_poll ? SYS_poll
					    : SYS_epoll_wait);
}

/* Starts a thread that waits for 'epoll_fd'.  Returns true if it fell asleep,
 * false if it returned without. */
static inline bool ks_waiter_start(struct ks_waiter *waiter, int epoll_fd,
				   bool use_poll)
{
	memset(waiter, 0, sizeof(*waiter));
	waiter->epoll_fd = epoll_fd;
	waiter->use_poll = use_poll;
	if (pthread_create(&waiter->thread, NULL, ks_waiter_main, waiter))
		abort();
	KS_EVENTUALLY(ks_waiter_is_asleep(waiter) ||
		      ks_waiter_has_returned(waiter));
	if (!ks_waiter_is_asleep(waiter))
		return false;
	waiter->n_sleeps = ks_n_sleeps(waiter->tid);
	return true;
}

/* True if the thread has slept without a break since it began. */
static inline bool ks_waiter_is_undisturbed(struct ks_waiter *waiter)
{
	return ks_waiter_is_asleep(waiter) &&
	       ks_n_sleeps(waiter->tid) == waiter->n_sleeps;
}

/* Counts, of the 'n' threads. */
static inline int ks_n_returned(struct ks_waiter *waiters, int n)
{
	int n_returned = 0;

	while (n--)
		n_returned += ks_waiter_has_returned(&waiters[n]);
	return n_returned;
}

static inline int ks_n_undisturbed(struct ks_waiter *waiters, int n)
{
	int n_undisturbed = 0;

	while (n--)
		n_undisturbed += ks_waiter_is_undisturbed(&waiters[n]);
	return n_undisturbed;
}

/* Waits for a thread that has returned, or is about to. */
static inline void ks_waiter_join(struct ks_waiter *waiter)
{
	if (waiter->thread)
		pthread_join(waiter->thread, NULL);
	waiter->thread = 0;
}

/* Ends those of the 'n' threads that still wait. */
static inline void ks_waiters_finish(struct ks_waiter *waiters, int n)
{
	struct epoll_event event = { .events = EPOLLIN };
	int fd = eventfd(1, EFD_CLOEXEC);
	int i;

	for (i = 0; i < n; i++)
		if (waiters[i].thread)
			epoll_ctl(waiters[i].epoll_fd, EPOLL_CTL_ADD, fd,
				  &event);
	for (i = 0; i < n; i++)
		ks_waiter_join(&waiters[i]);
	close(fd);
}

/* Registers 'fd' for 'events'.  Returns 0 or an errno value. */
static inline int ks_epoll_add(int epoll_fd, int fd, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.fd = fd };

	return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) ? errno : 0;
}

static inline int ks_epoll_mod(int epoll_fd, int fd, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.fd = fd };

	return epoll_ctl(epoll_fd, EPOLL_CTL_MOD, fd, &event) ? errno : 0;
}

static inline int ks_epoll_del(int epoll_fd, int fd)
{
	return epoll_ctl(epoll_fd, EPOLL_CTL_DEL, fd, NULL) ? errno : 0;
}

/* Takes the events that are there; stores those of the first one. */
static inline int ks_epoll_take(int epoll_fd, uint32_t *events)
{
	struct epoll_event epoll_events[4];
	int n = epoll_wait(epoll_fd, epoll_events, 4, 0);

	if (events)
		*events = n > 0 ? epoll_events[0].events : 0;
	return n;
}

/* Makes the kernel send to 'fd' until it has to drop a message.  Returns false
 * if it does not. */
static inline bool ks_overrun(int fd)
{
	int i;

	for (i = 0; i < 1000 && !ks_drops(fd); i++)
		if (ks_request(fd, i))
			return false;
	return ks_drops(fd) > 0;
}

#endif
