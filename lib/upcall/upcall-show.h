/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_UPCALL_SHOW_H
#define KDP_UPCALL_SHOW_H 1

/* Snapshots of upcall tables as text and as JSON.
 *
 * The text is for people and may change; the JSON is for programs.  Its keys
 * are the names of the members of struct upcall_table_info and of the
 * structures in it.  Both come from one snapshot.
 *
 * Thread safety: any thread. */

#include <stdbool.h>
#include <stddef.h>

struct ds;
struct json;
struct upcall_port_info;
struct upcall_table_info;

/* Sorts the ports of 'info', the largest 'key' first, and limits the output to
 * 'top' ports, 0 for all.  'key' is the name of a column, or "upcalls" for all
 * upcalls that the kernel sent or dropped.  Returns false if there is no such
 * key; then nothing has changed.  upcall_show_keys() lists the keys for
 * people. */
bool upcall_show_sort(struct upcall_table_info *info, const char *key,
                      size_t top);
const char *upcall_show_keys(void);

/* Sorts the senders of each port of 'info', the largest 'key' first, and
 * limits the output to 'top' senders of each port, 0 for all.  Returns false
 * if there is no such key; then nothing has changed.
 * upcall_show_sender_keys() lists the keys for people; the first one is the
 * default. */
bool upcall_show_sort_senders(struct upcall_table_info *info,
                              const char *key, size_t top);
const char *upcall_show_sender_keys(void);

/* Appends 'info' to 's'. */
void upcall_show_text(const struct upcall_table_info *info, struct ds *s);

/* Appends the senders of all ports of 'info' to 's', or only of 'port' if that
 * is not NULL. */
void upcall_show_senders_text(const struct upcall_table_info *info,
                              const struct upcall_port_info *port,
                              struct ds *s);

/* Returns 'info' as a JSON object, which the caller owns. */
struct json *upcall_show_json(const struct upcall_table_info *info);

/* Finds the port with name or number 'port', or returns NULL. */
const struct upcall_port_info *
upcall_show_find(const struct upcall_table_info *, const char *port);

/* The same as above for one port of the snapshot. */
void upcall_show_port_text(const struct upcall_table_info *,
                           const struct upcall_port_info *, struct ds *);
struct json *upcall_show_port_json(const struct upcall_table_info *,
                                   const struct upcall_port_info *);

#endif /* lib/upcall/upcall-show.h */
