/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_UNIXCTL_OVERRIDE_H
#define KDP_UNIXCTL_OVERRIDE_H 1

/* Control commands that add to stock ones
 * =======================================
 *
 * Open vSwitch registers its control commands under fixed names, and a second
 * registration of a name is a programming error there.  If a command of ours
 * extends the stock one of the same name, it is announced here before the
 * stock one is registered.  The program links with --wrap for
 * unixctl_command_register() and unixctl_command_reply(), so that this module
 * gets both calls: it registers our function instead, which can get the stock
 * function's reply as text.
 *
 * Thread safety: main thread only, as with all of unixctl. */

#include "unixctl.h"

struct ds;

/* Announces that command 'name', which Open vSwitch registers later, is to be
 * 'cb', with 'usage', 'min_args' and 'max_args' as for
 * unixctl_command_register().  'name' and 'usage' must stay. */
void unixctl_override(const char *name, const char *usage, int min_args,
                      int max_args, unixctl_cb_func *cb, void *aux);

/* Runs the stock function of command 'name' without arguments and appends its
 * reply to 's'.  The stock function must not reply with an error: that would
 * end the command. */
void unixctl_override_call_stock(const char *name, struct unixctl_conn *,
                                 struct ds *s);

/* Announces that 'before' is to be called before each run of command 'name',
 * which Open vSwitch may register later, and 'after' after it.  Usage and
 * arguments stay those of the stock command.  'name' must stay. */
void unixctl_override_around(const char *name, void (*before)(void),
                             void (*after)(void));

#endif /* lib/unixctl/override.h */
