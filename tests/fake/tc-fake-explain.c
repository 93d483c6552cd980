/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "fake/tc-fake-private.h"

#include "tc/tc-explain.h"
#include "tc/tc-transact.h"

/* See unit_tc_explain(). */
static const char *why OVS_GUARDED_BY(unit_tc_mutex);
static bool takes OVS_GUARDED_BY(unit_tc_mutex);
static unsigned int n_explained OVS_GUARDED_BY(unit_tc_mutex);

/* See unit_tc_skip(). */
static const char *why_skipped OVS_GUARDED_BY(unit_tc_mutex);
static unsigned int n_verbose OVS_GUARDED_BY(unit_tc_mutex);

void
unit_tc_explanations_reset(void)
{
    ovs_mutex_lock(&unit_tc_mutex);
    why = NULL;
    takes = false;
    n_explained = 0;
    why_skipped = NULL;
    n_verbose = 0;
    ovs_mutex_unlock(&unit_tc_mutex);
}

unsigned int
unit_tc_explain(const char *new_why, bool new_takes)
{
    unsigned int n;

    ovs_mutex_lock(&unit_tc_mutex);
    why = new_why;
    takes = new_takes;
    n = n_explained;
    ovs_mutex_unlock(&unit_tc_mutex);
    return n;
}

int __wrap_kdp_tc_explain(const struct kdp_tc_request *, const char **);

int
__wrap_kdp_tc_explain(const struct kdp_tc_request *request, const char **whyp)
{
    struct kdp_tc_request again = *request;
    bool take;

    ovs_mutex_lock(&unit_tc_mutex);
    n_explained++;
    take = takes;
    *whyp = take ? NULL : why;
    ovs_mutex_unlock(&unit_tc_mutex);
    if (take) {
        kdp_tc_transact((struct kdp_tc_request *[]) { &again }, 1);
    }
    return again.error;
}

unsigned int
unit_tc_skip(const char *why_)
{
    unsigned int n;

    ovs_mutex_lock(&unit_tc_mutex);
    why_skipped = why_;
    n = n_verbose;
    ovs_mutex_unlock(&unit_tc_mutex);
    return n;
}

bool __wrap_kdp_tc_may_be_skipped(const struct kdp_tc_request *);
int __wrap_kdp_tc_add_verbosely(const struct kdp_tc_request *, bool *,
                                const char **);

bool
__wrap_kdp_tc_may_be_skipped(const struct kdp_tc_request *request OVS_UNUSED)
{
    bool skipped;

    ovs_mutex_lock(&unit_tc_mutex);
    skipped = why_skipped != NULL;
    ovs_mutex_unlock(&unit_tc_mutex);
    return skipped;
}

int
__wrap_kdp_tc_add_verbosely(const struct kdp_tc_request *request, bool *sent,
                            const char **whyp)
{
    struct kdp_tc_request copy = *request;

    ovs_mutex_lock(&unit_tc_mutex);
    n_verbose++;
    *whyp = why_skipped;
    ovs_mutex_unlock(&unit_tc_mutex);
    *sent = true;
    kdp_tc_transact((struct kdp_tc_request *[]) { &copy }, 1);
    return copy.error;
}
