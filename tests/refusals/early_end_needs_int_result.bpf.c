/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A function without result ends early by a tail call. */
#include "packet.h"

struct {
	UINT(type, MAP_PROG_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, u32);
} progs SEC(".maps");

static NOINLINE void without_result(void *ctx)
{
	tail_call(ctx, &progs, 0);
	asm volatile("");
}

static NOINLINE int with_result(void *ctx)
{
	tail_call(ctx, &progs, 0);
	return 0;
}

SEC("xdp")
int refused(struct xdp_md *ctx)
{
	without_result(ctx);
	return XDP_PASS;
}

SEC("xdp")
int mended(struct xdp_md *ctx)
{
	with_result(ctx);
	return XDP_PASS;
}

LICENSE_GPL;
