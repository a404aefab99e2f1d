/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The largest of the last 16 of 256 round-trip times, with a queue of candidates. */
#include "bench.h"

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 head = load32(in + 600), tail = head, sum = head;
	u16 at[32], value[32];

	for (int i = 0; i < 32; i++)
		at[i] = value[i] = 0;
	for (u32 n = 0; n < 256; n++) {
		u16 x = in[n] << 3 | in[n + 256] >> 5;

		if (head != tail && (u16)(n - at[head & 31]) >= 16)
			head++;
		for (int i = 0; i < 16; i++) {
			if (head == tail || value[(tail - 1) & 31] > x)
				break;
			tail--;
		}
		at[tail & 31] = n;
		value[tail & 31] = x;
		tail++;
		sum = sum * 3 + value[head & 31];
	}
	return sum ^ tail;
}

BENCH(window);
