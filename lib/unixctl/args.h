/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_UNIXCTL_ARGS_H
#define KDP_UNIXCTL_ARGS_H 1

/* Commands that show something as text or as JSON: "[--format text|json]" and
 * at most one more argument.
 *
 * Thread safety: main thread only, as with all of unixctl. */

#include <stdbool.h>

struct ds;
struct json;
struct unixctl_conn;

/* Shows something about 'arg', which is NULL if the command has no other
 * argument: either appends it to 'text', or stores it in '*json', which the
 * caller will own.  The other pointer is NULL.  Returns NULL, or an error
 * message that the caller must free. */
typedef char *show_args_func(const char *arg, struct ds *text,
                             struct json **json, void *aux);

/* Registers command 'name'.  'what' names its other argument in messages, or
 * is NULL if there is none.  The strings must stay. */
void show_args_register(const char *name, const char *usage, const char *what,
                        show_args_func *, void *aux);

/* Runs a command, whose 'argc' - 1 arguments follow its name in 'argv', and
 * replies to 'conn'. */
void show_args_run(struct unixctl_conn *conn, int argc, const char *argv[],
                   const char *what, show_args_func *, void *aux);

/* Parses 'argv' for show_args_run().  Stores in '*json' whether JSON is
 * requested, and in '*arg' the other argument.  Returns NULL, or an error
 * message that the caller must free. */
char *show_args_parse(int argc, const char *argv[], const char *what,
                      bool *json, const char **arg);

#endif /* lib/unixctl/args.h */
