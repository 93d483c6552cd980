# SPDX-License-Identifier: Apache-2.0

# Beside the stock daemon's own directory, so that both can be installed.
kdplibdir = $(libdir)/openvswitch-switch-kdp
kdplib_PROGRAMS = vswitchd/ovs-vswitchd

vswitchd_ovs_vswitchd_SOURCES = \
	vswitchd/entropy.c \
	vswitchd/handover.c \
	vswitchd/handover.h \
	vswitchd/ovs-vswitchd.c \
	vswitchd/port-stats.c \
	vswitchd/port-types.c \
	vswitchd/port-types.h \
	vswitchd/recirc-ids.c \
	vswitchd/recirc-ids.h \
	vswitchd/restart-hold.c \
	vswitchd/restart-hold.h
vswitchd_ovs_vswitchd_LDFLAGS = \
	$(AM_LDFLAGS) \
	-Wl,--build-id \
	-Wl,--wrap=af_inet_ioctl \
	-Wl,--wrap=dpif_port_open_type \
	-Wl,--wrap=lacp_member_register \
	-Wl,--wrap=ofconn_send_reply \
	-Wl,--wrap=ofproto_flush_flows \
	-Wl,--wrap=ofproto_port_add \
	-Wl,--wrap=ofproto_set_controllers \
	-Wl,--wrap=ofproto_set_snoops \
	-Wl,--wrap=ofproto_set_threads \
	-Wl,--wrap=ofputil_append_port_stat \
	-Wl,--wrap=ovsdb_idl_has_lock \
	-Wl,--wrap=ovsdb_idl_is_lock_contended \
	-Wl,--wrap=ovsdb_idl_set_lock \
	-Wl,--wrap=ovsdb_idl_txn_commit \
	-Wl,--wrap=rstp_tick_timers \
	-Wl,--wrap=stp_tick \
	-Wl,--wrap=daemonize_complete \
	-Wl,--wrap=ovs_get_program_version
vswitchd_ovs_vswitchd_LDADD = \
	lib/libkdp.a \
	$(OVS_DAEMON) \
	$(OVS_ARCHIVES) \
	$(LIBMNL_LIBS) $(LIBURING_LIBS)
$(vswitchd_ovs_vswitchd_OBJECTS): $(EXTRA_OVS_DEPS)
