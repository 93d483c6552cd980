/* SPDX-License-Identifier: Apache-2.0 */

#ifndef HARNESS_KERNEL_MESSAGES_H
#define HARNESS_KERNEL_MESSAGES_H 1

/* Messages of the kernel datapath
 * ===============================
 *
 * A test builds messages that the kernel could have sent, and sends them from
 * a socket that stands in for the kernel:
 *
 *   - A unicast to a channel's port id is queued like an upcall.  When the
 *     receive buffer is full the send fails; the kernel does not tell the
 *     receiver, because the sender is not a kernel socket.
 *
 *   - A multicast to a group that the channel has joined is dropped when the
 *     receive buffer is full, which the receiver learns from ENOBUFS and the
 *     drop counter: this is the path of the kernel datapath's upcalls. */

#include <stddef.h>
#include <stdint.h>

struct upcall_channel;
struct upcall_view;

/* Contents of the messages. */
#define UNIT_FAMILY 0x30        /* Generic netlink family of upcalls. */
#define UNIT_DP_IFINDEX 7       /* Datapath. */

/* A message under construction. */
struct unit_msg {
    size_t len;
    size_t size;
    char *buf;                  /* Aligned for a struct nlmsghdr. */
    size_t packet_ofs;          /* Of an upcall's packet in 'buf'. */
};

void unit_msg_init(struct unit_msg *, uint16_t family, uint8_t cmd,
                   int dp_ifindex);
void unit_msg_put(struct unit_msg *, uint16_t type, const void *, size_t n);
void unit_msg_uninit(struct unit_msg *);

/* Makes the upcall that the tests of receiving use: its packet carries the
 * sequence number 'seq' and has 'packet_len' bytes, at least
 * UNIT_PACKET_MIN. */
#define UNIT_PACKET_MIN 32
void unit_msg_upcall(struct unit_msg *, uint64_t seq, size_t packet_len);
void unit_msg_set_seq(struct unit_msg *, uint64_t seq);
uint64_t unit_view_seq(const struct upcall_view *);

/* A socket that stands in for the kernel, and one that does not. */
int unit_sender_open(void);
int unit_stranger_open(void);

/* Sends without blocking.  Returns 0 or a positive errno value. */
int unit_send(int sender, uint32_t pid, const void *, size_t);
int unit_send_group(int sender, unsigned int group, const void *, size_t);

/* Sends upcall number 'seq' to 'pid', which must succeed. */
void unit_send_upcall(int sender, uint32_t pid, uint64_t seq);

/* Makes a multicast to 'group', from 1 to 32, reach 'channel'. */
void unit_channel_join(const struct upcall_channel *, unsigned int group);

#endif /* tests/harness/kernel-messages.h */
