/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "kdp-version.h"

#include "kdp-config.h"

const char *
kdp_version(void)
{
    return KDP_VERSION;
}

const char *
kdp_ovs_version(void)
{
    return KDP_OVS_VERSION;
}

const char *
kdp_ovs_revision(void)
{
    return KDP_OVS_REVISION;
}
