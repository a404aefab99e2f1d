/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A machine with 8 registers: 192 instructions. */
#include "bench.h"

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 r[8];

	for (int i = 0; i < 8; i++)
		r[i] = i * 3 + 1;
	for (int pc = 0; pc < 192; pc++) {
		u32 code = in[pc * 2], to = code >> 3 & 7;
		u32 a = r[in[pc * 2 + 1] & 7], b = r[in[pc * 2 + 1] >> 3 & 7];

		switch (code & 7) {
		case 0: a += b; break;
		case 1: a -= b; break;
		case 2: a ^= b; break;
		case 3: a &= b; break;
		case 4: a |= b; break;
		case 5: a <<= b & 31; break;
		case 6: a >>= b & 31; break;
		default: a *= b; break;
		}
		r[to] = a;
	}
	return r[0] ^ r[1] ^ r[2] ^ r[3] ^ r[4] ^ r[5] ^ r[6] ^ r[7];
}

BENCH(regvm);
