/* SPDX-License-Identifier: Apache-2.0 */

/* The size of groups of handlers, from made-up machines. */

#include <config.h>
#include "upcall/upcall-groups.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "harness/unit.h"
#include "util.h"

static char dir[] = "/tmp/test-upcall-llc.XXXXXX";

static void
write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* Gives the made-up CPU cache 'index' of 'level' shared by 'list'. */
static void
add_cache(int index, const char *level, const char *list)
{
    char *cache = xasprintf("%s/cpu0/cache/index%d", dir, index);
    char *level_file = xasprintf("%s/level", cache);
    char *list_file = xasprintf("%s/shared_cpu_list", cache);

    mkdir(cache, 0700);
    write_file(level_file, level);
    write_file(list_file, list);
    free(list_file);
    free(level_file);
    free(cache);
}

static int
group_setup(void **state OVS_UNUSED)
{
    char *path;

    if (!mkdtemp(dir)) {
        return -1;
    }
    path = xasprintf("%s/cpu0", dir);
    mkdir(path, 0700);
    free(path);
    path = xasprintf("%s/cpu0/cache", dir);
    mkdir(path, 0700);
    free(path);
    return 0;
}

static int
group_teardown(void **state OVS_UNUSED)
{
    char *command = xasprintf("rm -r %s", dir);
    int status = system(command);

    free(command);
    return status;
}

static void
machine_without_caches_tells_nothing(void **state OVS_UNUSED)
{
    assert_int_equal(upcall_llc_n_cpus(dir), 0);
    assert_int_equal(upcall_llc_n_cpus("/nonexistent"), 0);
}

static void
cache_of_the_highest_level_counts(void **state OVS_UNUSED)
{
    add_cache(0, "1\n", "0\n");
    add_cache(1, "1\n", "0\n");
    assert_int_equal(upcall_llc_n_cpus(dir), 1);
    add_cache(2, "2\n", "0,64\n");
    assert_int_equal(upcall_llc_n_cpus(dir), 2);
    add_cache(3, "3\n", "0-7,64-71\n");
    assert_int_equal(upcall_llc_n_cpus(dir), 16);
}

static void
list_of_cpus_may_have_any_form(void **state OVS_UNUSED)
{
    static const struct {
        const char *list;
        unsigned int n;
    } lists[] = {
        { "0-5", 6 }, { "0", 1 }, { "0,2,4,6\n", 4 }, { "0-1,4-5,9\n", 5 },
        { "", 0 }, { "\n", 0 }, { "x\n", 0 }, { "0-\n", 0 }, { "3-1\n", 0 },
        { "0-3,\n", 0 }, { "0-3 4\n", 0 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
        add_cache(3, "3\n", lists[i].list);
        if (lists[i].list[0]) {
            assert_int_equal(upcall_llc_n_cpus(dir), lists[i].n);
        }
    }
}

static void
groups_are_neither_tiny_nor_large(void **state OVS_UNUSED)
{
    static const unsigned int sizes[][2] = {
        { 0, 8 }, { 1, 8 }, { 3, 8 }, { 4, 4 }, { 6, 6 }, { 8, 8 }, { 9, 8 },
        { 64, 8 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
        assert_int_equal(upcall_llc_group_size(sizes[i][0]), sizes[i][1]);
    }
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(machine_without_caches_tells_nothing),
        cmocka_unit_test(cache_of_the_highest_level_counts),
        cmocka_unit_test(list_of_cpus_may_have_any_form),
        cmocka_unit_test(groups_are_neither_tiny_nor_large),
    };

    unit_init("test-upcall-llc");
    return cmocka_run_group_tests_name("upcall-llc", tests, group_setup,
                                       group_teardown);
}
