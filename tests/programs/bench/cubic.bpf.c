/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A congestion window over 64 acknowledgements: cube roots by Newton's method, and losses. */
#include "bench.h"

struct flow {
	u64 start;
	u32 window, most, k;
};
struct flow bench_flow __attribute__((visibility("hidden"))) = { 1, 1, 1, 1 };

INLINE u32 root3(u64 a)
{
	u32 x = 1;

	for (int bit = 60; bit >= 0; bit -= 3) {
		if (a >> bit) {
			x = 2u << (bit / 3);
			break;
		}
	}
	for (int i = 0; i < 6; i++) {
		u32 next = (2 * (u64)x + a / ((u64)x * x + 1)) / 3;

		if (next >= x)
			break;
		x = next | 1;
	}
	return x;
}

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	struct flow *flow = &bench_flow;
	u32 sum = 0;
	u64 now = load32(in + 608);

	*flow = (struct flow){ 0, 100, 100, 0 };

	for (int n = 0; n < 64; n++) {
		u64 t, offset, delta, target;

		asm volatile("" ::: "memory");
		now += 10 + (in[n] & 63);
		if (in[n + 64] < 12) {
			flow->most = flow->window < flow->most ? flow->window * 1717 / 2048 : flow->window;
			flow->window = flow->window * 717 / 1024 + 2;
			flow->start = 0;
			continue;
		}
		if (!flow->start) {
			flow->start = now;
			flow->k = flow->most > flow->window ? root3((u64)(flow->most - flow->window) * 41943) : 0;
		}
		t = (now - flow->start) * 1024 / 1000;
		offset = t < flow->k ? flow->k - t : t - flow->k;
		if (offset > 4096)
			offset = 4096;
		delta = (410 * offset * offset * offset) >> 40;
		target = t < flow->k ? (u64)flow->most - delta : flow->most + delta;
		if ((u32)target > flow->window)
			flow->window += ((u32)target - flow->window + 7) / 8;
		else
			flow->window += n & 1;
		sum = sum * 31 + flow->window;
	}
	return sum ^ flow->k << 16;
}

BENCH(cubic);
