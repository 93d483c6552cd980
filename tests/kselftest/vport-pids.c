// SPDX-License-Identifier: GPL-2.0-only

/* What the kernel was told by a running ovs-kdp, seen from outside: where the
 * upcalls of datapath "ovs-system" go, and what sockets that takes. */

#include "ks-util.h"

#include <libmnl/libmnl.h>
#include <linux/openvswitch.h>

#include "ks-harness.h"

#define DATAPATH "ovs-system"
#define MAX_PORTS 1024

/* Open vSwitch keeps the sockets of its own requests to the kernel, and makes
 * one more whenever more threads ask at the same time than ever before.  One
 * less than the handlers that are added, so that a socket for each of them
 * shows. */
#define SOCKET_SLACK 6

struct vport {
	uint32_t port_no;
	uint32_t n_pids;
	uint32_t pid;
};

FIXTURE(datapath) {
	struct mnl_socket *nl;
	uint16_t datapath_family, vport_family;
	int ifindex;
	uint32_t features;
	struct vport vports[MAX_PORTS];
	size_t n_vports;
	uint16_t *family;		/* Where the look-up puts its result. */
};

static int family_cb(const struct nlmsghdr *nlh, void *self_)
{
	FIXTURE_DATA(datapath) *self = self_;
	const struct nlattr *attr;

	mnl_attr_for_each(attr, nlh, sizeof(struct genlmsghdr))
		if (mnl_attr_get_type(attr) == CTRL_ATTR_FAMILY_ID)
			*self->family = mnl_attr_get_u16(attr);
	return MNL_CB_OK;
}

static int datapath_cb(const struct nlmsghdr *nlh, void *self_)
{
	const size_t headers = sizeof(struct genlmsghdr) +
			       sizeof(struct ovs_header);
	FIXTURE_DATA(datapath) *self = self_;
	const struct nlattr *attr;
	const struct ovs_header *ovs =
		mnl_nlmsg_get_payload_offset(nlh, sizeof(struct genlmsghdr));

	self->ifindex = ovs->dp_ifindex;
	mnl_attr_for_each(attr, nlh, headers)
		if (mnl_attr_get_type(attr) == OVS_DP_ATTR_USER_FEATURES)
			self->features = mnl_attr_get_u32(attr);
	return MNL_CB_OK;
}

static int vport_cb(const struct nlmsghdr *nlh, void *self_)
{
	const size_t headers = sizeof(struct genlmsghdr) +
			       sizeof(struct ovs_header);
	FIXTURE_DATA(datapath) *self = self_;
	struct vport *vport = &self->vports[self->n_vports];
	const struct nlattr *attr;

	if (self->n_vports == MAX_PORTS)
		return MNL_CB_ERROR;
	self->n_vports++;
	mnl_attr_for_each(attr, nlh, headers) {
		int type = mnl_attr_get_type(attr);

		if (type == OVS_VPORT_ATTR_PORT_NO) {
			vport->port_no = mnl_attr_get_u32(attr);
		} else if (type == OVS_VPORT_ATTR_UPCALL_PID) {
			vport->n_pids = mnl_attr_get_payload_len(attr) / 4;
			memcpy(&vport->pid, mnl_attr_get_payload(attr), 4);
		}
	}
	return MNL_CB_OK;
}

/* Sends a request and passes the answers to 'cb'.  Returns 0 or an errno
 * value. */
static int transact(FIXTURE_DATA(datapath) *self, struct nlmsghdr *nlh,
		    mnl_cb_t cb)
{
	char buf[65536];
	ssize_t n;
	int retval;

	nlh->nlmsg_seq = 1;
	if (mnl_socket_sendto(self->nl, nlh, nlh->nlmsg_len) < 0)
		return errno;
	do {
		n = mnl_socket_recvfrom(self->nl, buf, sizeof(buf));
		if (n < 0)
			return errno;
		retval = mnl_cb_run(buf, n, 1, 0, cb, self);
		if (retval < 0)
			return errno;
	} while (retval > MNL_CB_STOP);
	return 0;
}

