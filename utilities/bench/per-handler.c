/* SPDX-License-Identifier: Apache-2.0 */

/* Opens a netlink socket for each port of a datapath and each handler, and
 * tells the datapath to send the upcalls of a port to its sockets: this is how
 * handlers received before they shared sockets.  Prints the numbers as JSON,
 * and closes the sockets; the ports then have none. */

#include <errno.h>
#include <libmnl/libmnl.h>
#include <limits.h>
#include <linux/genetlink.h>
#include <linux/openvswitch.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* Port numbers of the datapath. */
#define MAX_PORTS 65536

/* Most handlers in one message, with some room for the rest of it. */
#define MAX_HANDLERS 8000
#define BUFFER_SIZE (MAX_HANDLERS * sizeof(uint32_t) + 4096)

static char buffer[BUFFER_SIZE];

static void
die(const char *what)
{
    fprintf(stderr, "per-handler: %s: %s\n", what, strerror(errno));
    exit(1);
}

/* Begins a request of generic netlink. */
static struct nlmsghdr *
begin(uint16_t family, uint8_t cmd, uint8_t version, uint16_t flags)
{
    struct nlmsghdr *nlh = mnl_nlmsg_put_header(buffer);
    struct genlmsghdr *genl;

    nlh->nlmsg_type = family;
    nlh->nlmsg_flags = NLM_F_REQUEST | flags;
    nlh->nlmsg_seq = time(NULL);
    genl = mnl_nlmsg_put_extra_header(nlh, sizeof *genl);
    genl->cmd = cmd;
    genl->version = version;
    return nlh;
}

static void
put_datapath(struct nlmsghdr *nlh, int dp_ifindex)
{
    struct ovs_header *header;

    header = mnl_nlmsg_put_extra_header(nlh, sizeof *header);
    header->dp_ifindex = dp_ifindex;
}

/* Sends 'nlh' and passes the answers to 'cb'.  Returns 0 or a positive errno
 * value. */
static int
transact__(struct mnl_socket *sock, struct nlmsghdr *nlh, mnl_cb_t cb,
           void *aux)
{
    unsigned int portid = mnl_socket_get_portid(sock);
    unsigned int seq = nlh->nlmsg_seq;
    int retval;

    if (mnl_socket_sendto(sock, nlh, nlh->nlmsg_len) < 0) {
        return errno;
    }
    do {
        ssize_t n = mnl_socket_recvfrom(sock, buffer, sizeof buffer);

        retval = n < 0 ? -1 : mnl_cb_run(buffer, n, seq, portid, cb, aux);
    } while (retval > 0);
    return retval < 0 ? errno : 0;
}

/* Like transact__(), but ends the program on failure. */
static void
transact(struct mnl_socket *sock, struct nlmsghdr *nlh, mnl_cb_t cb,
         void *aux, const char *what)
{
    int error = transact__(sock, nlh, cb, aux);

    if (error) {
        errno = error;
        die(what);
    }
}

static int
family_cb(const struct nlmsghdr *nlh, void *family_)
{
    uint16_t *family = family_;
    struct nlattr *attr;

    mnl_attr_for_each (attr, nlh, sizeof(struct genlmsghdr)) {
        if (mnl_attr_get_type(attr) == CTRL_ATTR_FAMILY_ID) {
            *family = mnl_attr_get_u16(attr);
        }
    }
    return MNL_CB_OK;
}

static uint16_t
get_family(struct mnl_socket *sock, const char *name)
{
    struct nlmsghdr *nlh = begin(GENL_ID_CTRL, CTRL_CMD_GETFAMILY, 1,
                                 NLM_F_ACK);
    uint16_t family = 0;

    mnl_attr_put_strz(nlh, CTRL_ATTR_FAMILY_NAME, name);
    transact(sock, nlh, family_cb, &family, name);
    return family;
}

struct ports {
    uint32_t numbers[MAX_PORTS];
    size_t n;
};

