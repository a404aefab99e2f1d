/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Header fields as HTTP/2 packs them: indexed and literal ones, integers with prefixes. */
#include "bench.h"

u8 bench_block[512] __attribute__((visibility("hidden"))) = { 1, 2 };

struct cursor {
	u32 at;
	u32 bad;
};

INLINE u32 integer(struct cursor *cursor, u32 bits)
{
	u32 most = (1u << bits) - 1, value = bench_block[cursor->at++ & 511] & most, shift = 0;

	if (value < most)
		return value;
	for (int i = 0; i < 4; i++) {
		u8 c = bench_block[cursor->at++ & 511];

		value += (u32)(c & 127) << shift;
		shift += 7;
		if (!(c & 128))
			return value;
	}
	cursor->bad++;
	return value;
}

INLINE u32 string(struct cursor *cursor)
{
	u32 is_packed = bench_block[cursor->at & 511] & 128, hash = 5381;
	u32 len = integer(cursor, 7) & 7;

	for (u32 i = 0; i < len; i++)
		hash = hash * 33 ^ bench_block[(cursor->at + i) & 511];
	cursor->at += len;
	return is_packed ? ~hash : hash;
}

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	struct cursor cursor = { load32(in + 600), in[604] };
	u32 sum = cursor.at, added = sum, size = sum;

	for (int i = 0; i < 512; i++)
		bench_block[i] = in[i];
	for (int n = 0; n < 24; n++) {
		u8 c = bench_block[cursor.at & 511];

		if (c & 0x80) {
			sum = sum * 31 + integer(&cursor, 7);
		} else if (c & 0x40) {
			u32 name = integer(&cursor, 6);

			if (!name)
				name = string(&cursor);
			sum = sum * 31 + (name ^ string(&cursor));
			added++;
		} else if ((c & 0xe0) == 0x20) {
			size = integer(&cursor, 5);
		} else {
			u32 name = integer(&cursor, 4);

			sum = sum * 31 + name + string(&cursor);
		}
	}
	return sum ^ added << 24 ^ size ^ cursor.at ^ cursor.bad << 8;
}

BENCH(hpack);
