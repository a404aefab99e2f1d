/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* RC5 with 12 rounds: a key of 16 bytes spread, then 4 blocks. */
#include "bench.h"

INLINE u32 turned(u32 x, u32 by)
{
	by &= 31;
	return x << by | x >> (-by & 31);
}

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 keys[26], key[4], a = 0, b = 0, sum = 0;

	for (int i = 0; i < 4; i++)
		key[i] = load32(in + 4 * i);
	keys[0] = 0xb7e15163;
	for (int i = 1; i < 26; i++)
		keys[i] = keys[i - 1] + 0x9e3779b9;
	for (int i = 0, k = 0; i < 26; i++, k = (k + 1) & 3) {
		a = keys[i] = turned(keys[i] + a + b, 3);
		b = key[k] = turned(key[k] + a + b, a + b);
	}
	for (int block = 0; block < 4; block++) {
		u32 left = load32(in + 64 + 8 * block) + keys[0];
		u32 right = load32(in + 68 + 8 * block) + keys[1];

		for (int round = 2; round < 26; round += 2) {
			left = turned(left ^ right, right) + keys[round];
			right = turned(right ^ left, left) + keys[round + 1];
		}
		sum = sum * 3 + (left ^ right);
	}
	return sum;
}

BENCH(rc5);