static int
vport_cb(const struct nlmsghdr *nlh, void *ports_)
{
    struct ports *ports = ports_;
    struct nlattr *attr;

    mnl_attr_for_each (attr, nlh, (sizeof(struct genlmsghdr)
                                   + sizeof(struct ovs_header))) {
        if (mnl_attr_get_type(attr) == OVS_VPORT_ATTR_PORT_NO
            && ports->n < MAX_PORTS) {
            ports->numbers[ports->n++] = mnl_attr_get_u32(attr);
        }
    }
    return MNL_CB_OK;
}

/* Sets the 'n' sockets of port 'port_no' in the datapath.  Returns 0 or a
 * positive errno value. */
static int
set_pids(struct mnl_socket *sock, uint16_t family, int dp_ifindex,
         uint32_t port_no, const uint32_t pids[], size_t n)
{
    struct nlmsghdr *nlh = begin(family, OVS_VPORT_CMD_SET, OVS_VPORT_VERSION,
                                 NLM_F_ACK);

    put_datapath(nlh, dp_ifindex);
    mnl_attr_put_u32(nlh, OVS_VPORT_ATTR_PORT_NO, port_no);
    mnl_attr_put(nlh, OVS_VPORT_ATTR_UPCALL_PID, n * sizeof *pids, pids);
    return transact__(sock, nlh, NULL, NULL);
}

static struct mnl_socket *
open_socket(void)
{
    struct mnl_socket *sock = mnl_socket_open2(NETLINK_GENERIC, SOCK_CLOEXEC);

    if (!sock || mnl_socket_bind(sock, 0, MNL_SOCKET_AUTOPID) < 0) {
        die("netlink socket");
    }
    return sock;
}

int
main(int argc, char *argv[])
{
    static struct ports ports;
    static uint32_t pids[MAX_HANDLERS];
    unsigned long int n_handlers;
    struct rlimit limit;
    struct mnl_socket *sock;
    uint16_t family;
    size_t n_sockets = 0;
    int dp_ifindex;
    struct nlmsghdr *nlh;
    size_t n_told;
    int error;

    n_handlers = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
    if (n_handlers < 1 || n_handlers > MAX_HANDLERS) {
        fprintf(stderr, "usage: per-handler DATAPATH HANDLERS (1 to %d)\n",
                MAX_HANDLERS);
        return 2;
    }
    dp_ifindex = if_nametoindex(argv[1]);
    if (!dp_ifindex) {
        die(argv[1]);
    }

    sock = open_socket();
    family = get_family(sock, OVS_VPORT_FAMILY);
    nlh = begin(family, OVS_VPORT_CMD_GET, OVS_VPORT_VERSION, NLM_F_DUMP);
    put_datapath(nlh, dp_ifindex);
    transact(sock, nlh, vport_cb, &ports, "ports of the datapath");

    limit.rlim_cur = limit.rlim_max = ports.n * n_handlers + 100;
    if (setrlimit(RLIMIT_NOFILE, &limit)) {
        die("limit on open files");
    }
    n_told = n_handlers;
    for (size_t i = 0; i < ports.n; i++) {
        for (size_t j = 0; j < n_handlers; j++) {
            pids[j] = mnl_socket_get_portid(open_socket());
            n_sockets++;
        }

        /* Recent kernels accept no more than they have CPUs. */
        while ((error = set_pids(sock, family, dp_ifindex, ports.numbers[i],
                                 pids, n_told)) == EINVAL && n_told > 1) {
            n_told--;
        }
        if (error) {
            errno = error;
            die("sockets of a port");
        }
    }

    /* Plus one socket for the requests, and three standard descriptors. */
    printf("{\"ports\": %zu, \"sockets\": %zu, \"descriptors\": %zu, "
           "\"told\": %zu}\n", ports.n, n_sockets + 1, n_sockets + 4, n_told);
    return 0;
}
