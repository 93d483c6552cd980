/* SPDX-License-Identifier: GPL-2.0-only */

/* What the programs here share: netlink between two sockets of the program,
 * threads that are known to be asleep, and questions to the daemon. */

#ifndef KS_UTIL_H
#define KS_UTIL_H 1

#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef __maybe_unused
#define __maybe_unused __attribute__((unused))
#endif

/* Seconds that a condition may take to come true on a slow, emulated CPU. */
#define KS_PATIENCE 60

/* Runs EXPR until it is true, for at most KS_PATIENCE seconds; is its
 * value. */
#define KS_EVENTUALLY(EXPR)                                     \
	({                                                      \
		time_t end__ = time(NULL) + KS_PATIENCE;        \
		bool value__;                                   \
		while (!(value__ = (EXPR)) && time(NULL) < end__) \
			ks_pause();                             \
		value__;                                        \
	})

static inline void ks_pause(void)
{
	struct timespec ts = { .tv_nsec = 2000000 };

	nanosleep(&ts, NULL);
}

/* Opens a generic netlink socket and stores its port id in *pid. */
static inline int ks_netlink(uint32_t *pid)
{
	struct sockaddr_nl addr = { .nl_family = AF_NETLINK };
	socklen_t len = sizeof(addr);
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);

	if (fd < 0 || bind(fd, (struct sockaddr *)&addr, sizeof(addr)) ||
	    getsockname(fd, (struct sockaddr *)&addr, &len))
		return -1;
	*pid = addr.nl_pid;
	return fd;
}

/* Sends a message of 'size' bytes to port 'pid' without waiting for room.
 * Returns 0 or an errno value. */
static inline int ks_send(int fd, uint32_t pid, size_t size, uint32_t seq)
{
	struct sockaddr_nl addr = { .nl_family = AF_NETLINK, .nl_pid = pid };
	char buf[4096] = { 0 };
	struct nlmsghdr *nlh = (struct nlmsghdr *)buf;

	nlh->nlmsg_len = size;
	nlh->nlmsg_type = NLMSG_MIN_TYPE;
	nlh->nlmsg_seq = seq;
	return sendto(fd, buf, size, MSG_DONTWAIT, (struct sockaddr *)&addr,
		      sizeof(addr)) < 0 ? errno : 0;
}

/* Makes the kernel send one message to the socket itself, with sequence number
 * 'seq', without waiting for room, as it sends upcalls: the answer to a
 * question.  Returns 0 or an errno value. */
static inline int ks_request(int fd, uint32_t seq)
{
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	struct {
		struct nlmsghdr nlh;
		struct genlmsghdr genl;
		struct nlattr nla;
		uint16_t id;
		uint16_t pad;
	} request = {
		.nlh = { .nlmsg_len = sizeof(request),
			 .nlmsg_type = GENL_ID_CTRL,
			 .nlmsg_flags = NLM_F_REQUEST,
			 .nlmsg_seq = seq },
		.genl = { .cmd = CTRL_CMD_GETFAMILY, .version = 1 },
		.nla = { .nla_len = sizeof(struct nlattr) + sizeof(uint16_t),
			 .nla_type = CTRL_ATTR_FAMILY_ID },
		.id = GENL_ID_CTRL,
	};

	return sendto(fd, &request, sizeof(request), 0,
		      (struct sockaddr *)&kernel, sizeof(kernel)) < 0
	       ? errno : 0;
}

/* Receives one message without waiting.  Returns 0 or an errno value. */
static inline int ks_recv(int fd, uint32_t *seq)
{
	char buf[4096];

	if (recv(fd, buf, sizeof(buf), MSG_DONTWAIT) < 0)
		return errno;
	if (seq)
		*seq = ((struct nlmsghdr *)buf)->nlmsg_seq;
	return 0;
}

/* Messages that the kernel could not queue on the socket. */
static inline uint32_t ks_drops(int fd)
{
	uint32_t meminfo[SK_MEMINFO_VARS] = { 0 };
	socklen_t len = sizeof(meminfo);

	if (getsockopt(fd, SOL_SOCKET, SO_MEMINFO, meminfo, &len))
		return UINT32_MAX;
	return meminfo[SK_MEMINFO_DROPS];
}

