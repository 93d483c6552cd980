/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "unixctl/args.h"

#include <stdlib.h>
#include <string.h>

#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "util.h"

char *
show_args_parse(int argc, const char *argv[], const char *what, bool *json,
                const char **arg)
{
    *json = false;
    *arg = NULL;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--format")) {
            const char *format = i + 1 < argc ? argv[++i] : "";

            if (strcmp(format, "json") && strcmp(format, "text")) {
                return xasprintf("--format %s: expected \"--format text\" or "
                                 "\"--format json\"", format);
            }
            *json = !strcmp(format, "json");
        } else if (argv[i][0] == '-' || *arg || !what) {
            return xasprintf("%s: expected [--format text|json]%s%s%s",
                             argv[i], what ? " [" : "", what ? what : "",
                             what ? "]" : "");
        } else {
            *arg = argv[i];
        }
    }
    return NULL;
}

void
show_args_put_json(struct ds *s, struct json *json)
{
    char *string = json_to_string(json, JSSF_PRETTY | JSSF_SORT);

    ds_put_cstr(s, string);
    free(string);
    json_destroy(json);
}
