/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "harness/watchdog.h"

#include <execinfo.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "harness/prng.h"
#include "harness/unit.h"
#include "ovs-atomic.h"
#include "ovs/compat-util.h"
#include "util.h"

/* How long the report may take, in seconds, before the program is killed.  It
 * runs addr2line for each thread. */
#define REPORT_TIME 300

/* How long a thread may take to report where it is, in milliseconds: it does
 * so as soon as it has a CPU, unless it blocks the signal. */
#define ANSWER_TIME 10000

#define MAX_FRAMES 32

#define SIGNAL_END (SIGRTMIN + 5)
#define SIGNAL_TELL (SIGRTMIN + 6)

static pid_t owner;             /* A child has none of its parent's timers. */
static timer_t end_timer, kill_timer;
static ATOMIC(const char *) running = ATOMIC_VAR_INIT("none");

/* The report of the last thread. */
static void *frames[MAX_FRAMES];
static int n_frames;
static struct unit_wait waits_for;
static atomic_bool told = ATOMIC_VAR_INIT(false);

/* Prints to stderr what snprintf() makes of the arguments.  A signal handler
 * must not use stdio's streams. */
static void OVS_PRINTF_FORMAT(1, 2)
say(const char *format, ...)
{
    char line[512];
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    ovs_compat_ignore(write(STDERR_FILENO, line,
                            MIN(n, (int) sizeof line - 1)));
}

/* Reads file 'name' of the kernel's information about thread 'tid'. */
static void
read_proc_file(int tid, const char *name, char *text, size_t size)
{
    char path[64];
    ssize_t n;
    int fd;

    snprintf(path, sizeof path, "/proc/self/task/%d/%s", tid, name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    n = fd >= 0 ? read(fd, text, size - 1) : -1;
    text[MAX(n, 0)] = '\0';
    text[strcspn(text, "\n")] = '\0';
    if (fd >= 0) {
        close(fd);
    }
}

/* Prints those of 'frames' that are in the program, with function names and
 * lines, which only addr2line knows: most functions are static. */
static void
say_frames(void)
{
    extern char __executable_start[], etext[];
    char exe[32], addresses[MAX_FRAMES][24];
    const char *argv[MAX_FRAMES + 5];
    size_t n = 0;

    snprintf(exe, sizeof exe, "/proc/%d/exe", (int) getpid());
    argv[n++] = "addr2line";
    argv[n++] = "-fpise";
    argv[n++] = exe;
    for (int i = 0; i < n_frames; i++) {
        uintptr_t start = (uintptr_t) __executable_start;
        uintptr_t address = (uintptr_t) frames[i];

        if (address > start && address <= (uintptr_t) etext) {
            /* A return address is after the call. */
            snprintf(addresses[i], sizeof addresses[i], "%#"PRIxPTR,
                     address - start - 1);
            argv[n++] = addresses[i];
        }
    }
    argv[n] = NULL;

    pid_t pid = _Fork();
    if (!pid) {
        dup2(STDERR_FILENO, STDOUT_FILENO);
        execvp(argv[0], CONST_CAST(char **, argv));
        _exit(127);
    }

    int status = -1;
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status) {
        backtrace_symbols_fd(frames, n_frames, STDERR_FILENO);
    }
}

/* Makes thread 'tid' report where it is, and prints it. */
static void
say_thread(int tid)
{
    char name[32], wchan[64];
    bool answered = false;

    read_proc_file(tid, "comm", name, sizeof name);
    read_proc_file(tid, "wchan", wchan, sizeof wchan);
    say("thread %d (%s), in the kernel at %s\n", tid, name,
        wchan[0] && strcmp(wchan, "0") ? wchan : "no place");

    atomic_store(&told, false);
    syscall(SYS_tgkill, getpid(), tid, SIGNAL_TELL);
    for (int i = 0; i < ANSWER_TIME && !answered; i++) {
        unit_sleep_us(1000);
        atomic_read(&told, &answered);
    }
    if (!answered) {
        say("    does not answer\n");
        return;
    }
    if (waits_for.condition) {
        say("    waits for %s, %s:%d\n", waits_for.condition, waits_for.file,
            waits_for.line);
    }
    say_frames();
}

/* What getdents64() returns. */
struct dirent64_kernel {
    uint64_t ino;
    int64_t off;
    unsigned short int reclen;
    unsigned char type;
    char name[];
};

static void
say_threads(void)
{
    int fd = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    char buf[4096] __attribute__((aligned(8)));
    long int n;

    while ((n = syscall(SYS_getdents64, fd, buf, sizeof buf)) > 0) {
        for (long int ofs = 0; ofs < n; ) {
            const struct dirent64_kernel *entry
                = ALIGNED_CAST(const struct dirent64_kernel *, buf + ofs);
            int tid = atoi(entry->name);

            ofs += entry->reclen;
            if (tid) {
                say_thread(tid);
            }
        }
    }
    close(fd);
}

static void
handle_tell(int signal OVS_UNUSED)
{
    n_frames = backtrace(frames, MAX_FRAMES);
    waits_for = unit_wait_current();
    atomic_store(&told, true);
}

static void
handle_end(int signal OVS_UNUSED)
{
    say("\ntest %s did not end within %d s, KDP_SEED=%"PRIu32"\n",
        unit_watchdog_test(), (int) (UNIT_TIME_LIMIT * unit_time_factor()),
        unit_seed());
    say_threads();
    abort();
}

static timer_t
create_timer(int signo)
{
    struct sigevent event = {
        .sigev_notify = SIGEV_SIGNAL,
        .sigev_signo = signo,
    };
    timer_t timer;

    unit_check(!timer_create(CLOCK_MONOTONIC, &event, &timer));
    return timer;
}

static void
set_timer(timer_t timer, time_t seconds)
{
    const struct itimerspec when = { .it_value.tv_sec = seconds };

    unit_check(!timer_settime(timer, 0, &when, NULL));
}

static void
initialize(void)
{
    struct sigaction end = { .sa_handler = handle_end };
    struct sigaction tell = { .sa_handler = handle_tell,
                              .sa_flags = SA_RESTART };

    unit_check(!sigaction(SIGNAL_END, &end, NULL));
    unit_check(!sigaction(SIGNAL_TELL, &tell, NULL));
    end_timer = create_timer(SIGNAL_END);
    kill_timer = create_timer(SIGKILL);

    /* The first call of these loads and initializes what they need, which must
     * not happen in a signal handler. */
    n_frames = backtrace(frames, MAX_FRAMES);
    unit_seed();
    owner = getpid();
}

void
unit_watchdog_start(const char *test)
{
    time_t limit = UNIT_TIME_LIMIT * unit_time_factor();

    if (owner != getpid()) {
        initialize();
    }
    atomic_store(&running, test);
    set_timer(end_timer, limit);
    set_timer(kill_timer, limit + REPORT_TIME);
}

void
unit_watchdog_progress(void)
{
    unit_watchdog_start(unit_watchdog_test());
}

void
unit_watchdog_stop(void)
{
    atomic_store(&running, "none");
    set_timer(end_timer, 0);
    set_timer(kill_timer, 0);
}

const char *
unit_watchdog_test(void)
{
    const char *test;

    atomic_read(&running, &test);
    return test;
}
