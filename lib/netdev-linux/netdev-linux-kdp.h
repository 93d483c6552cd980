/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_NETDEV_LINUX_NETDEV_LINUX_KDP_H
#define KDP_NETDEV_LINUX_NETDEV_LINUX_KDP_H 1

/* Providers of Linux network devices
 * ==================================
 *
 * The netdev types "system", "internal" and "tap".  Each class is derived from
 * Open vSwitch's own: a copy of its callbacks, of which some are replaced, and
 * devices whose first member is the stock structure.
 *
 * How the classes come to be used: the stock library compares the addresses of
 * its classes (is this a tap device? an internal one?) and that of the
 * function netdev_linux_run (is this a Linux device at all?).  In the copy of
 * the library that the program links, these four symbols are weak, and
 * device.c defines them.  So the library registers our classes itself, its
 * comparisons hold for them, and the originals can be reached under the names
 * kdp_stock_netdev_*.  See build-aux/ for how the copy is made.
 *
 * The classes start out empty: netdev_linux_kdp_init() has to be called before
 * the library looks at them.
 *
 * Thread safety: as the netdev provider interface demands. */

#include <stdbool.h>

/* Fills the classes in: with the stock callbacks alone if 'stock' is true,
 * with ours where they differ otherwise.  Call once, in the main thread,
 * before any other function of Open vSwitch's netdev or dpif modules. */
void netdev_linux_kdp_init(bool stock);

#endif /* lib/netdev-linux/netdev-linux-kdp.h */
