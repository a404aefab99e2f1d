/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Walks type, length, value records, one level of which is nested. */
#include "bench.h"

u8 bench_records[256] __attribute__((visibility("hidden"))) = { 1, 2 };

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 sum = 0, at = load32(in + 600), inner = at;

	for (int i = 0; i < 256; i++)
		bench_records[i] = in[i];
	for (int n = 0; n < 64; n++) {
		u32 type = bench_records[at & 255], len = bench_records[(at + 1) & 255] & 15;

		if (at - inner < 0x1000 && type & 0x20) {
			inner = at + 2 + len;
			at += 2;
			continue;
		}
		switch (type & 7) {
		case 0:
			at++;
			continue;
		case 1:
			sum += bench_records[(at + 2) & 255];
			break;
		case 2:
			sum += bench_records[(at + 2) & 255] << 8 | bench_records[(at + 3) & 255];
			break;
		case 3:
			for (u32 i = 0; i < len; i++)
				sum = sum * 31 + bench_records[(at + 2 + i) & 255];
			break;
		default:
			sum ^= type << (len & 7);
		}
		at += 2 + len;
	}
	return sum ^ at;
}

BENCH(tlv);
