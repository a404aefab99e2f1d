/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A machine of 16 operations, 512 steps. */
#include "bench.h"

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 a = in[0], b = in[1];

	for (int i = 0; i < 512; i++) {
		u32 operand = in[i] >> 4;

		switch (in[i] & 15) {
		case 0: a += operand; break;
		case 1: a -= b; break;
		case 2: a ^= b + operand; break;
		case 3: b = a; break;
		case 4: a = b << (operand & 7); break;
		case 5: a >>= operand & 7; break;
		case 6: b += a * 3; break;
		case 7: b ^= operand; break;
		case 8: a = ~a; break;
		case 9: b -= operand; break;
		case 10: a |= b; break;
		case 11: a &= b | 1; break;
		case 12: a = a * b + 1; break;
		case 13: b = b * 5 + a; break;
		case 14: a = -a; break;
		default: b = rotl32(b, 5); break;
		}
	}
	return a ^ b;
}

BENCH(switch_);
