/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Heap sort of 32 numbers. */
#include "bench.h"

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 heap[64], sum = 0;

	for (int i = 0; i < 32; i++) {
		u32 at = i, value = load32(in + 4 * i);

		for (int up = 0; up < 5 && at; up++) {
			u32 parent = (at - 1) >> 1;
			u32 other = heap[parent & 31];

			if (other <= value)
				break;
			heap[at & 31] = other;
			at = parent;
		}
		heap[at & 31] = value;
	}
	for (int i = 31; i > 0; i--) {
		u32 value = heap[i & 31], at = 0;

		sum = sum * 31 + heap[0];
		for (int down = 0; down < 5; down++) {
			u32 child = 2 * at + 1;

			if (child >= i)
				break;
			if (child + 1 < i && heap[(child + 1) & 31] < heap[child & 31])
				child++;
			if (value <= heap[child & 31])
				break;
			heap[at & 31] = heap[child & 31];
			at = child;
		}
		heap[at & 31] = value;
	}
	return sum;
}

BENCH(heapsort);
