// SPDX-License-Identifier: GPL-2.0-only

/* Counts the rules of tc flower that come and go, and is the driver of a
 * network card that takes them, for a benchmark.
 *
 * To ask for all rules takes the RTNL lock, and time of the process that is
 * measured.  Here each call of the functions of cls_flower that add and delete
 * a rule is counted, and the time of the first and the last one noted.
 *
 * Each veth device that gets a queueing discipline for ingress is bound to the
 * driver.  Rules that the user wants in software only (skip_hw) do not get to
 * it.  For the others the kernel calls the driver, with the RTNL lock held
 * unless the driver says, as few do, that it does not need it.  This one takes
 * the rules after a delay, and forwards nothing: packets of veth go the way of
 * software anyway.  When asked for the statistics of a rule it says what it
 * was told to: so many packets since it was asked before, the last one just
 * now.
 *
 *      parameter   meaning
 *      ---------   --------------------------------------------------------
 *      cards       whether veth devices that are made after this was written
 *                  are cards themselves, so that rules without a copy in
 *                  software (skip_sw) are possible, too
 *      locked      whether the driver needs the RTNL lock, for devices that
 *                  are bound after this was written
 *      rule_us     microseconds that the driver needs for a rule that comes
 *                  or goes, 0 to 1,000,000
 *      max_rules   rules that the driver has room for, UINT_MAX if not
 *                  written; it answers ENOSPC for those beyond
 *      hits        packets of each rule that the driver tells of whenever it
 *                  is asked, 0 if not written: it then tells nothing
 *      asked       rules for whose statistics it was asked
 *      added       rules that cls_flower was asked to add, or to change
 *      deleted     rules that it was asked to delete, one by one
 *      in_card     rules that the driver has taken
 *      first_ns    time at which the first rule was added, CLOCK_REALTIME
 *      last_ns     time at which the last rule was added
 *      first_deleted_ns, last_deleted_ns
 *                  the same for rules that were deleted
 *      reset       written: sets all that is counted, but in_card, to zero
 *
 * All can be read, and those of the driver written, in
 * /sys/module/tc_watch/parameters while it works.  Linux 6.1; cls_flower has
 * to be loaded. */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/delay.h>
#include <linux/ftrace.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/xarray.h>
#include <net/flow_offload.h>
#include <net/pkt_cls.h>
#include <net/rtnetlink.h>

#define MAX_RULE_US 1000000

static bool cards;
module_param(cards, bool, 0600);

static bool locked = true;
module_param(locked, bool, 0600);

static unsigned int rule_us;

static int rule_us_set(const char *text, const struct kernel_param *param)
{
	return param_set_uint_minmax(text, param, 0, MAX_RULE_US);
}

static const struct kernel_param_ops rule_us_ops = {
	.set = rule_us_set,
	.get = param_get_uint,
};
module_param_cb(rule_us, &rule_us_ops, &rule_us, 0600);

static unsigned int max_rules = UINT_MAX;
module_param(max_rules, uint, 0600);

static unsigned int hits;
module_param(hits, uint, 0600);

/* What a packet of those has, as one of the shortest would. */
#define HIT_BYTES 60

static atomic64_t added, deleted, in_card, asked, first_ns, last_ns;
static atomic64_t first_deleted_ns, last_deleted_ns;

static int count_get(char *buffer, const struct kernel_param *param)
{
	atomic64_t *counter = param->arg;

	return sysfs_emit(buffer, "%lld\n", atomic64_read(counter));
}

static const struct kernel_param_ops count_ops = { .get = count_get };
module_param_cb(added, &count_ops, &added, 0400);
module_param_cb(deleted, &count_ops, &deleted, 0400);
module_param_cb(in_card, &count_ops, &in_card, 0400);
module_param_cb(first_ns, &count_ops, &first_ns, 0400);
module_param_cb(last_ns, &count_ops, &last_ns, 0400);
module_param_cb(asked, &count_ops, &asked, 0400);
module_param_cb(first_deleted_ns, &count_ops, &first_deleted_ns, 0400);
module_param_cb(last_deleted_ns, &count_ops, &last_deleted_ns, 0400);

