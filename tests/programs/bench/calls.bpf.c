/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Functions that are not inlined, two deep. */
#include "bench.h"

static NOINLINE u32 mixed(u32 a, u32 b)
{
	return (a ^ b >> 3) * 0x9e3779b1 + b;
}

static NOINLINE u32 folded(u32 a, u32 b, u32 c)
{
	u32 first = mixed(a, c);

	return mixed(first + b, a) ^ first;
}

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 sum = 1;

	for (int i = 0; i < 128; i++)
		sum = folded(sum, in[i], i) + mixed(in[i], sum);
	return sum;
}

BENCH(calls);
