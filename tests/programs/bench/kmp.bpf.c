/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A word of 8 bits in 512, by the automaton of Knuth, Morris and Pratt. */
#include "bench.h"

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u8 next[32];
	u32 state = 0, found = 0;

	for (int i = 0; i < 32; i++)
		next[i] = 0;
	next[0] = !(in[32] & 1);
	next[1] = in[32] & 1;
	for (int i = 1; i < 8; i++) {
		u32 bit = in[32 + i] & 1;

		next[2 * i] = next[2 * state & 31];
		next[2 * i + 1] = next[(2 * state + 1) & 31];
		state = next[(2 * state + bit) & 31];
		next[(2 * i + bit) & 31] = i + 1;
	}
	next[16] = next[2 * state & 31];
	next[17] = next[(2 * state + 1) & 31];
	state = 0;
	for (int i = 0; i < 512; i++) {
		state = next[(2 * state + (in[i] & 1)) & 31];
		found += state >> 3;
	}
	return found << 8 | state;
}

BENCH(kmp);
