/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_VPORT_DIAGNOSE_H
#define KDP_VPORT_DIAGNOSE_H 1

/* Findings of kdp/doctor about the table of ports (unixctl/findings.h).
 *
 * Thread safety: a pure function of its arguments. */

struct findings;
struct vport_table_info;

void vport_diagnose(const struct vport_table_info *, struct findings *);

#endif /* lib/vport/vport-diagnose.h */
