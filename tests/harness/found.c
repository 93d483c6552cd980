/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "harness/found.h"

#include <string.h>

#include "harness/unit.h"

static void
check_sentence(const char *s)
{
    assert_true(strlen(s) > 10);
    assert_int_equal(s[strlen(s) - 1], '.');
    assert_null(strchr(s, '\n'));
}

void
unit_found(struct findings *findings, size_t n, const char *name,
           const char *what)
{
    assert_int_equal(findings->n, n);
    for (size_t i = 0; i < n; i++) {
        assert_string_equal(findings->array[i].kind->name, name);
        assert_null(strchr(findings->array[i].what, '\n'));
        check_sentence(findings->array[i].kind->why);
        check_sentence(findings->array[i].kind->advice);
    }
    if (!strstr(findings->array[0].what, what)) {
        fail_msg("\"%s\" is not in \"%s\"", what, findings->array[0].what);
    }
    findings_uninit(findings);
    findings_init(findings);
}

void
unit_found_nothing(const struct findings *findings)
{
    if (findings->n) {
        fail_msg("found: %s", findings->array[0].what);
    }
}
