/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Sorts 64 numbers in a ring that starts anywhere, by merging runs of 1, 2, 4 and so on. */
#include "bench.h"

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 numbers[64], sum = 0, base = load32(in + 600);
	u32 *to = (u32 *)scratch;

	for (int i = 0; i < 64; i++)
		numbers[i] = load32(in + 4 * i) >> 4;
	for (u32 width = 1; width < 64; width *= 2) {
		for (u32 start = 0; start < 64; start += 2 * width) {
			u32 a = base + start, b = a + width;
			u32 mid = b, end = b + width;

			for (u32 k = 0; k < 2 * width; k++) {
				u32 left = numbers[a & 63], right = numbers[b & 63];

				if (a != mid && (b == end || left <= right)) {
					to[start + k] = left;
					a++;
				} else {
					to[start + k] = right;
					b++;
				}
			}
		}
		for (int i = 0; i < 64; i++)
			numbers[(base + i) & 63] = to[i];
	}
	for (int i = 0; i < 64; i++)
		sum = sum * 3 + numbers[i];
	return sum;
}

BENCH(merge);
