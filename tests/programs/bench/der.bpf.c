/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Lengths of ASN.1 in their short and long forms, and integers of that length. */
#include "bench.h"

u8 bench_der[256] __attribute__((visibility("hidden"))) = { 1, 2 };

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 at = load32(in + 600);
	u64 sum = at;

	for (int i = 0; i < 256; i++)
		bench_der[i] = in[256 + i];
	for (int n = 0; n < 48; n++) {
		u32 tag = bench_der[at & 255], len = bench_der[(at + 1) & 255];
		s64 value = 0;

		at += 2;
		if (len & 0x80) {
			u32 count = len & 3;

			len = 0;
			while (count--)
				len = len << 8 | bench_der[at++ & 255];
		}
		len &= 7;
		if ((tag & 0x1f) == 2 || tag & 1)
			value = (s8)bench_der[at & 255] >> 7;
		for (u32 i = 0; i < len; i++)
			value = value << 8 | bench_der[(at + i) & 255];
		at += len;
		sum = sum * 3 + value;
	}
	return sum ^ sum >> 32;
}

BENCH(der);
