/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A table with two places a key: 40 keys put in, each moving others out of the way, 64 looked up. */
#include "bench.h"

INLINE u32 first(u32 key)
{
	return key * 0x9e3779b1 >> 26;
}

INLINE u32 second(u32 key)
{
	return (key ^ key >> 7) * 0x85ebca6b >> 26;
}

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 table[64], lost = 0, found = 0;

	for (int i = 0; i < 64; i++)
		table[i] = 0;
	for (int i = 0; i < 40; i++) {
		u32 key = load32(in + 3 * i) | 1, at = first(key);

		for (int tries = 0; tries < 6 && key; tries++) {
			u32 other = table[at & 63];

			table[at & 63] = key;
			if (other == key)
				other = 0;
			key = other;
			at = first(key) == at ? second(key) : first(key);
		}
		lost += key != 0;
	}
	for (int i = 0; i < 64; i++) {
		u32 key = load32(in + 3 * (i + 10)) | 1;

		if (table[first(key) & 63] == key || table[second(key) & 63] == key)
			found += i + 1;
	}
	return found ^ lost << 24;
}

BENCH(cuckoo);
