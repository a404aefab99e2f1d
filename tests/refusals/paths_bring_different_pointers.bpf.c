/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* One load reads the context on one path and the stack on the other. */
#include "packet.h"

SEC("tc")
int refused(struct __sk_buff *ctx)
{
	asm volatile("r6 = %[ctx]\n"
			 "r7 = *(u32 *)(r6 + 0)\n"
			 "r2 = r10\n"
			 "r2 += -8\n"
			 "r3 = 0\n"
			 "*(u64 *)(r10 - 8) = r3\n"
			 "if r7 > 5 goto 1f\n"
			 "r2 = r6\n"
			 "1: r3 = *(u32 *)(r2 + 0)\n" ::[ctx] "r"(ctx) : "r2", "r3", "r6", "r7");
	return 0;
}

SEC("tc")
int mended(struct __sk_buff *ctx)
{
	u32 words[2] = {};

	return ctx->len > 5 ? words[0] : ctx->len;
}

LICENSE_GPL;
