/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The programs of ../given.bpf.c with the lines that their helps ask for. Accepted. Built with the
 * flags of tests/programs/build.sh. */
#include "../../../programs/include/packet.h"

SEC("xdp")
int second_argument(struct xdp_md *ctx)
{
	int mode = ctx->rx_queue_index & 1;

	return mode;
}

NOINLINE int of_three(u32 first, u32 second, u32 third)
{
	return third + first + second;
}

SEC("xdp")
int third_of_global(struct xdp_md *ctx)
{
	return of_three(1, 2, 3);
}

static NOINLINE u64 of_four(u64 first, u64 second, u64 third, u64 fourth)
{
	return fourth + first;
}

SEC("xdp")
int fourth_of_static(struct xdp_md *ctx)
{
	return of_four(ctx->rx_queue_index, 2, 3, 4);
}

static int each(u32 index, u64 *more)
{
	return *more & 1;
}

SEC("xdp")
int third_of_callback(struct xdp_md *ctx)
{
	u64 more = 1;

	loop(8, each, &more, 0);
	return XDP_PASS;
}

LICENSE_GPL;
