/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Token buckets of 32 flows: 192 packets at their times, with divisions. */
#include "bench.h"

struct bucket {
	u64 last, tokens;
	u32 rate, burst, passed, dropped;
};
struct bucket bench_buckets[32] __attribute__((visibility("hidden"))) = { { 1, 1, 1, 1, 1, 1 } };

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u64 now = 1000000;
	u32 sum = 0;

	for (int i = 0; i < 32; i++)
		bench_buckets[i] = (struct bucket){ now, 1500, in[i] + 1, 3000, 0, 0 };
	for (int n = 0; n < 192; n++) {
		struct bucket *bucket = &bench_buckets[in[n + 64] & 31];
		u32 len = 64 + 4 * in[n + 256];

		now += 100 + in[n + 512];
		bucket->tokens += (now - bucket->last) * bucket->rate / 1000;
		if (bucket->tokens > bucket->burst)
			bucket->tokens = bucket->burst;
		bucket->last = now;
		if (bucket->tokens >= len) {
			bucket->tokens -= len;
			bucket->passed++;
		} else {
			bucket->dropped++;
		}
	}
	for (int i = 0; i < 32; i++)
		sum = sum * 7 + bench_buckets[i].passed * 256 + bench_buckets[i].dropped;
	return sum;
}

BENCH(bucket);
