/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Picks a server for 16 flows by their hash, from a table of 64. */
#include "bench.h"

u8 bench_servers[64] __attribute__((visibility("hidden"))) = { 1 };

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 loads[8], sum = 0;

	for (u32 i = 0; i < 64; i++)
		bench_servers[i] = i * 0x9e3779b1 >> 29;
	for (int i = 0; i < 8; i++)
		loads[i] = 0;
	for (int i = 0; i < 16; i++) {
		const u8 *flow = in + 60 * i;
		u32 a = load32(flow + 12) + 0xdeadbeef, b = load32(flow + 16), server;

		a = (a ^ rotl32(b, 14)) * 0x85ebca6b;
		b = (b ^ load32(flow + 20)) - rotl32(a, 11);
		a ^= b >> 15;
		server = bench_servers[a & 63] & 7;
		if (loads[server] > 3)
			server = bench_servers[b & 63] & 7;
		loads[server]++;
		sum = sum * 9 + server;
	}
	return sum;
}

BENCH(maglev);
