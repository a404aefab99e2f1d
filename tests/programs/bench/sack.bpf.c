/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Ranges of received data: 24 segments are merged into at most 8 ranges in order. */
#include "bench.h"

struct range {
	u32 start, end;
};
struct range bench_ranges[9] __attribute__((visibility("hidden"))) = { { 1, 1 } };
u32 bench_count __attribute__((visibility("hidden"))) = 1;

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	struct range *r = bench_ranges;
	u32 next = load32(in + 600), lost = next, sum = next;

	bench_count = 0;
	for (int i = 0; i < 9; i++)
		r[i] = (struct range){ 0, 0 };
	for (int n = 0; n < 24; n++) {
		u32 start = next + (in[n] & 15) * 100, end = start + 100 + (in[n + 64] & 1) * 100;
		u32 at = 0, to;

		asm volatile("" ::: "memory");
		for (int i = 0; i < 8; i++) {
			if (at >= bench_count || r[at & 7].end >= start)
				break;
			at++;
		}
		if (at < bench_count && r[at & 7].start <= end) {
			to = at;
			for (int i = 0; i < 8; i++) {
				if (to >= bench_count || r[to & 7].start > end)
					break;
				if (r[to & 7].start < start)
					start = r[to & 7].start;
				if (r[to & 7].end > end)
					end = r[to & 7].end;
				to++;
			}
			r[at & 7] = (struct range){ start, end };
			for (int i = 0; i < 8; i++) {
				if (to >= bench_count)
					break;
				at++;
				r[at & 7] = r[to & 7];
				to++;
			}
			bench_count = at + 1;
		} else if (bench_count < 8) {
			for (u32 i = bench_count; i > at && i < 9; i--)
				r[i & 7] = r[(i - 1) & 7];
			r[at & 7] = (struct range){ start, end };
			bench_count++;
		} else {
			lost++;
		}
		if (bench_count && r[0].start <= next) {
			next = r[0].end;
			for (int i = 0; i < 8; i++)
				r[i] = r[i + 1];
			bench_count--;
		}
		sum = sum * 31 + next + bench_count;
	}
	return sum ^ lost << 24;
}

BENCH(sack);
