/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* 256 hexadecimal digits to bytes, with upper and lower case, other bytes skipped. */
#include "bench.h"

const u8 bench_digits[32] __attribute__((visibility("hidden"))) = "0123456789abcdefABCDEF:x01234567";

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 sum = 0, value = 0, digits = load32(in + 600), wrong = digits;

	for (int i = 0; i < 256; i++) {
		u8 c = bench_digits[in[i] & 31];
		u32 digit;

		if (c >= '0' && c <= '9') {
			digit = c - '0';
		} else if (c >= 'a' && c <= 'f') {
			digit = c - 'a' + 10;
		} else if (c >= 'A' && c <= 'F') {
			digit = c - 'A' + 10;
		} else {
			wrong++;
			continue;
		}
		value = value << 4 | digit;
		if (++digits & 1)
			continue;
		sum = sum * 33 + (value & 0xff);
	}
	return sum ^ wrong << 16;
}

BENCH(hex);
