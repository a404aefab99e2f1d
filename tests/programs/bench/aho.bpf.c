/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Finds several words at once in 400 bytes: goto and failure links in tables. */
#include "bench.h"

struct place {
	u8 next[4];
	u8 fail, word;
};
struct place bench_places[64] __attribute__((visibility("hidden"))) = { { { 1 }, 1, 1 } };

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 at = in[600] & 1, found = load32(in + 604), sum = found;

	for (int i = 0; i < 64; i++) {
		for (int k = 0; k < 4; k++)
			bench_places[i].next[k] = i && in[4 * i + k] & 1 ? 0 : in[4 * i + k] & 63;
		bench_places[i].fail = i ? in[i + 256] % i : 0;
		bench_places[i].word = in[i + 320] < 48 ? i : 0;
	}
	for (int n = 0; n < 200; n++) {
		u32 letter = in[n + 400] >> 3 & 3;

		for (int i = 0; i < 6; i++) {
			const struct place *place = &bench_places[at & 63];

			if (place->next[letter]) {
				at = place->next[letter];
				break;
			}
			if (!(at & 63))
				break;
			at = place->fail;
		}
		if (bench_places[at & 63].word) {
			found++;
			sum = sum * 31 + bench_places[at & 63].word + n;
		}
	}
	return sum ^ found << 24;
}

BENCH(aho);
