/* SPDX-License-Identifier: Apache-2.0 */

/* Checks in programs with $(unit_rtnl_pairs_wrap) that each call under the
 * RTNL lock ends with the time of its own beginning, once. */

#include <config.h>
#include "netdev-linux/rtnl-count.h"

#include "harness/unit.h"

long long int __wrap_kdp_rtnl_begin(void);
long long int __real_kdp_rtnl_begin(void);
void __wrap_kdp_rtnl_end(enum kdp_rtnl_call, long long int start);
void __real_kdp_rtnl_end(enum kdp_rtnl_call, long long int start);

/* What stands for the time: a number that no other call has. */
static __thread long long int token, last_token;
static __thread long long int begun;

long long int
__wrap_kdp_rtnl_begin(void)
{
    begun = __real_kdp_rtnl_begin();
    last_token += 1000003;
    token = last_token;
    return token;
}

void
__wrap_kdp_rtnl_end(enum kdp_rtnl_call call, long long int start)
{
    unit_check(token && start == token);
    token = 0;
    __real_kdp_rtnl_end(call, begun);
}
