/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Moves to the front: 64 symbols of 32, their places to a file of bits. */
#include "bench.h"

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u8 order[32];
	u64 bits = 0;
	u32 held = 0, to = 0, sum = 0;

	for (int i = 0; i < 32; i++)
		order[i] = i;
	for (int i = 0; i < 64; i++) {
		u8 symbol = in[i] & 31, before = order[0];
		u32 place = 0;

		while (before != symbol && place < 31) {
			u8 next = order[(place + 1) & 31];

			order[(place + 1) & 31] = before;
			before = next;
			place++;
		}
		order[0] = symbol;
		bits |= (u64)place << held;
		held += 5;
		while (held >= 8) {
			scratch[to++ & 255] = bits;
			bits >>= 8;
			held -= 8;
		}
		sum = sum * 7 + place;
	}
	return sum ^ to << 16 ^ order[7] << 8;
}

BENCH(mtf);