static int reset_set(const char *text, const struct kernel_param *param)
{
	atomic64_set(&added, 0);
	atomic64_set(&deleted, 0);
	atomic64_set(&first_ns, 0);
	atomic64_set(&last_ns, 0);
	atomic64_set(&asked, 0);
	atomic64_set(&first_deleted_ns, 0);
	atomic64_set(&last_deleted_ns, 0);
	return 0;
}

static const struct kernel_param_ops reset_ops = { .set = reset_set };
module_param_cb(reset, &reset_ops, NULL, 0200);

/* Counting. */

static void notrace count(atomic64_t *counter, atomic64_t *first,
			  atomic64_t *last)
{
	s64 now = ktime_get_real_ns();

	if (atomic64_inc_return(counter) == 1)
		atomic64_set(first, now);
	atomic64_set(last, now);
}

static void notrace count_added(unsigned long ip, unsigned long parent_ip,
				struct ftrace_ops *ops,
				struct ftrace_regs *fregs)
{
	count(&added, &first_ns, &last_ns);
}

static void notrace count_deleted(unsigned long ip, unsigned long parent_ip,
				  struct ftrace_ops *ops,
				  struct ftrace_regs *fregs)
{
	count(&deleted, &first_deleted_ns, &last_deleted_ns);
}

static struct ftrace_ops added_ops = {
	.func = count_added,
	.flags = FTRACE_OPS_FL_RECURSION,
};

static struct ftrace_ops deleted_ops = {
	.func = count_deleted,
	.flags = FTRACE_OPS_FL_RECURSION,
};

static int watch(struct ftrace_ops *ops, char *function)
{
	int error;

	error = ftrace_set_filter(ops, function, strlen(function), 1);
	if (!error)
		error = register_ftrace_function(ops);
	if (error)
		pr_err("watching %s failed (%d)\n", function, error);
	return error;
}

/* The driver. */

static LIST_HEAD(block_cbs);

/* By cookie.  The kernel destroys rules that were refused, too, and more than
 * once. */
static DEFINE_XARRAY(rules);

static int take(unsigned long cookie)
{
	int error;

	if (atomic64_inc_return(&in_card) > READ_ONCE(max_rules))
		error = -ENOSPC;
	else
		error = xa_insert(&rules, cookie, xa_mk_value(1), GFP_KERNEL);
	if (error)
		atomic64_dec(&in_card);
	/* Asked for again, as when the callback of a device is new. */
	return error == -EBUSY ? 0 : error;
}

static void drop(unsigned long cookie)
{
	if (xa_erase(&rules, cookie))
		atomic64_dec(&in_card);
}

static void tell_statistics(struct flow_cls_offload *flow)
{
	unsigned int n = READ_ONCE(hits);

	atomic64_inc(&asked);
	if (n)
		flow_stats_update(&flow->stats, n * HIT_BYTES, n, 0, jiffies,
				  FLOW_ACTION_HW_STATS_IMMEDIATE);
}

static int rule(enum tc_setup_type type, void *type_data, void *priv)
{
	struct flow_cls_offload *flow = type_data;
	unsigned int us = READ_ONCE(rule_us);
	int error = 0;

	if (type != TC_SETUP_CLSFLOWER)
		return -EOPNOTSUPP;
	switch (flow->command) {
	case FLOW_CLS_REPLACE:
		error = take(flow->cookie);
		break;
	case FLOW_CLS_DESTROY:
		drop(flow->cookie);
		break;
	case FLOW_CLS_STATS:
		tell_statistics(flow);
		return 0;
	default:
		return -EOPNOTSUPP;
	}
	/* fsleep() might take twice as long. */
	if (us)
		usleep_range(us, us + us / 16);
	return error;
}

static bool is_veth(const struct net_device *dev)
{
	return dev->rtnl_link_ops && !strcmp(dev->rtnl_link_ops->kind, "veth");
}

/* Of veth devices that are cards. */
static struct net_device_ops card_ops;

