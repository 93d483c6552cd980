/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "port-types.h"

#include <stdbool.h>
#include <string.h>

#include "dpif.h"

const char *__real_dpif_port_open_type(const char *datapath_type,
                                       const char *port_type);
const char *__wrap_dpif_port_open_type(const char *datapath_type,
                                       const char *port_type);

static bool initialized;

void
port_types_init(void)
{
    initialized = true;
}

/* Wraps Open vSwitch's function, which the linker names __real.  Any
 * thread. */
const char *
__wrap_dpif_port_open_type(const char *datapath_type, const char *port_type)
{
    return (initialized && !strcmp(datapath_type, "system") ? port_type
            : __real_dpif_port_open_type(datapath_type, port_type));
}
