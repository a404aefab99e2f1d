/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Writes 12 addresses as decimal numbers with dots, and reads them again. */
#include "bench.h"

u8 bench_text[512] __attribute__((visibility("hidden"))) = { 1, 2 };

INLINE u32 put(u32 to, u32 value)
{
	if (value >= 100) {
		bench_text[to++ & 511] = '0' + value / 100;
		value %= 100;
		bench_text[to++ & 511] = '0' + value / 10;
	} else if (value >= 10) {
		bench_text[to++ & 511] = '0' + value / 10;
	}
	bench_text[to++ & 511] = '0' + value % 10;
	return to;
}

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 first = load32(in + 600), to = first, number = 0, from = first;
	u32 address = first, sum = first;

	for (int n = 0; n < 12; n++) {
		for (int i = 0; i < 4; i++) {
			to = put(to, in[4 * n + i]);
			bench_text[to++ & 511] = i == 3 ? '\n' : '.';
		}
	}
	for (u32 n = 0; n < 192; n++) {
		u32 at = first + n;
		u8 c = bench_text[at & 511];

		if (at == to)
			break;
		if (c >= '0' && c <= '9') {
			number = number * 10 + (c - '0');
			continue;
		}
		if (at - from - 1 > 2 || number > 255)
			return n;
		address = address << 8 | number;
		number = 0;
		from = at + 1;
		if (c == '\n')
			sum = sum * 31 + address;
	}
	return sum ^ to;
}

BENCH(dotted);
