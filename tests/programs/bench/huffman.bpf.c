/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Decodes 384 bits by a tree of 16 letters, kept as a table of children. */
#include "bench.h"

/* Nodes below 16 are inner ones, letters have 16 added. */
u8 bench_tree[32] __attribute__((visibility("hidden"))) = {
	1, 2, 3, 4, 16, 5, 6, 7, 17, 18, 8, 9, 19, 20, 21, 22,
	10, 11, 23, 24, 12, 13, 25, 26, 27, 28, 14, 29, 30, 31, 30, 31,
};

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 node = 0, sum = in[0], letters = in[1];

	for (int i = 0; i < 48; i++) {
		u32 bits = in[i];

		for (int bit = 0; bit < 8; bit++) {
			node = bench_tree[(node * 2 + (bits & 1)) & 31];
			bits >>= 1;
			if (node >= 16) {
				sum = sum * 3 + node;
				letters++;
				node = 0;
			}
		}
	}
	return sum ^ letters << 24;
}

BENCH(huffman);
