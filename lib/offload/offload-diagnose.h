/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_OFFLOAD_DIAGNOSE_H
#define KDP_OFFLOAD_DIAGNOSE_H 1

/* Findings of kdp/doctor about offload (unixctl/findings.h).
 *
 * Thread safety: a pure function of its arguments. */

struct findings;
struct offload_engine_info;

/* 'name' is the datapath. */
void offload_diagnose(const char *name, const struct offload_engine_info *,
                      struct findings *);

#endif /* lib/offload/offload-diagnose.h */
