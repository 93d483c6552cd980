// SPDX-License-Identifier: GPL-2.0-only

/* Order of upcalls, end to end: packets that all miss enter several ports at
 * once; each is sent on by the daemon; the order in which they leave is that
 * in which each port got them.
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

#include "kselftest_harness.h"

#define N_PORTS 4
#define N_PACKETS 4000		/* For each port. */
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
};

static void *sender_main(void *sender_)
{
	struct sender *sender = sender_;
	uint32_t seq;

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
		if (send(sender->fd, &packet, sizeof(packet), 0) < 0 &&
		    errno != ENOBUFS)
			sender->error = errno;
		if (sender->burst && seq % sender->burst == 0)
			usleep(300 + 100 * sender->port);
	}
	return NULL;
}

/* Sum of what all ports received and lost, by the daemon's account. */
static long account(const char *key)
{
	const char *p = ks_output("ovs-appctl upcall/show --format json");
	long sum = 0;

	while (p && (p = strstr(p, key)) != NULL) {
		p += strlen(key);
		sum += strtol(p, NULL, 10);
	}
	return sum;
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

TEST_F_TIMEOUT(order, upcalls_of_a_port_keep_their_order, 3 * KS_PATIENCE)
{
	struct sender senders[N_PORTS] = { 0 };
	long last[N_PORTS], n_received = 0, n_inversions = 0;
	long received, lost;
	time_t end;
	int i;

	ASSERT_EQ(4, ks_upcall_show("n_handlers"));
	received = account("\"received\":");
	lost = account("\"lost\":");

	for (i = 0; i < N_PORTS; i++) {
		char name[IFNAMSIZ];

		snprintf(name, sizeof(name), "ks-far%d", i);
		senders[i].port = i;
		senders[i].burst = variant->burst;
		senders[i].fd = packet_socket(name, 0);
		ASSERT_LE(0, senders[i].fd);
		last[i] = -1;
	}
	for (i = 0; i < N_PORTS; i++)
		ASSERT_EQ(0, pthread_create(&senders[i].thread, NULL,
					    sender_main, &senders[i]));

	/* Until every packet has come or is accounted for. */
	end = time(NULL) + KS_PATIENCE;
	while (time(NULL) < end) {
		struct pollfd pfd = { .fd = self->out, .events = POLLIN };
		struct sockaddr_ll from;
		socklen_t len = sizeof(from);
		struct packet packet;

		if (poll(&pfd, 1, 2000) <= 0) {
			if (account("\"received\":") - received +
			    account("\"lost\":") - lost >= N_PORTS * N_PACKETS)
				break;
			continue;
		}
		if (recvfrom(self->out, &packet, sizeof(packet), 0,
			     (struct sockaddr *)&from, &len) < sizeof(packet) ||
		    from.sll_pkttype != PACKET_OUTGOING ||
		    packet.eth.h_proto != htons(ETHERTYPE) ||
		    packet.port >= N_PORTS)
			continue;
		n_received++;
		n_inversions += (long)packet.seq <= last[packet.port];
		last[packet.port] = packet.seq;
	}
	for (i = 0; i < N_PORTS; i++) {
		pthread_join(senders[i].thread, NULL);
		EXPECT_EQ(0, senders[i].error);
		EXPECT_LT(0, last[i]);
		close(senders[i].fd);
	}

	received = account("\"received\":") - received;
	lost = account("\"lost\":") - lost;
	TH_LOG("sent %d, received %ld, lost %ld, sent on %ld, out of order %ld",
	       N_PORTS * N_PACKETS, received, lost, n_received, n_inversions);

	/* Each packet was a miss, and each miss is received or lost. */
	EXPECT_LE(N_PORTS * N_PACKETS, received + lost);
	EXPECT_LT(N_PORTS * N_PACKETS / 10, n_received);
	EXPECT_EQ(0, n_inversions);
}

TEST_HARNESS_MAIN
