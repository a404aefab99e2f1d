/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The context that is passed is another pointer. */
#include "../../programs/kfuncs/kfuncs.h"

struct bpf_dynptr {
	u64 opaque[2];
} __attribute__((aligned(8)));

KSYM int bpf_dynptr_from_skb(struct __sk_buff *s, u64 flags, struct bpf_dynptr *ptr);

SEC("tc")
int refused(struct __sk_buff *ctx)
{
	struct bpf_dynptr ptr;
	u64 here[8] = {};

	if (bpf_dynptr_from_skb((void *)here, 0, &ptr))
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
