/* SPDX-License-Identifier: Apache-2.0 */

/* Invariant U6: threads that ask a vport table while ports come and go and
 * announcements are lost. */

#include <config.h>
#include "vport/vport-table.h"

#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/prng.h"
#include "odp-netlink.h"
#include "ovs-atomic.h"
#include "ovs-rcu.h"
#include "ovs-thread.h"
#include "fake/vport-fake.h"
#include "util.h"

#define N_THREADS 3
#define N_PORTS 20
#define N_CHANGES 3000

static struct vport_table *table;
static atomic_bool done = false;

/* Each port always has the same name. */
static const char *
name_of(uint32_t port_no, char name[IFNAMSIZ])
{
    snprintf(name, IFNAMSIZ, "p%"PRIu32, port_no);
    return name;
}

static void
check_vport(const struct ovs_vport *vport)
{
    char name[IFNAMSIZ];

    unit_check(!vport->port_no
               || !strcmp(vport->name, name_of(vport->port_no, name)));
}

static void
ask(uint32_t i)
{
    uint32_t port_no = 1 + i % N_PORTS;
    struct vport_table_info info;
    struct ovs_vport *vports;
    struct ovs_vport vport;
    char name[IFNAMSIZ];
    int error;
    size_t n;

    error = vport_table_get_by_number(table, port_no, &vport);
    unit_check(error == ENODEV || (!error && vport.port_no == port_no));
    error = vport_table_get_by_name(table, name_of(port_no, name), &vport);
    unit_check(error == ENODEV || (!error && vport.port_no == port_no));
    if (!(i % 64)) {
        unit_check(!vport_table_list(table, &vports, &n));
        for (size_t j = 0; j < n; j++) {
            check_vport(&vports[j]);
        }
        free(vports);
    }
    if (!(i % 16)) {
        vport_table_get_info(table, &info);
        for (size_t j = 0; j < info.n_vports; j++) {
            check_vport(&info.vports[j]);
        }
        vport_table_info_uninit(&info);
    }
}

static void *
ask_main(void *aux OVS_UNUSED)
{
    bool end;

    for (uint32_t i = 0; ; i++) {
        ask(i);
        atomic_read(&done, &end);
        if (end) {
            return NULL;
        }
        ovsrcu_quiesce();
    }
}

static void *
poll_main(void *aux OVS_UNUSED)
{
    struct vport_poller *poller = vport_poller_create(table);
    bool end;

    do {
        char *name;
        int error = vport_poller_next(poller, &name);

        unit_check(!error || error == EAGAIN || error == ENOBUFS);
        if (!error) {
            free(name);
        }
        atomic_read(&done, &end);
        ovsrcu_quiesce();
    } while (!end);
    vport_poller_destroy(poller);
    return NULL;
}

static void
change(void)
{
    uint32_t port_no = 1 + unit_random(N_PORTS);
    char name[IFNAMSIZ];

    if (unit_dp.ports[port_no].vport.dp_ifindex) {
        unit_del(port_no);
    } else {
        unit_add(port_no, name_of(port_no, name));
    }
}

static void
threads_ask_while_ports_change(void **state OVS_UNUSED)
{
    pthread_t threads[N_THREADS];
    struct ovs_vport vport;

    unit_datapath_init();
    unit_start_threads();
    table = unit_vport_table();
    threads[0] = ovs_thread_create("poll", poll_main, NULL);
    for (int i = 1; i < N_THREADS; i++) {
        threads[i] = ovs_thread_create("ask", ask_main, NULL);
    }
    for (int i = 0; i < N_CHANGES; i++) {
        change();
        if (!(i % 8)) {
            vport_table_expire(table);
        }
        ovsrcu_quiesce();
    }
    atomic_store(&done, true);
    for (int i = 0; i < N_THREADS; i++) {
        xpthread_join(threads[i], NULL);
    }

    vport_table_expire(table);
    for (uint32_t i = 0; i <= N_PORTS; i++) {
        assert_int_equal(vport_table_get_by_number(table, i, &vport),
                         unit_dp.ports[i].vport.dp_ifindex ? 0 : ENODEV);
    }
    vport_table_destroy(table);
    unit_datapath_uninit();
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_ask_while_ports_change),
    };

    unit_init("test-vport-threads");
    return cmocka_run_group_tests_name("vport-threads", tests, NULL, NULL);
}
