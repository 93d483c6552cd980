/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_OVS_COMPAT_DAEMON_H
#define KDP_OVS_COMPAT_DAEMON_H 1

/* Differences between versions of Open vSwitch: the process
 * =========================================================
 *
 * The OVS_HAVE_* constants come from build-aux/ovs-features, which looks at
 * the declarations of the tree that is built on.  Each is 1 or 0, so that
 * plain C can test them, too.  lib/ovs/README.md says more.
 *
 * Thread safety: that of Open vSwitch's own function. */

#include <errno.h>
#include <sys/mman.h>

#include "daemon.h"
#include "ovs-features.h"
#include "util.h"

/* Option --hw-rawio-access, since 3.2: whether the daemon keeps CAP_SYS_RAWIO
 * when it changes its user.  Only drivers of DPDK need that.  An Open vSwitch
 * without them, which is what we link, warns and does not keep it. */
static inline void
ovs_compat_daemonize_start(bool access_datapath,
                           bool hw_rawio_access OVS_UNUSED)
{
#if OVS_HAVE_RAWIO
    daemonize_start(access_datapath, hw_rawio_access);
#else
    daemonize_start(access_datapath);
#endif
}

/* Entry for it in an array of struct option, or nothing. */
#if OVS_HAVE_RAWIO
#define OVS_COMPAT_RAWIO_OPTION(VALUE) \
    {"hw-rawio-access", no_argument, NULL, VALUE},
#else
#define OVS_COMPAT_RAWIO_OPTION(VALUE)
#endif

/* Locks the process's present and future memory.  If the kernel supports it
 * (Linux 4.4), a page is locked when it is first used, as with Open vSwitch
 * since 3.4; otherwise all pages are allocated at once.  In the latter case,
 * each thread takes the memory of its whole stack.  Returns 0 or a positive
 * errno value. */
static inline int
ovs_compat_lock_memory(void)
{
    const int all = MCL_CURRENT | MCL_FUTURE;

    if (!mlockall(all | MCL_ONFAULT)) {
        return 0;
    } else if (mlockall(all)) {
        return errno;
    }
#if OVS_HAVE_MEMORY_ALL_LOCKED
    set_all_memory_locked();
#else
    set_memory_locked();
#endif
    return 0;
}

/* Is all memory of the process allocated and locked? */
static inline bool
ovs_compat_memory_locked(void)
{
#if OVS_HAVE_MEMORY_ALL_LOCKED
    return memory_all_locked();
#else
    return memory_locked();
#endif
}

#endif /* lib/ovs/compat-daemon.h */
