/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Longest prefixes of 48 addresses in a tree of bit maps, four bits at a time. */
#include "bench.h"

struct node {
	u16 children, routes;
	u8 child, route;
};
struct node bench_tree[128] __attribute__((visibility("hidden"))) = { { 1, 1, 1, 1 } };

INLINE u32 ones(u32 x)
{
	x -= x >> 1 & 0x5555;
	x = (x & 0x3333) + (x >> 2 & 0x3333);
	x = (x + (x >> 4)) & 0x0f0f;
	return (x + (x >> 8)) & 31;
}

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 sum = 0;

	for (int i = 0; i < 128; i++) {
		struct node *node = &bench_tree[i];

		node->children = in[4 * i] << 8 | in[4 * i + 1];
		node->routes = in[4 * i + 2] | in[4 * i + 1] << 8;
		node->child = in[4 * i + 3];
		node->route = in[i + 3];
	}
	for (int n = 0; n < 48; n++) {
		u32 key = load32_be(in + 512 + 4 * n), at = n & 3, best = 0;

		for (int shift = 28; shift >= 0; shift -= 4) {
			const struct node *node = &bench_tree[at & 127];
			u32 bit = 1u << (key >> shift & 15);

			if (node->routes & bit)
				best = node->route + ones(node->routes & (bit - 1));
			if (!(node->children & bit))
				break;
			at = node->child + ones(node->children & (bit - 1));
		}
		sum = sum * 31 + best + at;
	}
	return sum;
}

BENCH(poptrie);
