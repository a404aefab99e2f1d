/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Refused: the line that has to change is not that of the insn. Built with the flags of
 * tests/programs/build.sh. */
#include "../../programs/include/packet.h"

/* No insn belongs to the line of the declaration. */
SEC("xdp_old")
int of_no_type(void *ctx)
{
	return 0;
}

SEC("fentry")
int without_target(void *ctx)
{
	return 0;
}

/* The metadata is compared with where it ends, but not all of the access. */
SEC("xdp")
int metadata_too_short(struct xdp_md *ctx)
{
	u8 *meta = (void *)(long)ctx->data_meta;
	u8 *data = (void *)(long)ctx->data;

	if (meta + 4 > data)
		return XDP_DROP;
	return *(volatile u64 *)meta;
}

LICENSE_GPL;
