/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Refused because a limit is reached: what the budget went to. Built with the flags of
 * tests/programs/build.sh. */
#include "../../programs/include/packet.h"

/* Eight bits are read, and no round is like another. */
static NOINLINE u32 leaf(u32 seed)
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
	static NOINLINE u32 name(u32 seed)                                                         \
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

/* The innermost function is walked for each way that leads to it. */
SEC("xdp")
int tree(struct xdp_md *ctx)
{
	return trunk(ctx->rx_queue_index) > 7 ? XDP_PASS : XDP_DROP;
}

/* The number of ones decides something in each round, so that states of all numbers are kept apart. */
SEC("xdp")
int ones(struct xdp_md *ctx)
{
	u32 bits = ctx->rx_queue_index, ones = 0;

#pragma clang loop unroll(disable)
	for (u32 i = 0; i < 4000; i++) {
		if (bits & 1) {
			ones++;
			asm volatile("" : "+r"(ones));
		}
		if (ones > 3000)
			return XDP_DROP;
		bits = bits * 1103515245 + 12345;
	}
	return ones == 2000 ? XDP_PASS : XDP_DROP;
}

/* What the loop waits for is not changed in it. */
SEC("xdp")
int waiting(struct xdp_md *ctx)
{
	asm volatile("r6 = 5\n"
		     "1: r7 = 1\n"
		     "if r6 != 0 goto 1b\n" ::: "r6", "r7");
	return XDP_PASS;
}

/* Nothing leaves the loop. */
SEC("xdp")
int for_ever(struct xdp_md *ctx)
{
	if (ctx->rx_queue_index)
		asm volatile("1: r7 = 1\n"
			     "goto 1b\n" ::: "r7");
	return XDP_PASS;
}

LICENSE_GPL;
