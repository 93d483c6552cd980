/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_NETDEV_LINUX_NETDEV_CHECK_H
#define KDP_NETDEV_LINUX_NETDEV_CHECK_H 1

/* Checks of the seams to Open vSwitch's network devices
 * =====================================================
 *
 * The providers of devices depend on two things that no compiler checks:
 *
 *   - Some symbols of the library are weak in the copy of it that the program
 *     links, and ours replace them.
 *
 *   - The stock callbacks answer from the stock structure if bits of its
 *     'cache_valid' permit that.  The build took the meaning of the bits from
 *     the library's source.
 *
 * If one of these did not hold, devices would show an old state, or changes
 * would go unnoticed.  So the daemon checks both when it starts, and runs on
 * the stock callbacks if a check fails.
 *
 * The bits are tried on a device that does not exist.  Its structure has
 * impossible values, which the callbacks must return; a callback that asks the
 * kernel instead gets an error.
 *
 * A compiler may also have bound a reference within a file of the library to
 * the library's object, weak or not: with section anchors, as GCC does on
 * arm64, or by folding identical functions.  The build checks for that.  In
 * addition, once the classes are in use, the daemon opens an internal device
 * that does not exist.  The library refuses devices that are not of its
 * internal class.  If that is not ours, the daemon does not run.
 *
 * Thread safety: the main thread, before there are devices. */

#include <stdbool.h>
#include <stddef.h>

/* A symbol of the library, as the program sees it, and the library's own. */
struct netdev_check_symbol {
    const char *name;
    const void *used, *stock;
};

/* The bits of 'cache_valid'. */
struct netdev_check_bits {
    int ifindex, etheraddr, mtu, policing, features;
};

/* Returns true if everything holds.  Logs what does not. */
bool netdev_kdp_check(void);

/* Main thread, when the classes are in use.  Returns 0 if the library accepts
 * our devices as its own, or a positive errno value. */
int netdev_kdp_check_device(void);

/* Parts of it, for tests.  Each returns the name of the first symbol or bit
 * that does not hold, or NULL. */
const char *netdev_kdp_check_symbols(const struct netdev_check_symbol *,
                                     size_t n);
const char *netdev_kdp_check_bits(const struct netdev_check_bits *);

#endif /* lib/netdev-linux/netdev-check.h */