static struct nlmsghdr *request(void *buf, uint16_t family, uint8_t cmd,
				uint8_t version, uint16_t flags)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct genlmsghdr *genl;

	nlh->nlmsg_type = family;
	nlh->nlmsg_flags = NLM_F_REQUEST | flags;
	genl = mnl_nlmsg_put_extra_header(nlh, sizeof(*genl));
	genl->cmd = cmd;
	genl->version = version;
	return nlh;
}

static int find_family(FIXTURE_DATA(datapath) *self, const char *name,
		       uint16_t *family)
{
	char buf[256];
	struct nlmsghdr *nlh = request(buf, GENL_ID_CTRL, CTRL_CMD_GETFAMILY,
				       1, NLM_F_ACK);

	mnl_attr_put_strz(nlh, CTRL_ATTR_FAMILY_NAME, name);
	self->family = family;
	return transact(self, nlh, family_cb);
}

static int get_datapath(FIXTURE_DATA(datapath) *self)
{
	char buf[256];
	struct nlmsghdr *nlh = request(buf, self->datapath_family,
				       OVS_DP_CMD_GET, OVS_DATAPATH_VERSION,
				       NLM_F_ACK);

	mnl_nlmsg_put_extra_header(nlh, sizeof(struct ovs_header));
	mnl_attr_put_strz(nlh, OVS_DP_ATTR_NAME, DATAPATH);
	return transact(self, nlh, datapath_cb);
}

static int set_features(FIXTURE_DATA(datapath) *self, uint32_t features)
{
	char buf[256];
	struct nlmsghdr *nlh = request(buf, self->datapath_family,
				       OVS_DP_CMD_SET, OVS_DATAPATH_VERSION,
				       NLM_F_ACK);
	struct ovs_header *ovs = mnl_nlmsg_put_extra_header(nlh, sizeof(*ovs));

	ovs->dp_ifindex = self->ifindex;
	mnl_attr_put_u32(nlh, OVS_DP_ATTR_USER_FEATURES, features);
	return transact(self, nlh, NULL);
}

static int dump_vports(FIXTURE_DATA(datapath) *self)
{
	char buf[256];
	struct nlmsghdr *nlh = request(buf, self->vport_family,
				       OVS_VPORT_CMD_GET, OVS_VPORT_VERSION,
				       NLM_F_DUMP);
	struct ovs_header *ovs = mnl_nlmsg_put_extra_header(nlh, sizeof(*ovs));

	ovs->dp_ifindex = self->ifindex;
	self->n_vports = 0;
	return transact(self, nlh, vport_cb);
}

FIXTURE_SETUP(datapath)
{
	self->nl = mnl_socket_open(NETLINK_GENERIC);
	ASSERT_NE(NULL, self->nl);
	ASSERT_EQ(0, mnl_socket_bind(self->nl, 0, MNL_SOCKET_AUTOPID));
	ASSERT_EQ(0, find_family(self, OVS_DATAPATH_FAMILY,
				 &self->datapath_family));
	ASSERT_EQ(0, find_family(self, OVS_VPORT_FAMILY, &self->vport_family));
	ASSERT_EQ(0, get_datapath(self));
	ASSERT_LT(0, self->ifindex);
}

FIXTURE_TEARDOWN(datapath)
{
	mnl_socket_close(self->nl);
}

/* Is it the one with port id *'port_id', or any if that is 0? */
static long has_port_id(int fd __maybe_unused, const struct sockaddr_nl *addr,
			const void *port_id)
{
	uint32_t wanted = *(const uint32_t *)port_id;

	return !wanted || addr->nl_pid == wanted;
}

/* Counts the netlink sockets of process 'pid' and, if 'port_id' is not 0, only
 * those with that port id.  Returns -1 if they cannot be read. */
static int count_sockets(long pid, uint32_t port_id)
{
	return ks_sum_netlink(pid, has_port_id, &port_id);
}

/* Makes the daemon run 'n' handlers. */
static bool set_handlers(int n)
{
	char command[128];

	snprintf(command, sizeof(command), "ovs-vsctl set Open_vSwitch . "
		 "other_config:n-handler-threads=%d", n);
	return ks_output(command) &&
	       KS_EVENTUALLY(ks_upcall_show("n_handlers") == n);
}

