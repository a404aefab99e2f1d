/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Asked for the function where the program is attached to a tracepoint. */
#include "../../programs/kfuncs/kfuncs.h"

static u64 (*const get_func_ip)(void *ctx) = (void *)173;

u64 address;

SEC("tp_btf/sys_enter")
int refused(u64 *ctx)
{
	address = get_func_ip(ctx);
	return 0;
}

SEC("kprobe/do_nanosleep")
int mended(struct pt_regs *ctx)
{
	address = get_func_ip(ctx);
	return 0;
}

LICENSE_GPL;
