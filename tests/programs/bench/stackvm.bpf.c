/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A machine with a stack: 192 instructions. */
#include "bench.h"

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 stack[16], top = in[200] & 15;

	for (int i = 0; i < 16; i++)
		stack[i] = i;
	for (int pc = 0; pc < 192; pc++) {
		u32 code = in[pc], a = stack[top], b = stack[(top - 1) & 15];

		switch (code & 7) {
		case 0:
			stack[top = (top + 1) & 15] = code >> 3;
			break;
		case 1:
			stack[top = (top - 1) & 15] = b + a;
			break;
		case 2:
			stack[top = (top - 1) & 15] = b - a;
			break;
		case 3:
			stack[top = (top - 1) & 15] = b * a;
			break;
		case 4:
			stack[top = (top + 1) & 15] = a;
			break;
		case 5:
			stack[top] = b;
			stack[(top - 1) & 15] = a;
			break;
		case 6:
			stack[top] = ~a;
			break;
		default:
			stack[top] = b > a ? code : a >> 1;
			break;
		}
	}
	return stack[0] ^ stack[5] * 3 ^ stack[10] * 5 ^ stack[15] * 7 ^ top;
}

BENCH(stackvm);
