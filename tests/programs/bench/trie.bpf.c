/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Walks 32 keys through a binary trie that is kept in a table. */
#include "bench.h"

u16 bench_nodes[256][2] __attribute__((visibility("hidden"))) = { { 1, 2 } };

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 used = in[0], found = 0;

	for (int i = 0; i < 256; i++)
		bench_nodes[i][0] = bench_nodes[i][1] = 0;
	for (int i = 0; i < 24; i++) {
		u32 key = in[i], node = 0;

		for (int bit = 0; bit < 8; bit++) {
			u32 side = key >> (7 - bit) & 1;
			u32 next = bench_nodes[node & 255][side];

			if (!next) {
				used = (used + 1) & 255;
				next = used;
				bench_nodes[node & 255][side] = next;
			}
			node = next;
		}
	}
	for (int i = 0; i < 32; i++) {
		u32 key = in[i + 12], node = 0;

		for (int bit = 0; bit < 8; bit++) {
			node = bench_nodes[node & 255][key >> (7 - bit) & 1];
		}
		found += node * (i + 1);
	}
	return found;
}

BENCH(trie);
