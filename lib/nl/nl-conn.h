/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_NL_CONN_H
#define KDP_NL_CONN_H 1

/* Netlink requests over libmnl
 * ============================
 *
 * A "struct nl_conn" is a netlink socket on which one thread sends a request
 * and reads the kernel's whole answer.  It adds to libmnl what every requester
 * needs and libmnl leaves to its user: sequence numbers, acknowledgements,
 * dumps that a change interrupted, replies of any size and the kernel's
 * extended error message.
 *
 * A connection handles one request at a time: nl_conn_transact() returns after
 * the last message of the answer, so that nothing is left on the socket.  A
 * late answer to a request that failed half-way is recognised by its sequence
 * number and skipped.
 *
 * A dump may also be read part by part (nl_conn_start_dump()), so that the
 * caller can do other work in between.  The kernel writes a part when the
 * previous one is received, so the next part shows the state at that time.
 *
 * Thread safety: a connection belongs to one thread at a time.  Threads that
 * share one hold a lock over the whole of nl_conn_transact().  The functions
 * block until the kernel has answered. */

#include <libmnl/libmnl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nl_conn;

/* The id of a network namespace that has none. */
#define NL_NSID_NONE (-1)

/* Called for every message of an answer.  Returns 0 to go on, otherwise a
 * positive errno value, which nl_conn_transact() returns after it has read the
 * rest of the answer. */
typedef int nl_reply_func(const struct nlmsghdr *, void *aux);

/* Opens a connection to netlink protocol 'protocol' (NETLINK_GENERIC,
 * NETLINK_ROUTE, ...).  Returns 0 and stores the connection, owned by the
 * caller, in '*connp', or returns a positive errno value. */
int nl_conn_open(int protocol, struct nl_conn **connp);

/* Closes 'conn', which may be NULL. */
void nl_conn_close(struct nl_conn *conn);

/* Sends 'request', whose flags must hold NLM_F_REQUEST and either NLM_F_ACK,
 * NLM_F_ECHO or NLM_F_DUMP, and passes every message of the answer to 'reply'
 * (which may be NULL).  Sets the sequence number of 'request'.
 *
 * Returns 0 if the kernel carried the request out, otherwise the positive
 * errno value that the kernel, the socket or 'reply' reported.  EINTR means
 * that the table changed during a dump (NLM_F_DUMP_INTR).  Each message that
 * 'reply' saw was true when the kernel wrote it, but some may be missing. */
int nl_conn_transact(struct nl_conn *conn, struct nlmsghdr *request,
                     nl_reply_func *reply, void *aux);

/* Sends the dump request 'request', like nl_conn_transact().  If it returns 0,
 * the caller must call nl_conn_continue_dump() until that no longer returns
 * EINPROGRESS, before another request on 'conn', or nl_conn_close(), which
 * also ends the dump. */
int nl_conn_start_dump(struct nl_conn *conn, struct nlmsghdr *request);

/* Receives one more part of the answer, some 32 kB, and passes its messages to
 * 'reply'.  Returns EINPROGRESS if there is more to come, otherwise the result
 * as nl_conn_transact() does. */
int nl_conn_continue_dump(struct nl_conn *conn, nl_reply_func *reply,
                          void *aux);

/* Explanation that the kernel attached to the last error on 'conn', or an
 * empty string.  Valid until the next request on 'conn'. */
const char *nl_conn_ext_error(const struct nl_conn *conn);

/* Generic netlink families. */
struct genl_family {
    uint16_t id;                /* Family number, never 0 when found. */
    uint32_t mcgroup;           /* Number of the requested group, or 0. */
};

/* Asks the kernel for generic netlink family 'name' and, if 'mcgroup' is not
 * NULL, for its multicast group of that name.  Returns 0, ENOENT if there is
 * no such family (its module is not loaded) or the family has no such group,
 * or another positive errno value. */
int genl_family_lookup(struct nl_conn *conn, const char *name,
                       const char *mcgroup, struct genl_family *family);

/* Builds the start of a generic netlink message in 'buf', which must be
 * aligned for a struct nlmsghdr and large enough for the rest. */
struct nlmsghdr *genl_msg_init(void *buf, uint16_t family, uint8_t cmd,
                               uint8_t version, uint16_t flags);

/* Attribute policy: the type that libmnl checks for (MNL_TYPE_*, where
 * MNL_TYPE_UNSPEC checks nothing) and the least number of payload bytes.
 * Attributes that the policy does not name are ignored, so that newer kernels
 * may send more. */
struct nl_attr_policy {
    enum mnl_attr_data_type type;
    uint16_t min_len;
    bool required;
};

/* Sorts the attributes found in the 'len' bytes at 'payload' into
 * 'attrs[0..n - 1]' by type, the last of equal ones winning, and checks them
 * against 'policy[0..n - 1]'.  Returns 0, or EINVAL if an attribute is
 * malformed, too short or missing, or if bytes are left over.  The attributes
 * point into 'payload'. */
int nl_attrs_parse(const void *payload, size_t len,
                   const struct nl_attr_policy policy[],
                   const struct nlattr *attrs[], size_t n);

#endif /* lib/nl/nl-conn.h */
