/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A function with a tail call is called over 320 bytes of variables. */
#include "packet.h"

struct {
	UINT(type, MAP_PROG_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, u32);
} progs SEC(".maps");

static NOINLINE int next(struct __sk_buff *ctx)
{
	volatile int result = 0;

	tail_call(ctx, &progs, 0);
	return result;
}

SEC("tc")
int refused(struct __sk_buff *ctx)
{
	u8 room[320];

	room[ctx->len & 63] = 1;
	next(ctx);
	return room[ctx->len & 31];
}

SEC("tc")
int mended(struct __sk_buff *ctx)
{
	u8 room[64];

	room[ctx->len & 63] = 1;
	next(ctx);
	return room[ctx->len & 31];
}

LICENSE_GPL;
