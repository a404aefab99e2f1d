/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A queue of 15 timers as a heap: the earliest fires and is set again, 48 times. */
#include "bench.h"

struct timer {
	u32 due;
	u32 id;
};

struct timer bench_heap[16] __attribute__((visibility("hidden"))) = { { 1 } };

INLINE void sink(struct timer *heap, u32 at, struct timer timer)
{
	for (int level = 0; level < 4; level++) {
		u32 child = 2 * at + 1;

		if (child >= 15)
			break;
		if (heap[(child + 1) & 15].due < heap[child & 15].due)
			child++;
		if (timer.due <= heap[child & 15].due)
			break;
		heap[at & 15] = heap[child & 15];
		at = child;
	}
	heap[at & 15] = timer;
}

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	struct timer *heap = bench_heap;
	u8 periods[32];
	u32 sum = 0;

	for (int i = 0; i < 32; i++)
		periods[i] = in[64 + i] | 1;
	for (u32 i = 0; i < 16; i++) {
		heap[i].due = i < 15 ? in[i] + 1 : ~0u;
		heap[i].id = i;
	}
	for (int i = 6; i >= 0; i--)
		sink(heap, i, heap[i]);
	for (int i = 0; i < 48; i++) {
		struct timer timer = heap[0];

		sum = sum * 7 + timer.id;
		timer.due += periods[(timer.id * 5 + i) & 31];
		sink(heap, 0, timer);
	}
	return sum ^ heap[0].due;
}

BENCH(pqueue);
