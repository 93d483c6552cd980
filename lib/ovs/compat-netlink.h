/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_OVS_COMPAT_NETLINK_H
#define KDP_OVS_COMPAT_NETLINK_H 1

/* Differences between versions of Open vSwitch: the kernel's interface
 * ====================================================================
 *
 * Open vSwitch has a copy of the kernel's constants, which grows with each
 * version.  The kernel's messages do not depend on that copy: these are
 * constants of the interface that some versions lack.  They never change.
 *
 * Thread safety: constants. */

/* Attribute of a vport since Linux 6.2: upcalls of its packets.  Nested, with
 * two attributes of 64 bits each; the first one has number 0. */
#define OVS_COMPAT_VPORT_ATTR_UPCALL_STATS 10
#define OVS_COMPAT_VPORT_UPCALL_ATTR_SUCCESS 0
#define OVS_COMPAT_VPORT_UPCALL_ATTR_FAIL 1

/* Flag of a rule of tc since Linux 4.17: drivers explain why they do not
 * accept the rule, although tc does. */
#define OVS_COMPAT_TCA_CLS_FLAGS_VERBOSE (1u << 4)

#endif /* lib/ovs/compat-netlink.h */
