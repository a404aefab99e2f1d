/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Refused: an argument is read that nobody passes. Built with the flags of tests/programs/build.sh. */
#include "../../programs/include/packet.h"

#define READ_R(n)                                                                                  \
	({                                                                                         \
		u64 value;                                                                         \
		asm volatile("%0 = r" #n : "=r"(value));                                           \
		value;                                                                             \
	})

/* A program has one argument. */
SEC("xdp")
int second_argument(struct xdp_md *ctx, int mode)
{
	return mode;
}

/* A global function has those that it declares. */
NOINLINE int of_two(u32 first, u32 second)
{
	return READ_R(3) + first + second;
}

SEC("xdp")
int third_of_global(struct xdp_md *ctx)
{
	return of_two(1, 2);
}

/* A static one has those that the caller sets. */
static NOINLINE u64 of_one(u64 first)
{
	return READ_R(4) + first;
}

SEC("xdp")
int fourth_of_static(struct xdp_md *ctx)
{
	return of_one(ctx->rx_queue_index);
}

/* A callback has those that the helper passes. */
static int each(u32 index, void *data, u64 more)
{
	return more;
}

SEC("xdp")
int third_of_callback(struct xdp_md *ctx)
{
	loop(8, each, &ctx, 0);
	return XDP_PASS;
}

LICENSE_GPL;
