/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_LINK_SHOW_H
#define KDP_LINK_SHOW_H 1

/* What a link listener and its table know, as text and as JSON.
 *
 * The text is for people and may change; the JSON is for programs.  Its keys
 * are the names of the members of struct link_listener_stats, struct
 * link_ns_info and struct link_info.  For a single namespace, both include its
 * links.
 *
 * Thread safety: the thread of the listener. */

#include <stdbool.h>
#include <stdint.h>

struct ds;
struct json;
struct link_listener;

/* Stores in '*nsid' the namespace that 'string' names: "local" or an id.  The
 * id that our own namespace has for itself also means our own.  Returns false
 * if there is no such namespace in the listener's table. */
bool link_show_parse_nsid(const struct link_listener *, const char *string,
                          int32_t *nsid);

/* Appends the state of all namespaces (LINK_NSID_ALL), or of 'nsid', which
 * must be in the table, to 's'. */
void link_show_text(const struct link_listener *, int32_t nsid, struct ds *s);

/* Returns the same as a JSON object, which the caller owns. */
struct json *link_show_json(const struct link_listener *, int32_t nsid);

#endif /* lib/link/link-show.h */
