/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A function returns the address of its own frame. */
#include "packet.h"

static NOINLINE __attribute__((naked)) u64 frame(void)
{
	asm volatile("r0 = r10\n"
		     "exit\n");
}

static NOINLINE __attribute__((naked)) u64 number(void)
{
	asm volatile("r0 = 1\n"
		     "exit\n");
}

SEC("xdp")
int refused(struct xdp_md *ctx)
{
	frame();
	return XDP_PASS;
}

SEC("xdp")
int mended(struct xdp_md *ctx)
{
	return number() ? XDP_PASS : XDP_DROP;
}

LICENSE_GPL;
