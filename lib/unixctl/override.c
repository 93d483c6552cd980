/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "unixctl/override.h"

#include <string.h>

#include "openvswitch/dynamic-string.h"
#include "openvswitch/shash.h"
#include "util.h"

struct unixctl_override {
    const char *usage;
    int min_args, max_args;
    unixctl_cb_func *cb;        /* NULL if the command stays as it is. */
    void *aux;
    void (*before)(void);       /* Called before the command, */
    void (*after)(void);        /* and after it. */

    /* What Open vSwitch registered, NULL until then. */
    unixctl_cb_func *stock_cb;
    void *stock_aux;
};

/* By command name. */
static struct shash overrides = SHASH_INITIALIZER(&overrides);

/* Destination of a stock function's reply, or NULL for its own connection. */
static struct ds *captured_reply;

void __wrap_unixctl_command_register(const char *, const char *, int, int,
                                     unixctl_cb_func *, void *);
void __real_unixctl_command_register(const char *, const char *, int, int,
                                     unixctl_cb_func *, void *);
void __wrap_unixctl_command_reply(struct unixctl_conn *, const char *);
void __real_unixctl_command_reply(struct unixctl_conn *, const char *);

void
unixctl_override(const char *name, const char *usage, int min_args,
                 int max_args, unixctl_cb_func *cb, void *aux)
{
    struct unixctl_override *override = xzalloc(sizeof *override);

    override->usage = usage;
    override->min_args = min_args;
    override->max_args = max_args;
    override->cb = cb;
    override->aux = aux;
    shash_add_assert(&overrides, name, override);
}

void
unixctl_override_around(const char *name, void (*before)(void),
                        void (*after)(void))
{
    struct unixctl_override *override = xzalloc(sizeof *override);

    override->before = before;
    override->after = after;
    shash_add_assert(&overrides, name, override);
}

static void
unixctl_override_run_around(struct unixctl_conn *conn, int argc,
                            const char *argv[], void *override_)
{
    struct unixctl_override *override = override_;

    override->before();
    override->stock_cb(conn, argc, argv, override->stock_aux);
    override->after();
}

void
unixctl_override_call_stock(const char *name, struct unixctl_conn *conn,
                            struct ds *s)
{
    struct unixctl_override *override = shash_find_data(&overrides, name);

    if (override && override->stock_cb) {
        const char *argv[] = { name, NULL };

        captured_reply = s;
        override->stock_cb(conn, 1, argv, override->stock_aux);
        captured_reply = NULL;
    }
}

void
__wrap_unixctl_command_register(const char *name, const char *usage,
                                int min_args, int max_args,
                                unixctl_cb_func *cb, void *aux)
{
    struct unixctl_override *override = shash_find_data(&overrides, name);

    if (!override) {
        __real_unixctl_command_register(name, usage, min_args, max_args, cb,
                                        aux);
        return;
    }
    override->stock_cb = cb;
    override->stock_aux = aux;
    if (!override->cb) {
        __real_unixctl_command_register(name, usage, min_args, max_args,
                                        unixctl_override_run_around, override);
        return;
    }
    __real_unixctl_command_register(name, override->usage, override->min_args,
                                    override->max_args, override->cb,
                                    override->aux);
}

void
__wrap_unixctl_command_reply(struct unixctl_conn *conn, const char *result)
{
    if (captured_reply) {
        ds_put_cstr(captured_reply, result ? result : "");
    } else {
        __real_unixctl_command_reply(conn, result);
    }
}
