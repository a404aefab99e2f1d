/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The tag says that the pointer is not NULL, and stands at a number. */
#include "packet.h"

#define ARG_NONNULL __attribute__((btf_decl_tag("arg:nonnull")))

NOINLINE int sum(u32 *a, u32 b ARG_NONNULL)
{
	return a ? *a + b : 0;
}

NOINLINE int sum_of_both(u32 *a ARG_NONNULL, u32 b)
{
	return *a + b;
}

SEC("xdp")
int refused(struct xdp_md *ctx)
{
	u32 a = ctx->rx_queue_index;

	return sum(&a, 1);
}

SEC("xdp")
int mended(struct xdp_md *ctx)
{
	u32 a = ctx->rx_queue_index;

	return sum_of_both(&a, 1);
}

LICENSE_GPL;
