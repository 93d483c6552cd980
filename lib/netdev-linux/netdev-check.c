/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "netdev-linux/netdev-check.h"

#include <errno.h>
#include <string.h>

#include "if-notifier.h"
#include "kdp-version.h"
#include "netdev-linux/device.h"
#include "netdev-linux-valid.h"
#include "netlink-notifier.h"
#include "netnsid.h"
#include "openvswitch/vlog.h"
#include "ovs-router.h"
#include "packets.h"
#include "route-table.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(netdev_kdp_check);

/* The originals.  Only their addresses matter. */
extern char kdp_stock_route_table_init[];
extern char kdp_stock_route_table_get_change_seq[];
extern char kdp_stock_route_table_run[];
extern char kdp_stock_route_table_wait[];
extern char kdp_stock_ovs_router_lookup[];
extern char kdp_stock_nln_notifier_create[];
extern char kdp_stock_nln_run[];
extern char kdp_stock_nln_wait[];
extern char kdp_stock_if_notifier_create[];
extern char kdp_stock_if_notifier_destroy[];
extern char kdp_stock_if_notifier_run[];
extern char kdp_stock_if_notifier_wait[];

const char *
netdev_kdp_check_symbols(const struct netdev_check_symbol *symbols, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (symbols[i].used == symbols[i].stock) {
            return symbols[i].name;
        }
    }
    return NULL;
}

static const char *
check_our_symbols(void)
{
    const struct netdev_check_symbol symbols[] = {
#define SYMBOL(NAME) { #NAME, NAME, kdp_stock_##NAME }
        { "netdev_linux_run", netdev_linux_run, kdp_stock_netdev_linux_run },
        { "netdev_linux_class", &kdp_linux_class,
          &kdp_stock_netdev_linux_class },
        { "netdev_internal_class", &kdp_internal_class,
          &kdp_stock_netdev_internal_class },
        { "netdev_tap_class", &kdp_tap_class, &kdp_stock_netdev_tap_class },
        SYMBOL(route_table_init),
        SYMBOL(route_table_get_change_seq),
        SYMBOL(route_table_run),
        SYMBOL(route_table_wait),
        SYMBOL(ovs_router_lookup),
        SYMBOL(nln_notifier_create),
        SYMBOL(nln_run),
        SYMBOL(nln_wait),
        SYMBOL(if_notifier_create),
        SYMBOL(if_notifier_destroy),
        SYMBOL(if_notifier_run),
        SYMBOL(if_notifier_wait),
#undef SYMBOL
    };

    /* Does the library recognise a stock device by our function? */
    if (!is_netdev_linux_class(&kdp_stock_netdev_linux_class)) {
        return "netdev_linux_run";
    }
    return netdev_kdp_check_symbols(symbols, ARRAY_SIZE(symbols));
}

/* Each of these returns true if a callback answers from 'up', where nothing
 * else is valid.  Where a callback returns a stored error, this one is used,
 * which no request to the kernel returns. */
#define NO_ERROR_OF_THE_KERNEL EXFULL

static bool
ifindex_is_kept(struct netdev_linux *up)
{
    up->ifindex = 0x12345678;
    up->get_ifindex_error = 0;
    return (kdp_stock_netdev_linux_class.get_ifindex(&up->up)
            == up->ifindex);
}

static bool
etheraddr_is_kept(struct netdev_linux *up)
{
    static const struct eth_addr some = ETH_ADDR_C(02,ab,cd,ef,00,01);
    struct eth_addr got = eth_addr_zero;

    up->etheraddr = some;
    up->ether_addr_error = 0;
    return (!kdp_stock_netdev_linux_class.get_etheraddr(&up->up, &got)
            && eth_addr_equals(got, some));
}

static bool
mtu_is_kept(struct netdev_linux *up)
{
    int got = 0;

    up->mtu = 0x123456;
    up->netdev_mtu_error = 0;
    return (!kdp_stock_netdev_linux_class.get_mtu(&up->up, &got)
            && got == 0x123456);
}

static bool
policing_is_kept(struct netdev_linux *up)
{
    up->netdev_policing_error = NO_ERROR_OF_THE_KERNEL;
    return (kdp_stock_netdev_linux_class.set_policing(&up->up, 0, 0, 0, 0)
            == NO_ERROR_OF_THE_KERNEL);
}

static bool
features_are_kept(struct netdev_linux *up)
{
    enum netdev_features f[4];

    up->get_features_error = NO_ERROR_OF_THE_KERNEL;
    return (kdp_stock_netdev_linux_class.get_features(&up->up, &f[0], &f[1],
                                                      &f[2], &f[3])
            == NO_ERROR_OF_THE_KERNEL);
}

const char *
netdev_kdp_check_bits(const struct netdev_check_bits *bits)
{
    const struct {
        const char *name;
        int bit;
        bool (*is_kept)(struct netdev_linux *);
    } checks[] = {
        { "VALID_IFINDEX", bits->ifindex, ifindex_is_kept },
        { "VALID_ETHERADDR", bits->etheraddr, etheraddr_is_kept },
        { "VALID_MTU", bits->mtu, mtu_is_kept },
        { "VALID_POLICING", bits->policing, policing_is_kept },
        { "VALID_FEATURES", bits->features, features_are_kept },
    };
    const char *wrong = NULL;

    for (size_t i = 0; i < ARRAY_SIZE(checks) && !wrong; i++) {
        /* No device has a name with a slash. */
        struct netdev_linux up = {
            .up = {
                .name = CONST_CAST(char *, "kdp/check"),
                .netdev_class = &kdp_stock_netdev_linux_class,
            },
            .cache_valid = checks[i].bit,
        };

        netnsid_set_local(&up.netnsid);
        ovs_mutex_init(&up.mutex);
        if (!checks[i].is_kept(&up)) {
            wrong = checks[i].name;
        }
        ovs_mutex_destroy(&up.mutex);
    }
    return wrong;
}

bool
netdev_kdp_check(void)
{
    static const struct netdev_check_bits bits = {
        .ifindex = VALID_IFINDEX,
        .etheraddr = VALID_ETHERADDR,
        .mtu = VALID_MTU,
        .policing = VALID_POLICING,
        .features = VALID_FEATURES,
    };
    const char *wrong = check_our_symbols();

    if (wrong) {
        VLOG_ERR("%s is not that of ovs-kdp in this program, built from %s; "
                 "the kernel is asked for the state of devices each time",
                 wrong, kdp_ovs_revision());
        return false;
    }
    wrong = netdev_kdp_check_bits(&bits);
    if (wrong) {
        VLOG_ERR("%s does not mean to Open vSwitch what it meant when the "
                 "program was built from %s; the kernel is asked for the "
                 "state of devices each time", wrong, kdp_ovs_revision());
        return false;
    }
    return true;
}

int
netdev_kdp_check_device(void)
{
    struct netdev *netdev;
    int error = netdev_open("kdp/check", "internal", &netdev);

    if (!error) {
        error = (netdev_get_class(netdev) == &kdp_internal_class
                 && netdev_is_kdp(netdev)
                 && is_netdev_linux_class(netdev_get_class(netdev))
                 ? 0 : EXFULL);
        netdev_close(netdev);
    }
    return error;
}
