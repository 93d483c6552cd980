/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_UNIXCTL_ARGS_H
#define KDP_UNIXCTL_ARGS_H 1

/* Arguments of the commands that show something: "[--format text|json]" and at
 * most one more. */

#include <stdbool.h>

struct ds;
struct json;

/* Takes 'argv', the name of the command and its 'argc' - 1 arguments, apart.
 * Stores whether JSON is wanted in '*json' and the other argument, which
 * 'what' names in messages, in '*arg', NULL if there is none.  Returns NULL,
 * or an error message that the caller must free. */
char *show_args_parse(int argc, const char *argv[], const char *what,
                      bool *json, const char **arg);

/* Appends 'json', which is destroyed, to 's' as commands print it. */
void show_args_put_json(struct ds *s, struct json *json);

#endif /* lib/unixctl/args.h */
