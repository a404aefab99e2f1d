/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The compiler found that a variable is not set, and put a trap there. */
#include "../../programs/kfuncs/kfuncs.h"

KSYM void __bpf_trap(void);

SEC("tc")
int refused(struct __sk_buff *ctx)
{
	if (ctx->mark > 7)
		__bpf_trap(); /* in the place of a variable that is not set */
	return ctx->mark;
}

SEC("tc")
int mended(struct __sk_buff *ctx)
{
	int priority = 0;

	if (ctx->mark <= 7)
		priority = ctx->mark;
	return priority;
}

LICENSE_GPL;
