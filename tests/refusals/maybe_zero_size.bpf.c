/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A length is bounded from above, and may be 0. */
#include "packet.h"

SEC("tc")
int refused(struct __sk_buff *ctx)
{
	u8 bytes[16] = {};
	u32 len = ctx->mark & 15;

	skb_load_bytes(ctx, 0, bytes, len);
	return ((volatile u8 *)bytes)[0];
}

SEC("tc")
int mended(struct __sk_buff *ctx)
{
	u8 bytes[16] = {};
	u32 len = ctx->mark & 15;

	if (len > 0)
		skb_load_bytes(ctx, 0, bytes, len);
	return ((volatile u8 *)bytes)[0];
}

LICENSE_GPL;
