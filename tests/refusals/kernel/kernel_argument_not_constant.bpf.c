/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The size of a slice is a number that is not known. */
#include "../../programs/kfuncs/kfuncs.h"

struct bpf_dynptr {
	u64 opaque[2];
} __attribute__((aligned(8)));

KSYM int bpf_dynptr_from_skb(struct __sk_buff *s, u64 flags, struct bpf_dynptr *ptr);
KSYM void *bpf_dynptr_slice(const struct bpf_dynptr *p, u64 offset, void *buffer__opt,
			    u64 buffer__szk);

SEC("tc")
int refused(struct __sk_buff *ctx)
{
	struct bpf_dynptr ptr;
	u8 room[64], *bytes;

	if (bpf_dynptr_from_skb(ctx, 0, &ptr))
		return 0;
	bytes = bpf_dynptr_slice(&ptr, 0, room, ctx->len & 63);
	return bytes ? 1 : 0;
}

SEC("tc")
int mended(struct __sk_buff *ctx)
{
	struct bpf_dynptr ptr;
	u8 room[64], *bytes;

	if (bpf_dynptr_from_skb(ctx, 0, &ptr))
		return 0;
	bytes = bpf_dynptr_slice(&ptr, 0, room, sizeof(room));
	return bytes ? bytes[2] : 0;
}

LICENSE_GPL;
