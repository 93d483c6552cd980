/* SPDX-License-Identifier: Apache-2.0 */

/* Counts the instructions that a thread executes in some of its functions,
 * and those of them that are locked, by executing it step by step (ptrace).
 *
 *      count-instructions THREAD UPCALLS NAME=ADDRESS...
 *
 * The functions are given by their addresses in the process.  What they call
 * counts, too; what the kernel does for them does not.  The first one is
 * dpif_recv(), which returns 0 for an upcall, and the second one poll_block(),
 * by which each batch ends.  Counting begins when that returns for the last
 * time before the first upcall, and ends when it does after UPCALLS upcalls at
 * least.
 *
 * Prints "ready" once the thread is traced, and JSON in the end. */

#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#define MAX_FUNCTIONS 8
#define RECV 0
#define BLOCK 1

/* The longest instruction of x86. */
#define MAX_LENGTH 15

struct count {
    uint64_t calls, instructions, locked;
};

struct function {
    const char *name;
    uint64_t address;
    struct count count;
};

static struct function functions[MAX_FUNCTIONS];
static size_t n_functions;
static struct count others;     /* Outside of all. */

/* What is known of instructions, by their addresses: twice the address, plus 1
 * if the instruction is locked; or 0. */
#define N_KNOWN (1u << 20)
static uint64_t known[N_KNOWN];

static void __attribute__((noreturn))
fatal(const char *what)
{
    fprintf(stderr, "count-instructions: %s (%s)\n", what, strerror(errno));
    exit(2);
}

/* Says whether the instruction in 'bytes' is locked: by a prefix, or because
 * it exchanges a register with memory. */
static bool
is_locked(const uint8_t bytes[MAX_LENGTH])
{
    for (size_t i = 0; i < MAX_LENGTH - 1; i++) {
        uint8_t byte = bytes[i];

        if (byte == 0xf0) {
            return true;
        } else if (byte == 0x86 || byte == 0x87) {
            return bytes[i + 1] < 0xc0;
        } else if (byte != 0x66 && byte != 0x67 && byte != 0xf2
                   && byte != 0xf3 && byte != 0x2e && byte != 0x36
                   && byte != 0x3e && byte != 0x26 && byte != 0x64
                   && byte != 0x65 && (byte & 0xf0) != 0x40) {
            return false;
        }
    }
    return false;
}

static bool
find_locked(pid_t thread, uint64_t address)
{
    uint32_t i = (address * UINT64_C(0x9e3779b97f4a7c15)) >> 44;
    uint8_t bytes[MAX_LENGTH] = { 0 };
    struct iovec local = { bytes, sizeof bytes };
    struct iovec remote = { (void *) (uintptr_t) address, sizeof bytes };

    for (; known[i % N_KNOWN]; i++) {
        if (known[i % N_KNOWN] >> 1 == address) {
            return known[i % N_KNOWN] & 1;
        }
    }
    /* Less at the end of a mapping. */
    process_vm_readv(thread, &local, 1, &remote, 1, 0);
    known[i % N_KNOWN] = address << 1 | is_locked(bytes);
    return known[i % N_KNOWN] & 1;
}

static void
wait_for_stop(pid_t thread)
{
    int status;

    while (waitpid(thread, &status, __WALL) < 0) {
        if (errno != EINTR) {
            fatal("waitpid");
        }
    }
    if (!WIFSTOPPED(status)) {
        errno = 0;
        fatal("the thread has ended");
    }
}

static void
reset_counts(void)
{
    for (size_t i = 0; i < n_functions; i++) {
        functions[i].count = (struct count) { 0, 0, 0 };
    }
    others = (struct count) { 0, 0, 0 };
}

/* Steps until the end of the batch of the 'n'th upcall.  Returns the number of
 * upcalls. */
static uint64_t
step(pid_t thread, uint64_t n)
{
    uint64_t upcalls = 0, return_sp = 0;
    bool begun = false;
    int current = -1;

    for (;;) {
        struct user_regs_struct regs;
        struct count *count;

        if (ptrace(PTRACE_GETREGS, thread, NULL, &regs)) {
            fatal("PTRACE_GETREGS");
        }
        if (current >= 0 && regs.rsp > return_sp) {
            int returned = current;

            current = -1;
            if (returned == RECV && !(int) regs.rax) {
                upcalls += begun;
            } else if (returned == BLOCK && upcalls >= n) {
                return upcalls;
            } else if (returned == BLOCK && !upcalls) {
                reset_counts();
                begun = true;
            }
        }
        for (size_t i = 0; current < 0 && i < n_functions; i++) {
            if (regs.rip == functions[i].address) {
                current = i;
                return_sp = regs.rsp;
                functions[i].count.calls++;
            }
        }
        count = current >= 0 ? &functions[current].count : &others;
        count->instructions++;
        count->locked += find_locked(thread, regs.rip);
        if (ptrace(PTRACE_SINGLESTEP, thread, NULL, NULL)) {
            fatal("PTRACE_SINGLESTEP");
        }
        wait_for_stop(thread);
    }
}

static void
print_count(const char *name, const struct count *count)
{
    printf("\"%s\": {\"calls\": %"PRIu64", \"instructions\": %"PRIu64", "
           "\"locked\": %"PRIu64"}", name, count->calls, count->instructions,
           count->locked);
}

int
main(int argc, char *argv[])
{
    uint64_t upcalls;
    pid_t thread;

    if (argc < 5 || argc > 3 + MAX_FUNCTIONS) {
        fputs("usage: count-instructions THREAD UPCALLS NAME=ADDRESS...\n",
              stderr);
        return 2;
    }
    thread = atoi(argv[1]);
    for (int i = 3; i < argc; i++) {
        functions[n_functions++] = (struct function) {
            .name = strtok(argv[i], "="),
            .address = strtoull(strtok(NULL, "="), NULL, 0),
        };
    }

    if (ptrace(PTRACE_SEIZE, thread, NULL, NULL)
        || ptrace(PTRACE_INTERRUPT, thread, NULL, NULL)) {
        fatal("cannot trace the thread");
    }
    wait_for_stop(thread);
    puts("ready");
    fflush(stdout);
    upcalls = step(thread, strtoull(argv[2], NULL, 0));
    ptrace(PTRACE_DETACH, thread, NULL, NULL);

    printf("{\"upcalls\": %"PRIu64", ", upcalls);
    for (size_t i = 0; i < n_functions; i++) {
        print_count(functions[i].name, &functions[i].count);
        printf(", ");
    }
    print_count("others", &others);
    printf("}\n");
    return 0;
}
