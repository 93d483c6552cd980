// SPDX-License-Identifier: GPL-2.0-only

/* Counts and delays acquisitions of the kernel's RTNL lock, and holds it, for
 * benchmarks and tests.
 *
 * A probe on rtnl_lock() misses most of them: the compiler inlines it into
 * rtnetlink_rcv_msg(), and netlink dumps take the mutex by another pointer.
 * All of them call one of the functions that lock a mutex, so calls of these
 * with the address of rtnl_mutex are redirected to functions here, which
 * count, delay and then do what was asked.
 *
 *      parameter   meaning
 *      ---------   --------------------------------------------------------
 *      mutex       address of rtnl_mutex, see /proc/kallsyms
 *      tgid        process that is counted, 0 for none
 *      delay_us    microseconds that each acquisition waits first, of any
 *                  process, 0 to 1,000,000
 *      hold        whether a thread of the module holds the lock
 *      count       acquisitions of the process since "tgid" was written
 *      count_all   acquisitions of all processes
 *
 * All but "mutex" can be read and written in /sys/module/rtnl_watch/parameters
 * while it works.  Linux 6.1 on x86-64. */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/ftrace.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/sched.h>

#define MAX_DELAY_US 1000000

static unsigned long mutex;
module_param(mutex, ulong, 0400);

static atomic64_t count, count_all;
static int tgid;
static unsigned int delay_us;

static int tgid_set(const char *text, const struct kernel_param *param)
{
	int error = param_set_int(text, param);

	if (!error)
		atomic64_set(&count, 0);
	return error;
}

static const struct kernel_param_ops tgid_ops = {
	.set = tgid_set,
	.get = param_get_int,
};
module_param_cb(tgid, &tgid_ops, &tgid, 0600);

static int delay_set(const char *text, const struct kernel_param *param)
{
	return param_set_uint_minmax(text, param, 0, MAX_DELAY_US);
}

static const struct kernel_param_ops delay_ops = {
	.set = delay_set,
	.get = param_get_uint,
};
module_param_cb(delay_us, &delay_ops, &delay_us, 0600);

static struct task_struct *holder;
static DECLARE_COMPLETION(held);

static int hold_lock(void *lock)
{
	mutex_lock(lock);
	complete(&held);
	set_current_state(TASK_INTERRUPTIBLE);
	while (!kthread_should_stop()) {
		schedule();
		set_current_state(TASK_INTERRUPTIBLE);
	}
	__set_current_state(TASK_RUNNING);
	mutex_unlock(lock);
	return 0;
}

/* The kernel calls one of these functions for parameters at a time. */
static int hold_set(const char *text, const struct kernel_param *param)
{
	bool hold;
	int error = kstrtobool(text, &hold);

	if (error || hold == !!holder)
		return error;
	if (hold) {
		struct task_struct *task;

		reinit_completion(&held);
		task = kthread_run(hold_lock, (void *)mutex, "rtnl-holder");
		if (IS_ERR(task))
			return PTR_ERR(task);
		holder = task;
		wait_for_completion(&held);
	} else {
		kthread_stop(holder);
		holder = NULL;
	}
	return 0;
}

static int hold_get(char *buffer, const struct kernel_param *param)
{
	return sysfs_emit(buffer, "%d\n", holder != NULL);
}

static const struct kernel_param_ops hold_ops = {
	.set = hold_set,
	.get = hold_get,
};
module_param_cb(hold, &hold_ops, NULL, 0600);

static int count_get(char *buffer, const struct kernel_param *param)
{
	atomic64_t *counter = param->arg;

	return sysfs_emit(buffer, "%lld\n", atomic64_read(counter));
}

static const struct kernel_param_ops count_ops = { .get = count_get };
module_param_cb(count, &count_ops, &count, 0400);
module_param_cb(count_all, &count_ops, &count_all, 0400);

static void account(void)
{
	unsigned int us = READ_ONCE(delay_us);

	atomic64_inc(&count_all);
	if (current->tgid == READ_ONCE(tgid))
		atomic64_inc(&count);
	if (us)
		fsleep(us);
}

static void watched_lock(struct mutex *lock)
{
	account();
	mutex_lock(lock);
}

static int watched_lock_interruptible(struct mutex *lock)
{
	account();
	return mutex_lock_interruptible(lock);
}

static int watched_lock_killable(struct mutex *lock)
{
	account();
	return mutex_lock_killable(lock);
}

/* A function that is redirected. */
struct watch {
	void *function;
	void *instead;
	struct ftrace_ops ops;
};

static void notrace redirect(unsigned long ip, unsigned long parent_ip,
			     struct ftrace_ops *ops,
			     struct ftrace_regs *fregs)
{
	struct watch *watch = container_of(ops, struct watch, ops);
	struct pt_regs *regs = ftrace_get_regs(fregs);

	if (regs && regs->di == mutex && !within_module(parent_ip, THIS_MODULE))
		regs->ip = (unsigned long)watch->instead;
}

#define WATCH(FUNCTION, INSTEAD)					\
	{								\
		.function = (FUNCTION),					\
		.instead = (INSTEAD),					\
		.ops = {						\
			.func = redirect,				\
			.flags = FTRACE_OPS_FL_SAVE_REGS		\
				 | FTRACE_OPS_FL_RECURSION		\
				 | FTRACE_OPS_FL_IPMODIFY,		\
		},							\
	}

static struct watch watches[] = {
	WATCH(mutex_lock, watched_lock),
	WATCH(mutex_lock_interruptible, watched_lock_interruptible),
	WATCH(mutex_lock_killable, watched_lock_killable),
};

static void watch_end(struct watch *watch)
{
	unregister_ftrace_function(&watch->ops);
	ftrace_set_filter_ip(&watch->ops, (unsigned long)watch->function, 1, 0);
}

static int watch_begin(struct watch *watch)
{
	int error;

	error = ftrace_set_filter_ip(&watch->ops,
				     (unsigned long)watch->function, 0, 0);
	if (error)
		return error;
	error = register_ftrace_function(&watch->ops);
	if (error)
		ftrace_set_filter_ip(&watch->ops,
				     (unsigned long)watch->function, 1, 0);
	return error;
}

static int __init rtnl_watch_init(void)
{
	int i, error;

	if (!mutex) {
		pr_err("mutex=0: expected the address of rtnl_mutex\n");
		return -EINVAL;
	}
	for (i = 0; i < ARRAY_SIZE(watches); i++) {
		error = watch_begin(&watches[i]);
		if (error) {
			pr_err("redirecting %ps failed (%d)\n",
			       watches[i].function, error);
			while (i--)
				watch_end(&watches[i]);
			return error;
		}
	}
	return 0;
}

/* Not to be removed: a process may be in one of the functions above. */
module_init(rtnl_watch_init);

MODULE_DESCRIPTION("Counts, delays and holds acquisitions of the RTNL lock");
MODULE_LICENSE("GPL");
