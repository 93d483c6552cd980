/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_PORT_TYPES_H
#define KDP_PORT_TYPES_H 1

/* Types of ports
 * ==============
 *
 * When Open vSwitch adds a port, ofproto.c computes the smallest MTU of all
 * ports of the bridge, and asks two times for each of them by which type the
 * datapath opens internal and patch ports.  dpif_port_open_type() takes a lock
 * and looks the class of the datapath up by name for that, which was 40 % of
 * the processor time of a start with 4,000 ports.  Ports of kernel datapaths
 * are opened by their own types, so for these our function of that name
 * answers without a lookup (--wrap of the linker). */

/* Makes dpif_port_open_type() answer for datapaths of type "system".  To be
 * called once, before there are other threads, after a class was registered
 * under that name that does not have the callback port_open_type. */
void port_types_init(void);

#endif /* vswitchd/port-types.h */
