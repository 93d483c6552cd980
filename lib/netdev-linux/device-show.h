/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_NETDEV_LINUX_DEVICE_SHOW_H
#define KDP_NETDEV_LINUX_DEVICE_SHOW_H 1

/* Devices that are not where one looks for them
 * =============================================
 *
 * Shows, of the devices that are open, how many there are, and which are not
 * as the link table of our own namespace has them:
 *
 *   - elsewhere: in another namespace;
 *   - absent: there is no such device;
 *   - behind: the table knows more than the device, or its event is yet to
 *     come.
 *
 * Thread safety: the main thread. */

struct ds;
struct json;

/* Appends a line to 's'. */
void device_show_text(struct ds *s);

/* Returns the same, which the caller owns. */
struct json *device_show_json(void);

#endif /* lib/netdev-linux/device-show.h */
