/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A pointer is passed where flags are expected. */
#include "../../programs/kfuncs/kfuncs.h"

struct bpf_dynptr {
	u64 opaque[2];
} __attribute__((aligned(8)));

KSYM int bpf_dynptr_from_skb(struct __sk_buff *s, u64 flags, struct bpf_dynptr *ptr);

SEC("tc")
int refused(struct __sk_buff *ctx)
{
	struct bpf_dynptr ptr;

	if (bpf_dynptr_from_skb(ctx, (u64)ctx, &ptr))
		return 0;
	return 1;
}

SEC("tc")
int mended(struct __sk_buff *ctx)
{
	struct bpf_dynptr ptr;

	if (bpf_dynptr_from_skb(ctx, 0, &ptr))
		return 0;
	return 1;
}

LICENSE_GPL;
