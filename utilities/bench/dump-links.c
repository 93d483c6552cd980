/* SPDX-License-Identifier: Apache-2.0 */

/* Measures how long the kernel takes to list all links, with and without their
 * statistics: see utilities/bench-link.
 *
 * usage: dump-links LINKS ROUNDS
 *
 * LINKS veth devices, an even number, are made in a network namespace of the
 * program's own. */

#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "link/link-listener.h"
#include "link/link-table.h"
#include "nl/nl-conn.h"
#include "ovs/compat-util.h"
#include "util.h"

#define REQUEST_SIZE 512

/* What is measured. */
enum variant {
    WITH_STATS,                 /* The kernel's answer. */
    SKIP_STATS,                 /* The same without statistics. */
    RESYNC,                     /* A listener that lists all links again. */
    N_VARIANTS
};
static const char *const variant_names[] = { "stats", "skip", "resync" };

struct bench {
    struct nl_conn *conn;
    struct link_table *table;
    struct link_listener *listener;
    uint32_t n_links;
};

struct answer {
    uint64_t ns, messages, bytes;
};

static uint64_t
now_ns(void)
{
    struct timespec ts;

    ovs_compat_ignore(clock_gettime(CLOCK_MONOTONIC, &ts));
    return ts.tv_sec * UINT64_C(1000000000) + ts.tv_nsec;
}

static struct nlmsghdr *
put_request(void *buf, uint16_t type, uint16_t flags)
{
    struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);

    nlh->nlmsg_type = type;
    nlh->nlmsg_flags = NLM_F_REQUEST | flags;
    mnl_nlmsg_put_extra_header(nlh, sizeof(struct ifinfomsg));
    return nlh;
}

static void
transact(struct bench *b, struct nlmsghdr *nlh, nl_reply_func *reply,
         void *aux, const char *what)
{
    int error = nl_conn_transact(b->conn, nlh, reply, aux);

    if (error) {
        ovs_fatal(error, "%s failed", what);
    }
}

/* Makes a pair of veths. */
static void
add_veths(struct bench *b, uint32_t i)
{
    char buf[REQUEST_SIZE] __attribute__((aligned(NLMSG_ALIGNTO)));
    struct nlmsghdr *nlh = put_request(buf, RTM_NEWLINK,
                                       NLM_F_CREATE | NLM_F_EXCL | NLM_F_ACK);
    char name[IFNAMSIZ];

    snprintf(name, sizeof name, "a%"PRIu32, i);
    mnl_attr_put_strz(nlh, IFLA_IFNAME, name);
    struct nlattr *info = mnl_attr_nest_start(nlh, IFLA_LINKINFO);
    mnl_attr_put_strz(nlh, IFLA_INFO_KIND, "veth");
    struct nlattr *data = mnl_attr_nest_start(nlh, IFLA_INFO_DATA);
    struct nlattr *peer = mnl_attr_nest_start(nlh, VETH_INFO_PEER);
    mnl_nlmsg_put_extra_header(nlh, sizeof(struct ifinfomsg));
    snprintf(name, sizeof name, "b%"PRIu32, i);
    mnl_attr_put_strz(nlh, IFLA_IFNAME, name);
    mnl_attr_nest_end(nlh, peer);
    mnl_attr_nest_end(nlh, data);
    mnl_attr_nest_end(nlh, info);
    transact(b, nlh, NULL, NULL, "making a veth");
}

static int
count(const struct nlmsghdr *nlh, void *answer_)
{
    struct answer *answer = answer_;

    answer->messages++;
    answer->bytes += nlh->nlmsg_len;
    return 0;
}

static struct answer
dump(struct bench *b, uint32_t mask)
{
    char buf[REQUEST_SIZE] __attribute__((aligned(NLMSG_ALIGNTO)));
    struct nlmsghdr *nlh = put_request(buf, RTM_GETLINK, NLM_F_DUMP);
    struct answer answer = { .messages = 0 };
    uint64_t start = now_ns();

    mnl_attr_put_u32(nlh, IFLA_EXT_MASK, mask);
    transact(b, nlh, count, &answer, "asking for the links");
    answer.ns = now_ns() - start;
    return answer;
}

/* Makes the listener list all links again, as after a loss. */
static struct answer
resync(struct bench *b)
{
    struct answer answer = { .bytes = 0 };
    uint64_t start = now_ns();

    link_listener_resync(b->listener);
    while (!link_listener_is_current(b->listener)) {
        link_listener_run(b->listener);
    }
    answer.ns = now_ns() - start;
    free(link_table_get_links(b->table, LINK_NSID_LOCAL, &answer.messages));
    return answer;
}

static struct answer
measure(struct bench *b, enum variant variant)
{
    struct answer answer;

    switch (variant) {
    case WITH_STATS:
        answer = dump(b, 0);
        break;
    case SKIP_STATS:
        answer = dump(b, RTEXT_FILTER_SKIP_STATS);
        break;
    case RESYNC:
        answer = resync(b);
        break;
    case N_VARIANTS:
        OVS_NOT_REACHED();
    }

    /* The namespace has a loopback device, too. */
    if (answer.messages < b->n_links + 1) {
        ovs_fatal(0, "%s: %"PRIu64" of %"PRIu32" links were told",
                  variant_names[variant], answer.messages, b->n_links + 1);
    }
    return answer;
}

static void
run(struct bench *b, uint32_t n_rounds)
{
    /* Before the first round, as it includes work that is done once. */
    for (int i = 0; i < N_VARIANTS; i++) {
        measure(b, i);
    }

    printf("[\n");
    for (uint32_t round = 0; round < n_rounds; round++) {
        /* In turn, in every other round in the opposite order. */
        for (int i = 0; i < N_VARIANTS; i++) {
            int variant = round % 2 ? N_VARIANTS - 1 - i : i;
            struct answer answer = measure(b, variant);

            printf(" {\"variant\": \"%s\", \"round\": %"PRIu32", \"ms\": %.3f,"
                   " \"links\": %"PRIu64", \"bytes\": %"PRIu64"}%s\n",
                   variant_names[variant], round, answer.ns / 1e6,
                   answer.messages, answer.bytes,
                   round < n_rounds - 1 || i < N_VARIANTS - 1 ? "," : "");
        }
    }
    printf("]\n");
}

int
main(int argc, char *argv[])
{
    struct bench b = { .conn = NULL };
    unsigned int n_rounds;
    int error;

    set_program_name(argv[0]);
    if (argc != 3 || !str_to_uint(argv[1], 10, &b.n_links) || b.n_links % 2
        || !str_to_uint(argv[2], 10, &n_rounds) || !n_rounds) {
        ovs_fatal(0, "usage: dump-links LINKS ROUNDS (LINKS an even number)");
    }
    if (unshare(CLONE_NEWNET)) {
        ovs_fatal(errno, "making a network namespace failed");
    }
    error = nl_conn_open(NETLINK_ROUTE, &b.conn);
    if (error) {
        ovs_fatal(error, "opening a netlink socket failed");
    }
    for (uint32_t i = 0; i < b.n_links / 2; i++) {
        add_veths(&b, i);
    }
    b.table = link_table_create();
    error = link_listener_open(b.table, NULL, &b.listener);
    if (error) {
        ovs_fatal(error, "listening to links failed");
    }
    run(&b, n_rounds);
    link_listener_close(b.listener);
    link_table_destroy(b.table);
    nl_conn_close(b.conn);
    return 0;
}
