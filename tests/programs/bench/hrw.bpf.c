/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Chooses one of 12 servers by the highest weighted hash, for 24 flows. */
#include "bench.h"

struct server {
	u32 seed, address;
	u16 weight;
	u8 is_up;
};
struct server bench_servers[12] __attribute__((visibility("hidden"))) = { { 1, 1, 1, 1 } };

INLINE u64 mixed(u64 x)
{
	x ^= x >> 30;
	x *= 0xbf58476d1ce4e5b9;
	x ^= x >> 27;
	x *= 0x94d049bb133111eb;
	return x ^ x >> 31;
}

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 sum = 0;

	for (int i = 0; i < 12; i++) {
		bench_servers[i].seed = load32(in + 8 * i);
		bench_servers[i].address = load32(in + 8 * i + 4);
		bench_servers[i].weight = in[i + 100] + 1;
		bench_servers[i].is_up = in[i + 120] > 40;
	}
	for (int n = 0; n < 24; n++) {
		u64 flow = load64(in + 256 + 16 * n), best = 0;
		u32 chosen = 0;

		for (int i = 0; i < 12; i++) {
			const struct server *server = &bench_servers[i];
			u64 score;

			if (!server->is_up)
				continue;
			score = (mixed(flow ^ server->seed) >> 32) * server->weight;
			if (score > best) {
				best = score;
				chosen = server->address;
			}
		}
		sum = sum * 31 + chosen;
	}
	return sum;
}

BENCH(hrw);