/* Reads file 'name' of thread 'tid' of this process into 'buf'. */
static inline bool ks_read_task(pid_t tid, const char *name, char *buf,
				size_t size)
{
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/%s", tid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, buf, size - 1);
	if (fd >= 0)
		close(fd);
	if (n < 0)
		return false;
	buf[n] = '\0';
	return true;
}

/* True if thread 'tid' is asleep in system call 'nr'. */
static inline bool ks_asleep_in(pid_t tid, long nr)
{
	char buf[256];

	return ks_read_task(tid, "syscall", buf, sizeof(buf)) &&
	       buf[0] >= '0' && buf[0] <= '9' && strtol(buf, NULL, 10) == nr;
}

/* Number of times that thread 'tid' went to sleep, or -1. */
static inline long ks_n_sleeps(pid_t tid)
{
	char buf[4096], *p;

	if (!ks_read_task(tid, "status", buf, sizeof(buf)))
		return -1;
	p = strstr(buf, "\nvoluntary_ctxt_switches:");
	return p ? strtol(strchr(p, ':') + 1, NULL, 10) : -1;
}

/* Runs a command; returns what it wrote, up to a limit, in static storage, or
 * NULL if it failed. */
static inline const char *ks_output(const char *command)
{
	static char buf[1 << 20];
	FILE *f = popen(command, "r");
	size_t n;

	if (!f)
		return NULL;
	n = fread(buf, 1, sizeof(buf) - 1, f);
	buf[n] = '\0';
	return pclose(f) ? NULL : buf;
}

/* Number after "\"name\":" in the daemon's upcall/show, or -1. */
static inline long ks_upcall_show(const char *name)
{
	const char *json = ks_output("ovs-appctl upcall/show --format json");
	char key[64];
	const char *p;

	snprintf(key, sizeof(key), "\"%s\":", name);
	p = json ? strstr(json, key) : NULL;
	return p ? strtol(p + strlen(key), NULL, 10) : -1;
}

/* Process id of the daemon, or -1. */
static inline long ks_daemon_pid(void)
{
	const char *s = ks_output("cat \"${OVS_RUNDIR:-/var/run/openvswitch}\""
				  "/ovs-vswitchd.pid");

	return s ? strtol(s, NULL, 10) : -1;
}

/* What 'cb' returns for descriptor 'fd' of the process behind 'pidfd', if that
 * is a netlink socket, otherwise 0. */
static inline long ks_ask_netlink(int pidfd, int fd,
				  long (*cb)(int fd,
					     const struct sockaddr_nl *addr,
					     const void *aux),
				  const void *aux)
{
	struct sockaddr_nl addr = { 0 };
	socklen_t len = sizeof(addr);
	int copy = syscall(SYS_pidfd_getfd, pidfd, fd, 0);
	long value = 0;

	if (copy < 0)
		return 0;
	if (!getsockname(copy, (struct sockaddr *)&addr, &len) &&
	    addr.nl_family == AF_NETLINK)
		value = cb(copy, &addr, aux);
	close(copy);
	return value;
}

/* Adds what 'cb' returns for each netlink socket of process 'pid'.  'cb' gets
 * a descriptor of the socket and its address.  Returns -1 if the sockets
 * cannot be read.
 *
 * The sockets themselves are asked.  /proc/net/netlink is read in pieces, and
 * each piece goes on by the number of lines before it: a socket that somebody
 * opens or closes meanwhile makes it show another one twice or not at all. */
static inline long ks_sum_netlink(long pid,
				  long (*cb)(int fd,
					     const struct sockaddr_nl *addr,
					     const void *aux),
				  const void *aux)
{
	int pidfd = syscall(SYS_pidfd_open, pid, 0);
	struct dirent *de;
	char path[64];
	long sum = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%ld/fd", pid);
	dir = opendir(path);
	if (pidfd < 0 || !dir)
		sum = -1;
	while (sum >= 0 && (de = readdir(dir)) != NULL)
		if (de->d_name[0] != '.')
			sum += ks_ask_netlink(pidfd, atoi(de->d_name), cb, aux);
	if (dir)
		closedir(dir);
	if (pidfd >= 0)
		close(pidfd);
	return sum;
}

#endif
