/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "netdev-linux/device-show.h"

#include <stdlib.h>

#include "link/link-table.h"
#include "netdev-linux/device.h"
#include "netdev-linux/links.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "openvswitch/shash.h"
#include "svec.h"
#include "util.h"

struct devices {
    size_t n;
    struct svec elsewhere;      /* "NAME (NSID)". */
    struct svec absent;
    struct svec behind;
};

/* True if the table knows something else of the link, or no such link. */
static bool
device_is_behind(const struct link_info *link)
{
    struct link_info now;

    return (!link_table_find(kdp_links_table(), link->nsid, link->ifindex,
                             &now)
            || now.change_seqno != link->change_seqno);
}

static void
device_classify(const struct netdev *netdev, struct devices *devices)
{
    struct netdev_kdp *dev = netdev_kdp_cast(netdev);
    const char *name = netdev_get_name(netdev);

    ovs_mutex_lock(&dev->up.mutex);
    bool unresolved = dev->unresolved;
    bool present = dev->present;
    struct link_info link = dev->link;
    ovs_mutex_unlock(&dev->up.mutex);

    devices->n++;
    if (present && link.nsid != LINK_NSID_LOCAL) {
        svec_add_nocopy(&devices->elsewhere,
                        xasprintf("%s (%"PRId32")", name, link.nsid));
    }
    if (unresolved || (present && device_is_behind(&link))) {
        svec_add(&devices->behind, name);
    } else if (!present) {
        svec_add(&devices->absent, name);
    }
}

static void
devices_init(struct devices *devices)
{
    const struct netdev_class *classes[] = {
        &kdp_linux_class, &kdp_internal_class, &kdp_tap_class,
    };

    devices->n = 0;
    svec_init(&devices->elsewhere);
    svec_init(&devices->absent);
    svec_init(&devices->behind);
    for (size_t i = 0; i < ARRAY_SIZE(classes); i++) {
        struct shash netdevs = SHASH_INITIALIZER(&netdevs);
        struct shash_node *node;

        netdev_get_devices(classes[i], &netdevs);
        SHASH_FOR_EACH (node, &netdevs) {
            device_classify(node->data, devices);
            netdev_close(node->data);
        }
        shash_destroy(&netdevs);
    }
    svec_sort(&devices->elsewhere);
    svec_sort(&devices->absent);
    svec_sort(&devices->behind);
}

static void
devices_uninit(struct devices *devices)
{
    svec_destroy(&devices->elsewhere);
    svec_destroy(&devices->absent);
    svec_destroy(&devices->behind);
}

static void
put_names(struct ds *s, const char *what, const struct svec *names)
{
    ds_put_format(s, ", %s ", what);
    if (!names->n) {
        ds_put_cstr(s, "none");
    }
    for (size_t i = 0; i < names->n; i++) {
        ds_put_format(s, "%s%s", i ? " " : "", names->names[i]);
    }
}

void
device_show_text(struct ds *s)
{
    struct devices devices;

    devices_init(&devices);
    ds_put_format(s, "  devices: open %"PRIuSIZE, devices.n);
    put_names(s, "elsewhere", &devices.elsewhere);
    put_names(s, "absent", &devices.absent);
    put_names(s, "behind", &devices.behind);
    ds_put_char(s, '\n');
    devices_uninit(&devices);
}

static struct json *
names_to_json(const struct svec *names)
{
    struct json *array = json_array_create_empty();

    for (size_t i = 0; i < names->n; i++) {
        json_array_add(array, json_string_create(names->names[i]));
    }
    return array;
}

struct json *
device_show_json(void)
{
    struct json *json = json_object_create();
    struct devices devices;

    devices_init(&devices);
    json_object_put(json, "open", json_integer_create(devices.n));
    json_object_put(json, "elsewhere", names_to_json(&devices.elsewhere));
    json_object_put(json, "absent", names_to_json(&devices.absent));
    json_object_put(json, "behind", names_to_json(&devices.behind));
    devices_uninit(&devices);
    return json;
}
