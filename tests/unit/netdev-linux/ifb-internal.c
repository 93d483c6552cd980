/* SPDX-License-Identifier: Apache-2.0 */

/* Only a datapath can create internal devices.  In the tests ifb devices take
 * their place: they have the same kind in the link table.  The linker sends
 * the calls of the code under test here (--wrap). */

#include <config.h>

#include <string.h>

#include "link/link-msg.h"
#include "link/link-table.h"

uint32_t __wrap_link_table_update(struct link_table *, int32_t,
                                  const struct link_view *);
uint32_t __real_link_table_update(struct link_table *, int32_t,
                                  const struct link_view *);
uint32_t
__wrap_link_table_update(struct link_table *table, int32_t nsid,
                         const struct link_view *view_)
{
    struct link_view view = *view_;

    if (view.kind && !strcmp(view.kind, "ifb")) {
        view.kind = "openvswitch";
    }
    return __real_link_table_update(table, nsid, &view);
}
