/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A dynptr is not on the stack. */
#include "../../programs/kfuncs/kfuncs.h"

struct bpf_dynptr {
	u64 opaque[2];
} __attribute__((aligned(8)));

KSYM int bpf_dynptr_from_skb(struct __sk_buff *s, u64 flags, struct bpf_dynptr *ptr);
KSYM u64 bpf_dynptr_size(const struct bpf_dynptr *p);

struct bpf_dynptr ptr;

SEC("tc")
int refused(struct __sk_buff *ctx)
{
	return bpf_dynptr_size(&ptr) ? 1 : 0;
}

SEC("tc")
int mended(struct __sk_buff *ctx)
{
	struct bpf_dynptr here;

	if (bpf_dynptr_from_skb(ctx, 0, &here))
		return 0;
	return bpf_dynptr_size(&here) ? 1 : 0;
}

LICENSE_GPL;
