/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A program of ../places.bpf.c with the line that its help asks for. Accepted. Built with the flags of
 * tests/programs/build.sh. */
#include "../../../programs/include/packet.h"

SEC("xdp")
int metadata_too_short(struct xdp_md *ctx)
{
	u8 *meta = (void *)(long)ctx->data_meta;
	u8 *data = (void *)(long)ctx->data;

	if (meta + 8 > data)
		return XDP_DROP;
	return *(volatile u64 *)meta;
}

LICENSE_GPL;
