/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "upcall/upcall-source.h"

bool
upcall_source_is_kernel(uint32_t pid)
{
    return !pid;
}
