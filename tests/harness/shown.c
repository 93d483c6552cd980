/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "harness/shown.h"

#include <stdio.h>
#include <stdlib.h>

#include "harness/unit.h"
#include "openvswitch/json.h"

void
unit_shown(const char *schema, const struct json *json)
{
    const char *file_name = getenv("UNIT_SHOWN");
    char *text;
    FILE *file;

    if (!file_name) {
        return;
    }
    file = fopen(file_name, "a");
    unit_check(file);
    text = json_to_string(json, JSSF_SORT);
    unit_check(fprintf(file, "%s\t%s\n", schema, text) > 0);
    free(text);
    unit_check(!fclose(file));
}
