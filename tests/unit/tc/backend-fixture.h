/* SPDX-License-Identifier: Apache-2.0 */

#ifndef UNIT_TC_BACKEND_FIXTURE_H
#define UNIT_TC_BACKEND_FIXTURE_H 1

/* What the tests of the tc side of offload share: the backend, on what is in
 * memory, and the rules as the engine keeps them.  Flows are not translated:
 * programs wrap kdp_tc_translate() (-Wl,--wrap=kdp_tc_translate). */

#include "fake/tc-fake.h"
#include "tc/tc-backend.h"
#include "tc/tc-rules.h"

#define BACKEND_N_PORTS 2

/* Bytes of each packet as tc counts them. */
#define BACKEND_PACKET 100

/* The hook that rules are translated for. */
extern uint32_t backend_hook;

/* What translation fails with, or 0. */
extern int backend_error;

/* The Ethertype that they are for. */
extern uint16_t backend_protocol;

/* The block that they are for, or 0 for the device. */
extern uint32_t backend_block;

/* Rules of flows, as the engine keeps them. */
#define BACKEND_N_FLOWS 512
extern struct offload_rule *backend_rules[BACKEND_N_FLOWS];

/* For cmocka: makes '*state' a struct kdp_tc that counts headers, and takes it
 * away. */
int backend_setup(void **state);
int backend_teardown(void **state);

/* Does an operation on 'flow' as the engine does, and returns it. */
struct offload_copy_op backend_operate(struct kdp_tc *,
                                       enum offload_copy_type,
                                       uint32_t flow, struct offload_desc *);

/* The same, a put of 'desc', which is given up.  Returns the error. */
int backend_put(struct kdp_tc *, struct offload_desc *desc);

#define PUT(FLOW) backend_put(*state, unit_tc_desc(FLOW, 1, 0))
#define GET(FLOW) backend_operate(*state, OFFLOAD_COPY_GET, FLOW, NULL)
#define DEL(FLOW) backend_operate(*state, OFFLOAD_COPY_DEL, FLOW, NULL)

/* Forgets the rule of 'flow', or all, as the engine does. */
void backend_forget(uint32_t flow);
void backend_forget_all(void);

/* 'n' packets meet the rule of 'flow'. */
void backend_packets(uint32_t flow, unsigned int n);

/* Number of rules that are known. */
size_t backend_n_known(void);

/* Lets the next 'n' requests of 'type' fail. */
void backend_fail(enum unit_tc_fault, uint16_t type, int error,
                  unsigned int n);

#endif /* tests/unit/tc/backend-fixture.h */
