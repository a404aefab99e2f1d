/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A function stores its own stack pointer in its caller's variable. */
#include "packet.h"

static NOINLINE __attribute__((naked)) u64 store_own(u64 *to)
{
	asm volatile("*(u64 *)(r1 + 0) = r10\n"
		     "r0 = 0\n"
		     "exit\n");
}

static NOINLINE __attribute__((naked)) u64 store_number(u64 *to)
{
	asm volatile("r0 = 0\n"
		     "*(u64 *)(r1 + 0) = r0\n"
		     "exit\n");
}

SEC("xdp")
int refused(struct xdp_md *ctx)
{
	u64 here = 0;

	store_own(&here);
	return XDP_PASS;
}

SEC("xdp")
int mended(struct xdp_md *ctx)
{
	u64 here = 0;

	store_number(&here);
	return XDP_PASS;
}

LICENSE_GPL;
