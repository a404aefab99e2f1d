/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A binary search tree in a table: 32 insertions, 32 searches for the next larger key. */
#include "bench.h"

u32 bench_used __attribute__((visibility("hidden"))) = 1;

struct leaf {
	u32 key;
	u16 left, right;
};
struct leaf bench_leaves[128] __attribute__((visibility("hidden"))) = { { 1, 1, 1 } };

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 sum = 0;

	bench_used = 1;

	bench_leaves[0] = (struct leaf){ load32(in), 0, 0 };
	for (int n = 1; n < 32; n++) {
		u32 key = load32(in + 4 * n), at = 0;

		asm volatile("" ::: "memory");
		for (int depth = 0; depth < 16; depth++) {
			struct leaf *leaf = &bench_leaves[at & 127];
			u16 *side = key < leaf->key ? &leaf->left : &leaf->right;

			if (leaf->key == key)
				break;
			if (!*side) {
				*side = bench_used;
				bench_leaves[bench_used & 127] = (struct leaf){ key, 0, 0 };
				bench_used++;
				break;
			}
			at = *side;
		}
	}
	for (int n = 0; n < 32; n++) {
		u32 key = load32(in + 512 + 4 * n), at = 0, best = ~0u;

		for (int depth = 0; depth < 16; depth++) {
			const struct leaf *leaf = &bench_leaves[at & 127];

			if (leaf->key == key) {
				best = key;
				break;
			}
			if (key < leaf->key) {
				best = leaf->key;
				at = leaf->left;
			} else {
				at = leaf->right;
			}
			if (!at)
				break;
		}
		sum = sum * 31 + best;
	}
	return sum ^ bench_used << 24;
}

BENCH(bst);
