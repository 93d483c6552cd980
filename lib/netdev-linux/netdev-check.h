/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_NETDEV_LINUX_NETDEV_CHECK_H
#define KDP_NETDEV_LINUX_NETDEV_CHECK_H 1

/* Do the seams to Open vSwitch's network devices hold?
 * ====================================================
 *
 * The providers of devices rest on two things that no compiler checks:
 *
 *   - Some symbols of the library are weak in the copy of it that the program
 *     links, and ours take their place.
 *
 *   - The stock callbacks answer from the stock structure if bits of its
 *     'cache_valid' say so.  What the bits mean was read from the library's
 *     source when it was built.
 *
 * Where one of these does not hold, devices would be what they were at some
 * time in the past, or nobody would hear of changes.  So the daemon looks at
 * both when it starts, and otherwise runs on the stock callbacks.
 *
 * The bits are tried on a device that does not exist.  Its structure is filled
 * with what no device has, and must be answered from; if it is not, the
 * callback asks the kernel about the device in vain.
 *
 * A compiler may also have bound a reference within the library's own file to
 * the library's object, weak or not: with section anchors, as GCC does on
 * arm64, or by folding identical functions.  The build looks for that.  When
 * the classes are in use, the daemon opens an internal device that does not
 * exist, once.  The library refuses all but those of the class that it takes
 * for that of internal devices.  The daemon does not run if that is not ours.
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

/* Returns true if all holds.  Logs what does not. */
bool netdev_kdp_check(void);

/* Main thread, when the classes are in place.  Returns 0 if the library takes
 * our devices for its own, or a positive errno value. */
int netdev_kdp_check_device(void);

/* Parts of it, for tests.  Both return the name of the first one that does
 * not hold, or NULL. */
const char *netdev_kdp_check_symbols(const struct netdev_check_symbol *,
                                     size_t n);
const char *netdev_kdp_check_bits(const struct netdev_check_bits *);

#endif /* lib/netdev-linux/netdev-check.h */
