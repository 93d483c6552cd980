/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_VERSION_H
#define KDP_VERSION_H 1

/* Version of ovs-kdp, such as "0.1.0". */
const char *kdp_version(void);

/* Version of the Open vSwitch that it was built on, such as "3.1.0". */
const char *kdp_ovs_version(void);

/* Returns the source of that Open vSwitch: a package and its revision, as in
 * "openvswitch 3.1.0-2+deb12u1", or "git" and the output of "git describe", or
 * "tree" and the version.  A constant. */
const char *kdp_ovs_revision(void);

#endif /* lib/kdp-version.h */
