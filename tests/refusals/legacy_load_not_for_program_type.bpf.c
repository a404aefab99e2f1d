/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Only socket filters and tc may use this old kind of load. */
#include "packet.h"

SEC("kprobe")
int refused(void *ctx)
{
	asm volatile("r6 = %[ctx]\n"
			 "r0 = *(u8 *)skb[0]\n" ::[ctx] "r"(ctx) : "r0", "r1", "r2", "r3", "r4", "r5", "r6");
	return 0;
}

SEC("socket")
int mended(void *ctx)
{
	asm volatile("r6 = %[ctx]\n"
			 "r0 = *(u8 *)skb[0]\n" ::[ctx] "r"(ctx) : "r0", "r1", "r2", "r3", "r4", "r5", "r6");
	return 0;
}

LICENSE_GPL;
