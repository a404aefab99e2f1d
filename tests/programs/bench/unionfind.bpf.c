/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Joins 64 elements by 56 pairs, with paths that are halved, and counts the sets. */
#include "bench.h"

u8 bench_parents[64] __attribute__((visibility("hidden"))) = { 1 };
u8 bench_sizes[64] __attribute__((visibility("hidden"))) = { 1 };

INLINE u32 find(u32 x)
{
	for (int i = 0; i < 16; i++) {
		u32 parent = bench_parents[x & 63];

		if (parent == x)
			break;
		parent = bench_parents[parent & 63];
		bench_parents[x & 63] = parent;
		x = parent;
	}
	return x;
}

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 sets = 64, sum = 0;

	for (int i = 0; i < 64; i++) {
		bench_parents[i] = i;
		bench_sizes[i] = 1;
	}
	for (int i = 0; i < 56; i++) {
		u32 a = find(in[i] & 63), b = find(in[100 + i] & 63);

		if (a == b)
			continue;
		if (bench_sizes[a & 63] < bench_sizes[b & 63]) {
			u32 t = a;

			a = b;
			b = t;
		}
		bench_parents[b & 63] = a;
		bench_sizes[a & 63] += bench_sizes[b & 63];
		sets--;
	}
	for (int i = 0; i < 64; i++)
		sum = sum * 5 + find(i);
	return sum ^ sets << 24;
}

BENCH(unionfind);
