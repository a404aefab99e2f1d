/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A cache of 16 keys with a doubly linked list by last use: 128 requests. */
#include "bench.h"

struct slot {
	u8 key, prev, next, hits;
};
struct slot bench_slots[32] __attribute__((visibility("hidden"))) = { { 1, 1, 1, 1 } };
u32 bench_used __attribute__((visibility("hidden"))) = 1;
u8 bench_index[64] __attribute__((visibility("hidden"))) = { 1 };

INLINE void take(u32 at)
{
	struct slot *slot = &bench_slots[at & 31];

	bench_slots[slot->prev & 31].next = slot->next;
	bench_slots[slot->next & 31].prev = slot->prev;
}

INLINE void put_first(u32 at)
{
	struct slot *slot = &bench_slots[at & 31], *ends = &bench_slots[16];

	slot->prev = 16;
	slot->next = ends->next;
	bench_slots[ends->next & 31].prev = at;
	ends->next = at;
}

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 hits = load32(in + 604), sum = hits;

	bench_used = 0;
	for (int i = 0; i < 64; i++)
		bench_index[i] = 255;
	for (int i = 0; i < 16; i++)
		bench_slots[i] = (struct slot){ 0, 0, 0, 0 };
	bench_slots[16] = (struct slot){ 0, 16, 16, 0 };
	for (int n = 0; n < 128; n++) {
		u32 key = in[n] & in[n + 128] & 63, at = bench_index[key];

		asm volatile("" ::: "memory");
		if (at != 255) {
			hits++;
			bench_slots[at & 31].hits++;
			take(at);
		} else if (bench_used < 16) {
			at = bench_used++;
			bench_slots[at & 31].key = key;
			bench_index[key] = at;
		} else {
			at = bench_slots[16].prev;
			take(at);
			bench_index[bench_slots[at & 31].key & 63] = 255;
			sum = sum * 7 + bench_slots[at & 31].hits;
			bench_slots[at & 31].hits = 0;
			bench_slots[at & 31].key = key;
			bench_index[key] = at;
		}
		put_first(at);
	}
	return sum ^ hits << 24;
}

BENCH(lru);
