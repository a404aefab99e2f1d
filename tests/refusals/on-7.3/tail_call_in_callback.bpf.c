/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A function with a tail call is called in each round of a loop, whose callback it cannot leave. */
#include "packet.h"

struct {
	UINT(type, MAP_PROG_ARRAY);
	UINT(max_entries, 1);
	UINT(key_size, 4);
	UINT(value_size, 4);
} stages SEC(".maps");

static NOINLINE int next_stage(struct __sk_buff *ctx)
{
	int result = 0;

	tail_call(ctx, &stages, 0);
	asm volatile("" : "+r"(result));
	return result;
}

static NOINLINE int each(u32 index, struct __sk_buff **ctx)
{
	return next_stage(*ctx) ? 1 : 0;
}

SEC("tc")
int refused(struct __sk_buff *ctx)
{
	loop(4, each, &ctx, 0);
	return 0;
}

static NOINLINE int count(u32 index, u32 *rounds)
{
	*rounds += 1;
	return 0;
}

SEC("tc")
int mended(struct __sk_buff *ctx)
{
	u32 rounds = 0;

	loop(4, count, &rounds, 0);
	return next_stage(ctx);
}
