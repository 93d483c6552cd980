/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_UNIXCTL_ARGS_H
#define KDP_UNIXCTL_ARGS_H 1

/* Arguments of commands that show something: "[--format text|json]" and at
 * most one more. */

#include <stdbool.h>

struct ds;
struct json;

/* Parses 'argv', the name of the command and its 'argc' - 1 arguments.  Stores
 * in '*json' whether JSON is requested, and in '*arg' the other argument,
 * which messages call 'what', or NULL if there is none.  Returns NULL, or an
 * error message that the caller must free. */
char *show_args_parse(int argc, const char *argv[], const char *what,
                      bool *json, const char **arg);

/* Destroys 'json', and appends it to 's' in the format of commands. */
void show_args_put_json(struct ds *s, struct json *json);

#endif /* lib/unixctl/args.h */
