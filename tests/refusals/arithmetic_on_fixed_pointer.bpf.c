/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The end of the packet is moved, and not the pointer that is compared with it. */
#include "packet.h"

SEC("xdp")
int refused(struct xdp_md *ctx)
{
	u8 *data = (void *)(long)ctx->data;
	u8 *end = (void *)(long)ctx->data_end;

	end -= sizeof(struct eth_hdr);
	asm volatile("" : "+r"(end));
	if (data > end)
		return XDP_DROP;
	return data[0];
}

SEC("xdp")
int mended(struct xdp_md *ctx)
{
	u8 *data = (void *)(long)ctx->data;
	u8 *end = (void *)(long)ctx->data_end;

	if (data + sizeof(struct eth_hdr) > end)
		return XDP_DROP;
	return data[0];
}

LICENSE_GPL;
