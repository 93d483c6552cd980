/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "unixctl/args.h"

#include <stdlib.h>
#include <string.h>

#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "unixctl.h"
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
show_args_run(struct unixctl_conn *conn, int argc, const char *argv[],
              const char *what, show_args_func *func, void *aux)
{
    struct ds s = DS_EMPTY_INITIALIZER;
    struct json *json = NULL;
    const char *arg;
    bool as_json;
    char *error;

    error = show_args_parse(argc, argv, what, &as_json, &arg);
    if (!error) {
        error = func(arg, as_json ? NULL : &s, as_json ? &json : NULL, aux);
    }
    if (json) {
        json_to_ds(json, JSSF_PRETTY | JSSF_SORT, &s);
    }
    if (error) {
        unixctl_command_reply_error(conn, error);
    } else {
        unixctl_command_reply(conn, ds_cstr(&s));
    }
    free(error);
    json_destroy(json);
    ds_destroy(&s);
}

struct show_args_command {
    const char *what;
    show_args_func *func;
    void *aux;
};

static void
show_args_cb(struct unixctl_conn *conn, int argc, const char *argv[],
             void *command_)
{
    const struct show_args_command *command = command_;

    show_args_run(conn, argc, argv, command->what, command->func,
                  command->aux);
}

void
show_args_register(const char *name, const char *usage, const char *what,
                   show_args_func *func, void *aux)
{
    struct show_args_command *command = xmalloc(sizeof *command);

    *command = (struct show_args_command) { what, func, aux };
    unixctl_command_register(name, usage, 0, what ? 3 : 2, show_args_cb,
                             command);
}
