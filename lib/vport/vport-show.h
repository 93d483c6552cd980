/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_VPORT_SHOW_H
#define KDP_VPORT_SHOW_H 1

/* Snapshots of vport tables as text, as JSON and as findings of kdp/doctor
 * (unixctl/findings.h).
 *
 * The text is for people and may change; the JSON is for programs.  Counters
 * have the names of the members of struct vport_table_stats in both, in
 * groups.
 *
 * Thread safety: any thread. */

#include "vport/vport-table.h"

struct ds;
struct findings;
struct json;

/* Appends 'info' to 's'. */
void vport_show_text(const struct vport_table_info *info, struct ds *s);

/* Returns 'info' as a JSON object, which the caller owns. */
struct json *vport_show_json(const struct vport_table_info *info);

/* Adds what is wrong with 'info' to 'findings'. */
void vport_diagnose(const struct vport_table_info *info, struct findings *);

#endif /* lib/vport/vport-show.h */
