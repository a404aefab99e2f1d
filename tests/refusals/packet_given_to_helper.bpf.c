/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The helper would write to the packet. */
#include "packet.h"

SEC("tc")
int refused(struct __sk_buff *ctx)
{
	u8 *data = (void *)(long)ctx->data;
	u8 *end = (void *)(long)ctx->data_end;

	if (data + 32 > end)
		return TC_ACT_OK;
	skb_load_bytes(ctx, 0, data, 16);
	return TC_ACT_OK;
}

SEC("tc")
int mended(struct __sk_buff *ctx)
{
	u8 here[16];

	return skb_load_bytes(ctx, 0, here, sizeof(here)) ? TC_ACT_OK : here[0];
}

LICENSE_GPL;
