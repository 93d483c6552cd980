/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpif-netlink/upcall-counters-source.h"

#include "dpif-netlink/datapath.h"
#include "dpif-netlink/datapaths.h"
#include "netdev-linux/upcall-counters.h"
#include "upcall/upcall-table.h"
#include "util.h"
#include "vport/vport-table.h"

struct question {
    const char *name;
    bool found;
    struct netdev_kdp_upcalls *answer;
};

static void
ask_datapath(struct kdp_datapath *dp, void *question_)
{
    struct question *question = question_;
    struct upcall_channel_stats stats;
    struct ovs_vport vport;

    if (!question->found
        && !vport_table_get_by_name(dp->vports, question->name, &vport)
        && upcall_table_get_stats(dp->upcalls, vport.port_no, &stats)) {
        question->found = true;
        *question->answer = (struct netdev_kdp_upcalls) {
            .packets = stats.received + stats.shed,
            .errors = stats.lost,
            .shed = stats.shed,
        };
    }
}

static bool
get_upcalls(const char *name, struct netdev_kdp_upcalls *upcalls)
{
    struct question question = { .name = name, .answer = upcalls };

    kdp_datapaths_for_each(ask_datapath, &question);
    return question.found;
}

void
upcall_counters_source_register(void)
{
    netdev_kdp_upcalls_set_source(get_upcalls);
}
