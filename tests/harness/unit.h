/* SPDX-License-Identifier: Apache-2.0 */

#ifndef HARNESS_UNIT_H
#define HARNESS_UNIT_H 1

/* What the unit tests share
 * =========================
 *
 * Every test program runs in a network namespace of its own, so that netlink
 * port ids, multicast groups and devices are private, and needs no privilege
 * beyond a user namespace.  In it a second socket stands in for the kernel:
 *
 *   - A unicast to a channel's port id is queued as an upcall is.  When the
 *     receive buffer is full the send fails; the kernel does not tell the
 *     receiver, because the sender is no kernel socket.
 *
 *   - A multicast to a group that the channel has joined is dropped when the
 *     receive buffer is full, and the receiver is told with ENOBUFS and the
 *     drop counter: the path that the upcalls of the kernel datapath take.
 *
 * Failures end the program with a message, also outside the main thread, where
 * cmocka's assertions do not work. */

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct upcall_channel;
struct upcall_view;

/* What made-up messages say. */
#define UNIT_FAMILY 0x30        /* Generic netlink family of upcalls. */
#define UNIT_DP_IFINDEX 7       /* Datapath. */

/* Moves the process to namespaces of its own.  To be called first thing in
 * main(). */
void unit_init(const char *program);

/* Makes the process one with several threads as far as Open vSwitch is
 * concerned, with the one that runs what was postponed with RCU.  Left alone,
 * whichever thread quiesces first does that, racing with others (harmlessly,
 * but a thread sanitizer cannot know). */
void unit_start_threads(void);

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
 * sequence number 'seq' and is 'packet_len' bytes long, at least
 * UNIT_PACKET_MIN. */
#define UNIT_PACKET_MIN 32
void unit_msg_upcall(struct unit_msg *, uint64_t seq, size_t packet_len);
void unit_msg_set_seq(struct unit_msg *, uint64_t seq);
uint64_t unit_view_seq(const struct upcall_view *);

/* Sockets that stand in for the kernel. */
int unit_sender_open(void);

/* Sends without blocking.  Returns 0 or a positive errno value. */
int unit_send(int sender, uint32_t pid, const void *, size_t);
int unit_send_group(int sender, unsigned int group, const void *, size_t);

/* Sends upcall number 'seq' to 'pid', which must succeed. */
void unit_send_upcall(int sender, uint32_t pid, uint64_t seq);

/* Makes a multicast to 'group', from 1 to 32, reach 'channel'. */
void unit_channel_join(const struct upcall_channel *, unsigned int group);

/* Number of open sockets, epoll instances and the like of the process.  The
 * pipes, which Open vSwitch makes for its threads and keeps, do not count. */
size_t unit_count_fds(void);

/* Waits until everything that was postponed with RCU is done. */
void unit_rcu_barrier(void);

/* Milliseconds of a clock that only runs forward. */
long long int unit_now(void);

/* Waits until CONDITION holds, for at most UNIT_PATIENCE milliseconds. */
#define UNIT_PATIENCE 30000
#define unit_wait_until(CONDITION)                                      \
    do {                                                                \
        long long int deadline__ = unit_now() + UNIT_PATIENCE;          \
                                                                        \
        while (!(CONDITION)) {                                          \
            if (unit_now() > deadline__) {                              \
                unit_die("%s:%d: gave up waiting for %s", __FILE__,     \
                         __LINE__, #CONDITION);                         \
            }                                                           \
            unit_pause();                                               \
        }                                                               \
    } while (0)
void unit_pause(void);

/* Assertion for any thread. */
#define unit_check(CONDITION)                                           \
    ((CONDITION) ? (void) 0                                             \
     : unit_die("%s:%d: %s does not hold", __FILE__, __LINE__, #CONDITION))
void unit_die(const char *format, ...)
    __attribute__((format(printf, 1, 2), noreturn));

#endif /* tests/harness/unit.h */
