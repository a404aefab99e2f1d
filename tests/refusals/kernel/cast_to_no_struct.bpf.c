/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A pointer is cast to a number. */
#include "../../programs/kfuncs/kfuncs.h"

struct sk_buff {
	u32 len;
} __attribute__((preserve_access_index));

KSYM void *bpf_rdonly_cast(const void *obj__ign, u32 btf_id__k);

SEC("tc")
int refused(struct __sk_buff *ctx)
{
	u32 *number = bpf_rdonly_cast(ctx, __builtin_btf_type_id(*(u32 *)0, 1));

	return *number;
}

SEC("tc")
int mended(struct __sk_buff *ctx)
{
	struct sk_buff *skb = bpf_rdonly_cast(ctx, __builtin_btf_type_id(*(struct sk_buff *)0, 1));

	return skb->len;
}

LICENSE_GPL;
