// SPDX-License-Identifier: GPL-2.0-only

/* Order of upcalls (U1), end to end: packets that all miss enter several ports
 * at once; each is sent on by the daemon; all of them leave, in the order in
 * which each port got them.
 *
 * A sender waits while as many packets as fit into a socket's buffer with ease
 * have not left yet, so that none is lost however slow the daemon is.  What
 * came in, what went out and what was lost is what the kernel counts, not the
 * daemon: at the devices, and at the daemon's sockets.
 *
 * The ports "ks-in0", "ks-in1", ... and the port "ks-out" of a bridge, with a
 * flow from each of the former to the latter, are there already (run-guest),
 * and the daemon installs no flows.  The far ends of the former are called
 * "ks-far0" and so on. */

#include "ks-util.h"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "ks-harness.h"

#define N_PORTS 4
#define N_PACKETS 4000		/* For each port. */
#define WINDOW 500		/* Of each port, under way; a socket takes
				 * some two thousand. */
#define ETHERTYPE 0x88b5	/* For local experiments. */

struct packet {
	struct ethhdr eth;
	uint32_t port;
	uint32_t seq;
	char pad[46 - 8];
} __attribute__((packed));

static int packet_socket(const char *ifname, uint16_t protocol)
{
	struct sockaddr_ll addr = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(protocol),
		.sll_ifindex = if_nametoindex(ifname),
	};
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(protocol));

	if (fd >= 0 && bind(fd, (struct sockaddr *)&addr, sizeof(addr))) {
		close(fd);
		return -1;
	}
	return fd;
}

struct sender {
	pthread_t thread;
	uint32_t port;
	uint32_t burst;			/* Packets between two pauses, or 0. */
	int fd;
	int error;
	atomic_bool *stop;
	atomic_uint n_received;		/* Of its packets, that have left. */
};

static void *sender_main(void *sender_)
{
	struct sender *sender = sender_;
	cpu_set_t cpus;
	uint32_t seq;

	/* A packet that waits for the CPU that its sender has left would be
	 * overtaken. */
	CPU_ZERO(&cpus);
	CPU_SET(sender->port % sysconf(_SC_NPROCESSORS_ONLN), &cpus);
	sender->error = pthread_setaffinity_np(pthread_self(), sizeof(cpus),
					       &cpus);

	for (seq = 0; seq < N_PACKETS && !sender->error; seq++) {
		struct packet packet = {
			.eth = { .h_dest = "\x02\xff\xff\xff\xff\xff",
				 .h_proto = htons(ETHERTYPE) },
			.port = sender->port,
			.seq = seq,
		};

		/* A source address of its own, also among those of the other
		 * variant, makes each packet a miss. */
		packet.eth.h_source[0] = sender->burst ? 6 : 2;
		packet.eth.h_source[1] = sender->port;
		memcpy(&packet.eth.h_source[2], &seq, 4);
		while (seq - atomic_load(&sender->n_received) >= WINDOW &&
		       !atomic_load(sender->stop))
			ks_pause();
		while (send(sender->fd, &packet, sizeof(packet), 0) < 0) {
			if (errno != ENOBUFS) {
				sender->error = errno;
				break;
			}
			ks_pause();
		}
		if (sender->burst && seq % sender->burst == 0)
			usleep(300 + 100 * sender->port);
	}
	return NULL;
}

/* What counter 'name' of device 'ifname' says. */
static long device_count(const char *ifname, const char *name)
{
	char path[128];
	long value = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/class/net/%s/statistics/%s", ifname,
		 name);
	f = fopen(path, "r");
	if (!f || fscanf(f, "%ld", &value) != 1)
		value = -1;
	if (f)
		fclose(f);
	return value;
}

/* Packets that came in at all ports. */
static long packets_in(void)
{
	long sum = 0;
	int i;

	for (i = 0; i < N_PORTS; i++) {
		char name[IFNAMSIZ];

		snprintf(name, sizeof(name), "ks-in%d", i);
		sum += device_count(name, "rx_packets");
	}
	return sum;
}

static long generic_drops(int fd, const struct sockaddr_nl *addr __maybe_unused,
			  const void *aux __maybe_unused)
{
	socklen_t len = sizeof(int);
	int protocol;

	return !getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &len) &&
	       protocol == NETLINK_GENERIC ? ks_drops(fd) : 0;
}

/* Packets that the daemon has sent.  A veth counts a packet as dropped, and
 * not as sent, when the backlog of the processor is full that its peer
 * receives on: the guest may be too busy to empty that. */
static long packets_out(void)
{
	return device_count("ks-out", "tx_packets") +
	       device_count("ks-out", "tx_dropped");
}

