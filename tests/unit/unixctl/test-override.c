/* SPDX-License-Identifier: Apache-2.0 */

/* Control commands that add to stock ones, over a real control socket. */

#include <config.h>
#include "unixctl/override.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "jsonrpc.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "socket-util.h"
#include "stream.h"
#include "harness/unit.h"
#include "util.h"

static int stock_aux, our_aux;
static unsigned int n_stock_calls;

static void
stock_command(struct unixctl_conn *conn, int argc, const char *argv[],
              void *aux)
{
    assert_ptr_equal(aux, &stock_aux);
    assert_true(argc >= 1);
    assert_true(!strncmp(argv[0], "test/", 5));
    n_stock_calls++;
    unixctl_command_reply(conn, "stock says\n");
}

static void
silent_stock_command(struct unixctl_conn *conn, int argc OVS_UNUSED,
                     const char *argv[] OVS_UNUSED, void *aux OVS_UNUSED)
{
    unixctl_command_reply(conn, NULL);
}

static void
our_command(struct unixctl_conn *conn, int argc, const char *argv[], void *aux)
{
    struct ds s = DS_EMPTY_INITIALIZER;

    assert_ptr_equal(aux, &our_aux);
    ds_put_cstr(&s, "we say\n");
    unixctl_override_call_stock(argv[0], conn, &s);
    for (int i = 1; i < argc; i++) {
        ds_put_format(&s, "%s\n", argv[i]);
    }
    unixctl_command_reply(conn, ds_cstr(&s));
    ds_destroy(&s);
}

static char *socket_dir;
static char *socket_name;
static struct unixctl_server *server;

static int
setup(void **state OVS_UNUSED)
{
    socket_dir = xstrdup("/tmp/unit-unixctl-XXXXXX");
    assert_non_null(mkdtemp(socket_dir));
    socket_name = xasprintf("%s/ctl", socket_dir);

    unixctl_override("test/extended", "[option]", 0, 1, our_command,
                     &our_aux);
    unixctl_override("test/silent", "", 0, 0, our_command, &our_aux);
    unixctl_override("test/early", "", 0, 0, our_command, &our_aux);
    unixctl_command_register("test/extended", "", 0, 0, stock_command,
                             &stock_aux);
    unixctl_command_register("test/silent", "", 0, 0, silent_stock_command,
                             NULL);
    unixctl_command_register("test/stock", "", 0, 2, stock_command,
                             &stock_aux);
    return unixctl_server_create(socket_name, &server);
}

static int
teardown(void **state OVS_UNUSED)
{
    unixctl_server_destroy(server);
    rmdir(socket_dir);
    free(socket_name);
    free(socket_dir);
    return 0;
}

/* Has the server carry out 'command'.  Returns its reply, or the error with
 * "error: " in front, for the caller to free. */
static char *
run(const char *command, const char *arg)
{
    long long int deadline = unit_now() + UNIT_PATIENCE;
    struct jsonrpc_msg *reply = NULL;
    struct json *params;
    struct stream *stream;
    struct jsonrpc *client;
    char *name, *s;
    int error;

    name = xasprintf("unix:%s", socket_name);
    error = stream_open_block(stream_open(name, &stream, DSCP_DEFAULT),
                              UNIT_PATIENCE, &stream);
    assert_int_equal(error, 0);
    free(name);
    client = jsonrpc_open(stream);

    params = json_array_create_empty();
    if (arg) {
        json_array_add(params, json_string_create(arg));
    }
    assert_int_equal(jsonrpc_send(client,
                                  jsonrpc_create_request(command, params,
                                                         NULL)), 0);
    do {
        assert_true(unit_now() < deadline);
        unixctl_server_run(server);
        jsonrpc_run(client);
        error = jsonrpc_recv(client, &reply);
        assert_true(!error || error == EAGAIN);
    } while (!reply);
    if (reply->error) {
        s = xasprintf("error: %s", json_string(reply->error));
    } else {
        s = xstrdup(json_string(reply->result));
    }
    jsonrpc_msg_destroy(reply);
    jsonrpc_close(client);
    return s;
}

static void
check(const char *command, const char *arg, const char *expected)
{
    char *reply = run(command, arg);

    assert_string_equal(reply, expected);
    free(reply);
}

static void
other_commands_stay_as_they_are(void **state OVS_UNUSED)
{
    n_stock_calls = 0;
    check("test/stock", NULL, "stock says\n");
    check("test/stock", "x", "stock says\n");
    assert_int_equal(n_stock_calls, 2);
}

static void
our_function_answers_with_the_stock_reply_in_its_own(void **state OVS_UNUSED)
{
    n_stock_calls = 0;
    check("test/extended", NULL, "we say\nstock says\n");
    assert_int_equal(n_stock_calls, 1);

    /* Capturing ends with the stock function. */
    check("test/stock", NULL, "stock says\n");
    check("test/extended", NULL, "we say\nstock says\n");
}

static void
our_usage_and_arguments_hold(void **state OVS_UNUSED)
{
    char *reply;

    check("test/extended", "--option", "we say\nstock says\n--option\n");
    reply = run("list-commands", NULL);
    assert_non_null(strstr(reply, "test/extended"));
    assert_non_null(strstr(reply, "[option]"));
    free(reply);
}

static void
stock_function_without_a_reply_adds_nothing(void **state OVS_UNUSED)
{
    check("test/silent", NULL, "we say\n");
}

static void
command_exists_only_once_the_stock_one_does(void **state OVS_UNUSED)
{
    struct ds s = DS_EMPTY_INITIALIZER;
    char *reply = run("test/early", NULL);

    assert_true(!strncmp(reply, "error: ", 7));
    free(reply);
    unixctl_override_call_stock("test/early", NULL, &s);
    unixctl_override_call_stock("test/unknown", NULL, &s);
    assert_string_equal(ds_cstr(&s), "");
    ds_destroy(&s);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_commands_stay_as_they_are),
        cmocka_unit_test(our_function_answers_with_the_stock_reply_in_its_own),
        cmocka_unit_test(our_usage_and_arguments_hold),
        cmocka_unit_test(stock_function_without_a_reply_adds_nothing),
        cmocka_unit_test(command_exists_only_once_the_stock_one_does),
    };

    unit_init("test-unixctl-override");
    return cmocka_run_group_tests_name("unixctl-override", tests, setup,
                                       teardown);
}
