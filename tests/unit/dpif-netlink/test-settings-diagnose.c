/* SPDX-License-Identifier: Apache-2.0 */

/* Settings that do nothing are found. */

#include <config.h>
#include "dpif-netlink/diagnose.h"

#include "harness/found.h"
#include "harness/unit.h"
#include "smap.h"
#include "util.h"

/* Looks at settings "KEY VALUE KEY VALUE...", which end with NULL. */
static void
look(struct findings *findings, const char *const *settings)
{
    struct smap config = SMAP_INITIALIZER(&config);

    for (; *settings; settings += 2) {
        smap_add(&config, settings[0], settings[1]);
    }
    kdp_diagnose_settings(&config, findings);
    smap_destroy(&config);
}
#define LOOK(...) look(&findings, (const char *const []) { __VA_ARGS__, NULL })

static void
settings_that_work(void **state OVS_UNUSED)
{
    struct findings findings;

    findings_init(&findings);
    LOOK("upcall-engine", "io_uring", "upcall-dispatch", "per-port",
         "upcall-max-sockets", "0", "upcall-buffer-max", "16",
         "hw-offload", "true", "n-offload-threads", "10",
         "offload-delay", "0", "offload-bytes", "datapath",
         "n-handler-threads", "4", "link-table-netns-entries", "1024");
    unit_found_nothing(&findings);
    LOOK("upcall-group-size", "auto");
    LOOK("upcall-port-queues", "auto");
    LOOK("upcall-port-queues", "64");
    unit_found_nothing(&findings);
    LOOK("restart-hold", "3600");
    LOOK("restart-hold", "0");
    unit_found_nothing(&findings);
    LOOK("upcall-group-size", "64");
    unit_found_nothing(&findings);
    LOOK("n-handler-threads", "4095");
    unit_found_nothing(&findings);
    /* Open vSwitch takes 0 for its default. */
    LOOK("n-handler-threads", "0");
    unit_found_nothing(&findings);
    /* Those of Open vSwitch are none of our business. */
    LOOK("max-idle", "nonsense", "dpdk-init", "x", "bundle-idle-timeout", "");
    unit_found_nothing(&findings);
    findings_uninit(&findings);
}

static void
wrong_values(void **state OVS_UNUSED)
{
    static const char *const settings[][2] = {
        { "restart-hold", "3601" },
        { "upcall-engine", "poll" }, { "upcall-dispatch", "" },
        { "upcall-max-sockets", "2" }, { "upcall-max-sockets", "1000001" },
        { "upcall-buffer-max", "1 GiB" }, { "upcall-buffer-max", "0" },
        { "link-table-netns-entries", "-1" }, { "hw-offload", "yes" },
        { "n-handler-threads", "x" }, { "n-handler-threads", "4096" },
    };
    struct findings findings;

    findings_init(&findings);
    for (size_t i = 0; i < ARRAY_SIZE(settings); i++) {
        LOOK(settings[i][0], settings[i][1]);
        unit_found(&findings, 1, "setting-wrong", settings[i][0]);
    }
    LOOK("upcall-max-sockets", "1");
    unit_found(&findings, 1, "setting-wrong", "other_config:"
               "upcall-max-sockets is \"1\", expected 0 or 3 to 1000000");
    LOOK("upcall-group-size", "65");
    unit_found(&findings, 1, "setting-wrong", "other_config:"
               "upcall-group-size is \"65\", expected auto or 1 to 64");
    findings_uninit(&findings);
}

static void
unknown_names(void **state OVS_UNUSED)
{
    struct findings findings;

    findings_init(&findings);
    LOOK("upcall-engin", "epoll");
    unit_found(&findings, 1, "setting-unknown", "upcall-engin ");
    LOOK("link-table-entries", "1");
    unit_found(&findings, 1, "setting-unknown", "link-table-entries");
    findings_uninit(&findings);
}

static void
settings_without_effect(void **state OVS_UNUSED)
{
    struct findings findings;

    findings_init(&findings);
    LOOK("offload-delay", "100");
    unit_found(&findings, 1, "setting-without-effect", "offload-delay");
    LOOK("upcall-dispatch", "per-cpu", "upcall-max-sockets", "100");
    unit_found(&findings, 1, "setting-without-effect", "upcall-max-sockets");
    LOOK("hw-offload", "true", "offload-rebalance", "true");
    unit_found(&findings, 1, "setting-without-effect", "offload-rebalance");
    findings_uninit(&findings);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_that_work),
        cmocka_unit_test(wrong_values),
        cmocka_unit_test(unknown_names),
        cmocka_unit_test(settings_without_effect),
    };

    unit_init("test-settings-diagnose");
    return cmocka_run_group_tests_name("settings-diagnose", tests, NULL,
                                       NULL);
}
