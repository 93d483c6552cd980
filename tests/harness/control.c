/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "harness/control.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "jsonrpc.h"
#include "openvswitch/json.h"
#include "socket-util.h"
#include "stream.h"
#include "harness/unit.h"
#include "unixctl.h"
#include "util.h"

static char *socket_dir;
static char *socket_name;
static struct unixctl_server *server;

void
unit_control_start(void)
{
    socket_dir = xstrdup("/tmp/unit-control-XXXXXX");
    unit_check(mkdtemp(socket_dir));
    socket_name = xasprintf("%s/ctl", socket_dir);
    unit_check(!unixctl_server_create(socket_name, &server));
}

void
unit_control_stop(void)
{
    unixctl_server_destroy(server);
    rmdir(socket_dir);
    free(socket_name);
    free(socket_dir);
}

char *
unit_control_run(const char *command, ...)
{
    long long int deadline = unit_now() + UNIT_PATIENCE;
    struct json *params = json_array_create_empty();
    struct jsonrpc_msg *reply = NULL;
    struct stream *stream;
    struct jsonrpc *client;
    const char *arg;
    char *name, *s;
    va_list args;
    int error;

    va_start(args, command);
    while ((arg = va_arg(args, const char *)) != NULL) {
        json_array_add(params, json_string_create(arg));
    }
    va_end(args);

    name = xasprintf("unix:%s", socket_name);
    error = stream_open_block(stream_open(name, &stream, DSCP_DEFAULT),
                              UNIT_PATIENCE, &stream);
    unit_check(!error);
    free(name);
    client = jsonrpc_open(stream);
    unit_check(!jsonrpc_send(client, jsonrpc_create_request(command, params,
                                                            NULL)));
    do {
        unit_check(unit_now() < deadline);
        unixctl_server_run(server);
        jsonrpc_run(client);
        error = jsonrpc_recv(client, &reply);
        unit_check(!error || error == EAGAIN);
    } while (!reply);
    s = (reply->error
         ? xasprintf("error: %s", json_string(reply->error))
         : xstrdup(json_string(reply->result)));
    jsonrpc_msg_destroy(reply);
    jsonrpc_close(client);
    return s;
}
