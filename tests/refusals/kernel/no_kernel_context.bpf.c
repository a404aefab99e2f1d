/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The context of a raw tracepoint is a list of values, and no structure of the kernel stands behind it. */
#include "../../programs/kfuncs/kfuncs.h"

KSYM void *bpf_cast_to_kern_ctx(void *obj);

SEC("raw_tp/sys_enter")
int refused(u64 *ctx)
{
	return bpf_cast_to_kern_ctx(ctx) ? 1 : 0;
}

SEC("tc")
int mended(struct __sk_buff *skb)
{
	return bpf_cast_to_kern_ctx(skb) ? 1 : 0;
}

LICENSE_GPL;
