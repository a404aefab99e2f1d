/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The program of ../spent.bpf.c whose help asks for global functions. Accepted. Built with the flags
 * of tests/programs/build.sh. */
#include "../../../programs/include/packet.h"

/* Eight bits are read, and no round is like another. */
NOINLINE u32 leaf(u32 seed)
{
	u32 sum = 0;

#pragma clang loop unroll(disable)
	for (u32 i = 0; i < 8; i++) {
		if (seed >> i & 1)
			sum += i + 1;
	}
	return sum;
}

#define FOUR_TIMES(name, inner)                                                                    \
	NOINLINE u32 name(u32 seed)                                                         \
	{                                                                                          \
		u32 sum = inner(seed);                                                             \
                                                                                                   \
		if (sum > 1)                                                                       \
			sum += inner(seed + 1);                                                    \
		if (sum > 2)                                                                       \
			sum += inner(seed + 2);                                                    \
		if (sum > 3)                                                                       \
			sum += inner(seed + 3);                                                    \
		return sum;                                                                        \
	}

FOUR_TIMES(branch, leaf)
FOUR_TIMES(bough, branch)
FOUR_TIMES(trunk, bough)

SEC("xdp")
int tree(struct xdp_md *ctx)
{
	return trunk(ctx->rx_queue_index) > 7 ? XDP_PASS : XDP_DROP;
}

LICENSE_GPL;
