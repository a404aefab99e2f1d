/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * A compute program of the benchmark: a function of 1,024 bytes of input, with 1,024 bytes to
 * write to behind them. As BPF it is an XDP program and the bytes are the packet; compiled
 * natively (BENCH_NATIVE) it is the same function on the context that skep gives to programs.
 */
#pragma once
#include "../include/skep_bpf.h"

enum { INPUT_BYTES = 1024, SCRATCH_BYTES = 1024 };

#ifdef BENCH_NATIVE
struct bench_ctx {
	u64 data;
	u64 data_end;
};
#define BENCH_ENTRY(name) __attribute__((visibility("default"))) u64 name(struct bench_ctx *ctx)
#elif defined(BENCH_RAW)
struct bench_ctx {
	u64 data;
	u64 data_end;
};
#define BENCH_ENTRY(name) SEC("xdp") u64 name(struct bench_ctx *ctx)
#else
#define bench_ctx xdp_md
#define BENCH_ENTRY(name) SEC("xdp") int name(struct xdp_md *ctx)
#endif

#define BENCH(name)                                                                            \
	BENCH_ENTRY(name)                                                                      \
	{                                                                                      \
		u8 *in = (u8 *)(long)ctx->data;                                                \
		u8 *end = (u8 *)(long)ctx->data_end;                                           \
                                                                                               \
		if (in + INPUT_BYTES + SCRATCH_BYTES > end)                                    \
			return 0;                                                              \
		return compute(in, in + INPUT_BYTES);                                          \
	}                                                                                      \
	LICENSE_GPL

INLINE u64 load64(const u8 *p)
{
	return *(const u64 *)p;
}
INLINE u32 load32(const u8 *p)
{
	return *(const u32 *)p;
}
INLINE u64 rotl64(u64 x, int by)
{
	return x << by | x >> (64 - by);
}
INLINE u32 rotl32(u32 x, int by)
{
	return x << by | x >> (32 - by);
}
/* Bytes in memory order to a number, as portable code writes it. */
INLINE u32 load32_be(const u8 *p)
{
	return (u32)p[0] << 24 | (u32)p[1] << 16 | (u32)p[2] << 8 | p[3];
}
INLINE u32 load32_le(const u8 *p)
{
	return (u32)p[3] << 24 | (u32)p[2] << 16 | (u32)p[1] << 8 | p[0];
}
