/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* RC4 with a state of 128 bytes: 128 bytes of key stream. */
#include "bench.h"

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u8 state[128];
	u32 j = 0, sum = 0;

	for (int i = 0; i < 128; i++)
		state[i] = i;
	for (int i = 0; i < 128; i++) {
		u8 a = state[i];

		j = (j + a + in[i & 15]) & 127;
		state[i] = state[j];
		state[j] = a;
	}
	j = 0;
	for (int i = 0; i < 128; i++) {
		u8 a = state[i], b;

		j = (j + a) & 127;
		b = state[j];
		state[i] = b;
		state[j] = a;
		sum = sum * 31 + (state[(a + b) & 127] ^ in[i]);
	}
	return sum;
}

BENCH(rc4);
