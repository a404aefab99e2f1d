/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A ring of records of several lengths: appended at one end, dropped at the other. */
#include "bench.h"

u32 bench_ring[128] __attribute__((visibility("hidden"))) = { 1, 2 };

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 head = load32(in + 600), tail = head, sum = 0, dropped = head;

	for (int n = 0; n < 96; n++) {
		u32 words = (in[n] & 7) + 1, seed = load32(in + 4 * n + 128);

		for (int i = 0; i < 8; i++) {
			u32 old = bench_ring[tail & 127];

			if (head - tail + words + 1 <= 128)
				break;
			tail += (old & 7) + 2;
			dropped++;
		}
		bench_ring[head & 127] = words - 1;
		for (u32 i = 0; i < words; i++)
			bench_ring[(head + 1 + i) & 127] = seed + i;
		head += words + 1;
	}
	for (u32 i = 0; i < 128; i++)
		sum = sum * 9 + bench_ring[(tail + i) & 127];
	return sum ^ dropped;
}

BENCH(ringlog);
