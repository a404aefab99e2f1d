/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The check covers the Ethernet header, and the load is behind it. */
#include "packet.h"

SEC("xdp")
int refused(struct xdp_md *ctx)
{
	u8 *data = (void *)(long)ctx->data;
	u8 *end = (void *)(long)ctx->data_end;
	struct ipv4_hdr *ip = (void *)(data + sizeof(struct eth_hdr));

	if (data + sizeof(struct eth_hdr) > end)
		return XDP_DROP;
	return ip->proto == PROTO_UDP ? XDP_PASS : XDP_DROP;
}

SEC("xdp")
int mended(struct xdp_md *ctx)
{
	u8 *data = (void *)(long)ctx->data;
	u8 *end = (void *)(long)ctx->data_end;
	struct ipv4_hdr *ip = (void *)(data + sizeof(struct eth_hdr));

	if ((u8 *)(ip + 1) > end)
		return XDP_DROP;
	return ip->proto == PROTO_UDP ? XDP_PASS : XDP_DROP;
}

LICENSE_GPL;
