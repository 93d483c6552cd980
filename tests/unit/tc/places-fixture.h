/* SPDX-License-Identifier: Apache-2.0 */

#ifndef UNIT_TC_PLACES_FIXTURE_H
#define UNIT_TC_PLACES_FIXTURE_H 1

/* What the tests of lists of all places for rules share: three devices, and
 * rules on them.  The only port is device "lo".  The others exist for tc
 * alone.  Programs wrap $(unit_tc_places_wrap). */

#include <stdbool.h>
#include <stdint.h>

#include "openvswitch/types.h"

/* Interface indexes of the devices, which are listed in the order OTHER, PORT,
 * VM, and the port number of PORT. */
#define PORT 1
#define VM 1000001
#define OTHER 1000002
#define PORT_NO 7

/* How places are listed: with what error, once or twice, and what happens
 * meanwhile, unless that is NULL. */
extern int places_error;
extern bool places_twice;
extern void (*places_meanwhile)(void);

void places_reset(void);

/* Adds a rule with 'ufid', or one of a flow of its own, to 'ifindex'. */
void places_add_rule_of(const ovs_u128 *ufid, int ifindex, uint32_t handle);
void places_add_rule(int ifindex, uint32_t handle);

#endif /* tests/unit/tc/places-fixture.h */