static int card_setup(struct net_device *dev, enum tc_setup_type type,
		      void *type_data)
{
	struct flow_block_offload *block = type_data;

	if (type != TC_SETUP_BLOCK)
		return -EOPNOTSUPP;
	return flow_block_cb_setup_simple(block, &block_cbs, rule, dev, dev,
					  true);
}

static int device_event(struct notifier_block *nb, unsigned long event,
			void *info)
{
	struct net_device *dev = netdev_notifier_info_to_dev(info);

	if (event == NETDEV_REGISTER && READ_ONCE(cards) && is_veth(dev)) {
		/* Under RTNL.  All have the same operations. */
		if (!card_ops.ndo_setup_tc) {
			card_ops = *dev->netdev_ops;
			card_ops.ndo_setup_tc = card_setup;
		}
		dev->netdev_ops = &card_ops;
		dev->hw_features |= NETIF_F_HW_TC;
		dev->wanted_features |= NETIF_F_HW_TC;
		dev->features |= NETIF_F_HW_TC;
	}
	return NOTIFY_DONE;
}

static struct notifier_block device_notifier = {
	.notifier_call = device_event,
};

static int bind(struct net_device *dev, struct Qdisc *sch, void *indr_priv,
		struct flow_block_offload *block, void *data,
		void (*cleanup)(struct flow_block_cb *block_cb))
{
	struct flow_block_cb *cb;

	block->unlocked_driver_cb = !locked;
	block->driver_block_list = &block_cbs;
	cb = flow_indr_block_cb_alloc(rule, dev, dev, NULL, block, dev, sch,
				      data, indr_priv, cleanup);
	if (IS_ERR(cb))
		return PTR_ERR(cb);
	flow_block_cb_add(cb, block);
	list_add_tail(&cb->driver_list, &block_cbs);
	return 0;
}

static int unbind(struct net_device *dev, struct flow_block_offload *block)
{
	struct flow_block_cb *cb;

	cb = flow_block_cb_lookup(block->block, rule, dev);
	if (!cb)
		return -ENOENT;
	/* As it was bound: "locked" is not written while devices are. */
	block->unlocked_driver_cb = !locked;
	flow_indr_block_cb_remove(cb, block);
	list_del(&cb->driver_list);
	return 0;
}

static int setup(struct net_device *dev, struct Qdisc *sch, void *indr_priv,
		 enum tc_setup_type type, void *type_data, void *data,
		 void (*cleanup)(struct flow_block_cb *block_cb))
{
	struct flow_block_offload *block = type_data;

	if (type != TC_SETUP_BLOCK || !dev || !is_veth(dev)
	    || block->binder_type != FLOW_BLOCK_BINDER_TYPE_CLSACT_INGRESS)
		return -EOPNOTSUPP;
	switch (block->command) {
	case FLOW_BLOCK_BIND:
		return bind(dev, sch, indr_priv, block, data, cleanup);
	case FLOW_BLOCK_UNBIND:
		return unbind(dev, block);
	}
	return -EOPNOTSUPP;
}

/* Of what flow_indr_dev_unregister() unbinds, which is nothing. */
static void release(void *indr_priv)
{
}

static int __init tc_watch_init(void)
{
	int error;

	error = watch(&added_ops, "fl_change");
	if (error)
		return error;
	error = watch(&deleted_ops, "fl_delete");
	if (error)
		goto not_added;
	error = flow_indr_dev_register(setup, NULL);
	if (error)
		goto not_deleted;
	error = register_netdevice_notifier(&device_notifier);
	if (error)
		goto not_indirect;
	return 0;

not_indirect:
	flow_indr_dev_unregister(setup, NULL, release);
not_deleted:
	unregister_ftrace_function(&deleted_ops);
not_added:
	unregister_ftrace_function(&added_ops);
	return error;
}

/* Not to be removed: devices may be bound to it. */
module_init(tc_watch_init);

MODULE_DESCRIPTION("Counts rules of tc flower and takes them as a card would");
MODULE_LICENSE("GPL");
