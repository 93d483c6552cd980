/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_UPCALL_LLC_H
#define KDP_UPCALL_LLC_H 1

/* CPUs that share a last-level cache
 * ==================================
 *
 * Determines how many handlers a group (upcall-groups.h) should have.  All
 * handlers of a group write its run queue and its counters.  That is cheap
 * among CPUs that share a cache, but not between others.
 *
 * Handlers are not bound to CPUs.  The kernel's scheduler keeps a thread on
 * CPUs that share a cache if it can.  Only the size of groups depends on the
 * machine.
 *
 * Thread safety: any thread. */

#define UPCALL_LLC_SYSFS "/sys/devices/system/cpu"

/* Returns the number of CPUs that share the last-level cache of the first CPU,
 * or 0 if 'sysfs', normally UPCALL_LLC_SYSFS, does not say.  Caches of the
 * other CPUs are usually shared by as many. */
unsigned int upcall_llc_n_cpus(const char *sysfs);

/* Returns the size of groups for 'n_cpus' CPUs that share a cache, from 4 to
 * UPCALL_LLC_GROUP_MAX. */
#define UPCALL_LLC_GROUP_MAX 8
unsigned int upcall_llc_group_size(unsigned int n_cpus);

#endif /* lib/upcall/upcall-llc.h */
