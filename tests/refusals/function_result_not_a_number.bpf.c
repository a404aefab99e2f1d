/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A global function returns a pointer. */
#include "packet.h"

NOINLINE __attribute__((naked)) int frame(void)
{
	asm volatile("r0 = r10\n"
		     "exit\n");
}

NOINLINE __attribute__((naked)) int number(void)
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
