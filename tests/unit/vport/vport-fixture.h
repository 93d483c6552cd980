/* SPDX-License-Identifier: Apache-2.0 */

#ifndef UNIT_VPORT_FIXTURE_H
#define UNIT_VPORT_FIXTURE_H 1

/* A table of the ports of a made-up datapath. */

#include <stddef.h>
#include <stdint.h>

#include "vport/vport-table.h"

int setup(void **state);
int teardown(void **state);
int by_number(struct vport_table *table, uint32_t port_no, const char *name);
int by_name(struct vport_table *table, const char *name, uint32_t port_no);

/* Checks that 'name' is port 'port_no', asked in both ways, now. */
void check_port(struct vport_table *table, const char *name, uint32_t port_no);
size_t count_ports(struct vport_table *table);
uint64_t asked(struct vport_table *table, enum vport_ask reason);

/* Brings 'table' in sync, with nothing asked so far. */
void start(struct vport_table *table);

/* Checks how many requests the table counted for a reason. */
#define REASON(TABLE, WHICH, N)                                         \
    assert_int_equal(asked(TABLE, VPORT_ASK_##WHICH), N)

/* Checks that port 1 is gone, and that this was asked for 'n' times at most;
 * then that it can come back. */
void check_gone(struct vport_table *table, unsigned int n);

#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)

#endif
