/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "link/link-newer.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>

#include "util.h"

void
link_newer_begin(struct link_newer *newer, uint16_t type, int32_t nsid)
{
    link_newer_clear(newer);
    newer->type = type;
    newer->nsid = nsid;
}

void
link_newer_end(struct link_newer *newer)
{
    free(newer->ids);
    free(newer->msgs);
    memset(newer, 0, sizeof *newer);
}

static void
link_newer_copy(struct link_newer *newer, const struct nlmsghdr *nlh)
{
    size_t size = NLMSG_ALIGN(nlh->nlmsg_len);

    while (newer->allocated_msgs - newer->msgs_len < size) {
        newer->msgs = x2nrealloc(newer->msgs, &newer->allocated_msgs, 1);
    }
    memcpy(newer->msgs + newer->msgs_len, nlh, nlh->nlmsg_len);
    newer->msgs_len += size;
}

void
link_newer_note(struct link_newer *newer, const struct nlmsghdr *nlh,
                int32_t nsid, int32_t id)
{
    /* RTM_DEL* follows RTM_NEW*. */
    if (!newer->type || nsid != newer->nsid
        || (nlh->nlmsg_type != newer->type
            && nlh->nlmsg_type != newer->type + 1)) {
        return;
    }
    if (newer->type != RTM_NEWLINK && newer->type != RTM_NEWNSID) {
        link_newer_copy(newer, nlh);
        return;
    }
    if (newer->n_ids == newer->allocated_ids) {
        newer->ids = x2nrealloc(newer->ids, &newer->allocated_ids,
                                sizeof *newer->ids);
    }
    newer->ids[newer->n_ids++] = id;
}

void
link_newer_clear(struct link_newer *newer)
{
    newer->n_ids = 0;
    newer->msgs_len = 0;
}

/* There are as many ids as events that were taken between two parts, and as
 * many questions as a part has messages. */
bool
link_newer_has(const struct link_newer *newer, int32_t id)
{
    for (size_t i = 0; i < newer->n_ids; i++) {
        if (newer->ids[i] == id) {
            return true;
        }
    }
    return false;
}

const struct nlmsghdr *
link_newer_next(const struct link_newer *newer, const struct nlmsghdr *nlh)
{
    const char *next = (!nlh ? newer->msgs
                        : (const char *) nlh + NLMSG_ALIGN(nlh->nlmsg_len));

    return (newer->msgs_len && next < newer->msgs + newer->msgs_len
            ? ALIGNED_CAST(const struct nlmsghdr *, next) : NULL);
}
