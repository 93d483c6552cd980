/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_NETDEV_LINUX_NETDEV_LINUX_KDP_H
#define KDP_NETDEV_LINUX_NETDEV_LINUX_KDP_H 1

/* Providers of Linux network devices
 * ==================================
 *
 * The netdev types "system", "internal" and "tap".  Each class is derived from
 * Open vSwitch's: it copies the stock callbacks and replaces some, and the
 * first member of its devices is the stock structure.
 *
 * How the library comes to use these classes: it compares the addresses of its
 * classes (is this a tap device? an internal one?) and of the function
 * netdev_linux_run (is this a Linux device at all?).  In the copy of the
 * library that the program links, these four symbols are weak, and device.c
 * defines them.  So the library registers our classes itself, its comparisons
 * hold for them, and the originals are available under the names
 * kdp_stock_netdev_*.  build-aux/ makes that copy.
 *
 * The classes start out empty: netdev_linux_kdp_init() has to be called before
 * the library uses them.
 *
 * Thread safety: as the netdev provider interface demands. */

#include <stdbool.h>

/* Fills the classes in: with the stock callbacks alone if 'stock' is true,
 * otherwise with ours where they differ.  To be called once, in the main
 * thread, before any other function of Open vSwitch's netdev or dpif
 * modules. */
void netdev_linux_kdp_init(bool stock);

#endif /* lib/netdev-linux/netdev-linux-kdp.h */
