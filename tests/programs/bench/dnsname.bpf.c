/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Writes 12 names of DNS messages in lower case, labels behind pointers too. */
#include "bench.h"

u8 bench_message[256] __attribute__((visibility("hidden"))) = { 1, 2 };

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u8 out[128];
	u32 sum = load32(in);

	for (int i = 0; i < 256; i++)
		bench_message[i] = in[i];
	for (int i = 0; i < 128; i++)
		out[i] = 0;
	for (int name = 0; name < 12; name++) {
		u32 at = load32(in + name * 24), to = at;

		for (int label = 0; label < 6; label++) {
			u32 len = bench_message[at & 255];

			if (len >= 0xc0) {
				at = bench_message[(at + 1) & 255] - sum;
				continue;
			}
			len &= 15;
			if (!len)
				break;
			for (u32 i = 0; i < len; i++) {
				u8 c = bench_message[(at + 1 + i) & 255];

				if (c >= 'A' && c <= 'Z')
					c += 'a' - 'A';
				out[to++ & 127] = c;
			}
			out[to++ & 127] = '.';
			at += len + 1;
		}
		sum = sum * 131 + to + out[(to - 2) & 127];
	}
	return sum;
}

BENCH(dnsname);