TEST_F(datapath, upcalls_are_dispatched_by_vport)
{
	EXPECT_TRUE(self->features & OVS_DP_F_VPORT_PIDS);
	EXPECT_FALSE(self->features & OVS_DP_F_DISPATCH_UPCALL_PER_CPU);
}

TEST_F(datapath, every_vport_has_a_socket_of_the_daemon_to_itself)
{
	long pid = ks_daemon_pid();
	size_t i, j;

	ASSERT_LT(0, pid);
	ASSERT_EQ(0, dump_vports(self));
	ASSERT_LE(3, self->n_vports);
	for (i = 0; i < self->n_vports; i++) {
		const struct vport *vport = &self->vports[i];

		EXPECT_EQ(1, vport->n_pids);
		EXPECT_NE(0, vport->pid);
		EXPECT_EQ(1, count_sockets(pid, vport->pid));
		for (j = 0; j < i; j++)
			EXPECT_NE(self->vports[j].pid, vport->pid);
	}
}

TEST_F_TIMEOUT(datapath, sockets_do_not_grow_with_handlers, 4 * KS_PATIENCE)
{
	long pid = ks_daemon_pid();
	long n_upcall_sockets;
	int n_sockets;

	ASSERT_LT(0, pid);
	ASSERT_EQ(0, dump_vports(self));
	ASSERT_TRUE(set_handlers(1));
	n_upcall_sockets = ks_upcall_show("n_sockets");
	n_sockets = count_sockets(pid, 0);

	/* One for each port, one for upcalls of no port, and one for the ports
	 * that would exceed the limit of sockets. */
	EXPECT_EQ(self->n_vports + 2, n_upcall_sockets);
	EXPECT_LE(n_upcall_sockets, n_sockets);

	/* Sockets of handlers that went are closed after a grace period, so that
	 * there may be more of them at first. */
	ASSERT_TRUE(set_handlers(8));
	EXPECT_TRUE(KS_EVENTUALLY(count_sockets(pid, 0) <=
				  n_sockets + SOCKET_SLACK));
	EXPECT_EQ(n_upcall_sockets, ks_upcall_show("n_sockets"));
	ASSERT_TRUE(set_handlers(4));
	EXPECT_TRUE(KS_EVENTUALLY(count_sockets(pid, 0) <=
				  n_sockets + SOCKET_SLACK));
	EXPECT_EQ(n_upcall_sockets, ks_upcall_show("n_sockets"));
}

TEST_F_TIMEOUT(datapath, port_ids_survive_a_change_of_handlers,
	       4 * KS_PATIENCE)
{
	struct vport before[MAX_PORTS];
	size_t n_before, i;

	ASSERT_TRUE(set_handlers(2));
	ASSERT_EQ(0, dump_vports(self));
	memcpy(before, self->vports, sizeof(before));
	n_before = self->n_vports;

	ASSERT_TRUE(set_handlers(4));
	ASSERT_EQ(0, dump_vports(self));
	ASSERT_EQ(n_before, self->n_vports);
	for (i = 0; i < n_before; i++)
		EXPECT_EQ(before[i].pid, self->vports[i].pid);
}

TEST_F_TIMEOUT(datapath, the_dispatch_mode_is_set_back, 2 * KS_PATIENCE)
{
	uint32_t features = self->features;
	long n_restored = ks_upcall_show("dispatch_restored");

	/* As the stock class does whenever it opens a datapath. */
	ASSERT_EQ(0, set_features(self, (features & ~OVS_DP_F_VPORT_PIDS) |
				  OVS_DP_F_DISPATCH_UPCALL_PER_CPU));
	EXPECT_TRUE(KS_EVENTUALLY(!get_datapath(self) &&
				  self->features == features));
	EXPECT_TRUE(KS_EVENTUALLY(ks_upcall_show("dispatch_restored") ==
				  n_restored + 1));
}

TEST_HARNESS_MAIN
