/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "harness/handlers.h"

#include <errno.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "openvswitch/poll-loop.h"
#include "ovs-thread.h"
#include "harness/unit.h"
#include "util.h"

static size_t
receive_batch(struct unit_handler *handler)
{
    struct unit_handlers *all = handler->all;
    struct upcall_view views[UPCALL_BATCH];
    size_t n = 0;

    for (;;) {
        struct upcall_view view;
        int error = upcall_table_recv(all->table, handler->id, &view);

        if (error) {
            unit_check(error == EAGAIN);
            break;
        }
        unit_check(n < UPCALL_BATCH);
        views[n++] = view;
    }
    if (n) {
        all->process(handler->id, views, n, all->aux);
    }
    return n;
}

static void *
handler_main(void *handler_)
{
    struct unit_handler *handler = handler_;
    struct unit_handlers *all = handler->all;

    atomic_count_set(&handler->tid, syscall(SYS_gettid));
    while (!latch_is_set(&all->exit)) {
        if (receive_batch(handler)) {
            poll_immediate_wake();
        } else {
            upcall_table_recv_wait(all->table, handler->id);
            latch_wait(&all->exit);
        }
        poll_block();
    }
    return NULL;
}

void
unit_handlers_start(struct unit_handlers *all, struct upcall_table *table,
                    uint32_t n, unit_process_func *process, void *aux)
{
    unit_check(n <= UNIT_MAX_HANDLERS);
    all->table = table;
    all->process = process;
    all->aux = aux;
    all->n = n;
    latch_init(&all->exit);
    for (uint32_t i = 0; i < n; i++) {
        struct unit_handler *handler = &all->handlers[i];

        handler->all = all;
        handler->id = i;
        atomic_count_init(&handler->tid, 0);
        handler->thread = ovs_thread_create("handler", handler_main, handler);
    }
}

void
unit_handlers_stop(struct unit_handlers *all)
{
    latch_set(&all->exit);
    for (uint32_t i = 0; i < all->n; i++) {
        xpthread_join(all->handlers[i].thread, NULL);
    }
    latch_destroy(&all->exit);
    all->n = 0;
}

/* Opens file 'name' of the kernel's information about thread 'i'.  Returns
 * NULL if the thread does not run yet. */
static FILE *
open_proc_file(const struct unit_handlers *all, uint32_t i, const char *name)
{
    unsigned int tid
        = atomic_count_get(CONST_CAST(atomic_count *, &all->handlers[i].tid));
    char path[64];

    snprintf(path, sizeof path, "/proc/self/task/%u/%s", tid, name);
    return tid ? fopen(path, "r") : NULL;
}

bool
unit_handler_is_in_epoll_wait(const struct unit_handlers *all, uint32_t i)
{
    FILE *file = open_proc_file(all, i, "syscall");
    long int number;
    bool is;

    /* The file holds the number of the system call in which the thread is
     * blocked, or "running". */
    if (!file) {
        return false;
    }
    is = fscanf(file, "%ld", &number) == 1 && (number == SYS_epoll_pwait
#ifdef SYS_epoll_wait
                                               || number == SYS_epoll_wait
#endif
                                               );
    fclose(file);
    return is;
}

uint64_t
unit_handler_n_sleeps(const struct unit_handlers *all, uint32_t i)
{
    FILE *file = open_proc_file(all, i, "status");
    unsigned long long int n = 0;
    bool found = false;
    char line[256];

    unit_check(file != NULL);
    while (!found && fgets(line, sizeof line, file)) {
        found = sscanf(line, "voluntary_ctxt_switches: %llu", &n) == 1;
    }
    fclose(file);
    unit_check(found);
    return n;
}

bool
unit_handlers_are_in_epoll_wait(const struct unit_handlers *all)
{
    for (uint32_t i = 0; i < all->n; i++) {
        if (!unit_handler_is_in_epoll_wait(all, i)) {
            return false;
        }
    }
    return true;
}