/* Messages that the kernel could not queue on the daemon's generic netlink
 * sockets, all of them. */
static long messages_dropped(void)
{
	return ks_sum_netlink(ks_daemon_pid(), generic_drops, NULL);
}

FIXTURE(order) {
	int out;
};

FIXTURE_VARIANT(order) {
	uint32_t burst;
};

/* All handlers have a backlog all the time. */
FIXTURE_VARIANT_ADD(order, flood) {
	.burst = 0,
};

/* Handlers empty channels and go to sleep while others are at work, so that a
 * port's next packets come while its last ones are being processed. */
FIXTURE_VARIANT_ADD(order, bursts) {
	.burst = 3,
};

FIXTURE_SETUP(order)
{
	int rcvbuf = 64 << 20;

	/* The tap on the sending side sees packets in the context of the
	 * handler that sends them. */
	self->out = packet_socket("ks-out", ETH_P_ALL);
	ASSERT_LE(0, self->out);
	ASSERT_EQ(0, setsockopt(self->out, SOL_SOCKET, SO_RCVBUFFORCE, &rcvbuf,
				sizeof(rcvbuf)));
}

FIXTURE_TEARDOWN(order)
{
	close(self->out);
}

TEST_F_TIMEOUT(order, upcalls_of_a_port_keep_their_order, 5 * KS_PATIENCE)
{
	const long n_sent = N_PORTS * N_PACKETS;
	struct sender senders[N_PORTS] = { 0 };
	long last[N_PORTS], n_received = 0, n_inversions = 0;
	long in, out, dropped;
	struct tpacket_stats stats;
	socklen_t stats_len = sizeof(stats);
	atomic_bool stop = false;
	time_t end;
	int i;

	ASSERT_EQ(4, ks_upcall_show("n_handlers"));
	in = packets_in();
	out = packets_out();
	dropped = messages_dropped();
	ASSERT_LE(0, dropped);

	for (i = 0; i < N_PORTS; i++) {
		char name[IFNAMSIZ];

		snprintf(name, sizeof(name), "ks-far%d", i);
		senders[i].port = i;
		senders[i].burst = variant->burst;
		senders[i].stop = &stop;
		senders[i].fd = packet_socket(name, 0);
		ASSERT_LE(0, senders[i].fd);
		last[i] = -1;
	}
	for (i = 0; i < N_PORTS; i++)
		ASSERT_EQ(0, pthread_create(&senders[i].thread, NULL,
					    sender_main, &senders[i]));

	/* Until every packet has come, or none does any more. */
	end = time(NULL) + KS_PATIENCE;
	while (n_received < n_sent && time(NULL) < end) {
		struct pollfd pfd = { .fd = self->out, .events = POLLIN };
		struct sockaddr_ll from;
		socklen_t len = sizeof(from);
		struct packet packet;

		if (poll(&pfd, 1, 1000) <= 0)
			continue;
		if (recvfrom(self->out, &packet, sizeof(packet), 0,
			     (struct sockaddr *)&from, &len) < sizeof(packet) ||
		    from.sll_pkttype != PACKET_OUTGOING ||
		    packet.eth.h_proto != htons(ETHERTYPE) ||
		    packet.port >= N_PORTS)
			continue;
		n_received++;
		atomic_fetch_add(&senders[packet.port].n_received, 1);
		n_inversions += (long)packet.seq <= last[packet.port];
		last[packet.port] = packet.seq;
		end = time(NULL) + KS_PATIENCE;
	}
	atomic_store(&stop, true);
	for (i = 0; i < N_PORTS; i++) {
		pthread_join(senders[i].thread, NULL);
		EXPECT_EQ(0, senders[i].error);
		EXPECT_EQ(N_PACKETS - 1, last[i]);
		close(senders[i].fd);
	}

	in = packets_in() - in;
	out = packets_out() - out;
	dropped = messages_dropped() - dropped;
	TH_LOG("sent %ld, came in %ld, dropped %ld, went out %ld, seen %ld, "
	       "out of order %ld", n_sent, in, dropped, out, n_received,
	       n_inversions);
	ASSERT_EQ(0, getsockopt(self->out, SOL_PACKET, PACKET_STATISTICS,
				&stats, &stats_len));
	EXPECT_EQ(0, stats.tp_drops);

	/* The kernel adds what it sends itself, for IPv6. */
	EXPECT_LE(n_sent, in);
	EXPECT_LE(n_sent, out);
	EXPECT_EQ(0, dropped);
	EXPECT_EQ(n_sent, n_received);
	EXPECT_EQ(0, n_inversions);
}

TEST_HARNESS_MAIN
