/* SPDX-License-Identifier: Apache-2.0 */

/* Kernels that lack what io_uring is to be used for, as the probe finds it
 * out: nothing is between it and the system calls that fail. */

#include <config.h>

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/unit.h"
#include "upcall/upcall-engine.h"
#include "util.h"

/* Makes the system call 'nr' fail with 'error' from now on. */
static void
forbid(unsigned int nr, int error)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = { ARRAY_SIZE(filter), filter };

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
        _exit(2);
    }
}

static void
system_call_that_fails_is_noticed(void **state OVS_UNUSED)
{
    static const struct {
        unsigned int nr;
        int error;
    } calls[] = {
        { __NR_io_uring_setup, ENOSYS },
        { __NR_io_uring_register, EINVAL },
        { __NR_io_uring_enter, EPERM },
    };

    for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
        pid_t pid = fork();
        int status;

        if (!pid) {
            forbid(calls[i].nr, calls[i].error);
            _exit(upcall_engine_uring.probe() != calls[i].error);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
    assert_int_equal(upcall_engine_uring.probe(), 0);
}

int
main(int argc OVS_UNUSED, char *argv[])
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(system_call_that_fails_is_noticed),
    };

    unit_init(argv[0]);
    return cmocka_run_group_tests_name("fallback-uring", tests, NULL, NULL);
}
