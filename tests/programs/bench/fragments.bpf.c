/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Reassembles 8 datagrams from 96 fragments: holes in bit maps of blocks of eight bytes. */
#include "bench.h"

struct datagram {
	u64 seen;
	u32 key, time;
	u16 bytes;
	u8 has_last, parts;
};
struct datagram bench_datagrams[8] __attribute__((visibility("hidden"))) = { { 1, 1, 1, 1, 1, 1 } };

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 done = load32(in + 600), overlaps = done, sum = done;

	for (int i = 0; i < 8; i++)
		bench_datagrams[i] = (struct datagram){ 0, 0, 0, 0, 0, 0 };
	for (u32 n = 0; n < 96; n++) {
		u32 key = in[n] & 31, first = in[n + 128] & 63, blocks = (in[n + 256] & 15) + 4;
		struct datagram *datagram = &bench_datagrams[key & 7];
		u64 mask;

		if (datagram->key != key || n - datagram->time > 48) {
			datagram->key = key;
			datagram->seen = 0;
			datagram->has_last = datagram->parts = 0;
			datagram->bytes = 0;
		}
		if (in[n + 384] & 1)
			first = datagram->bytes >> 3 & 63;
		if (first + blocks > 64)
			blocks = 64 - first;
		mask = (~0ull >> (64 - blocks)) << first;
		if (datagram->seen & mask)
			overlaps++;
		datagram->seen |= mask;
		datagram->time = n;
		datagram->parts++;
		if (in[n + 512] < 64 || first + blocks == 64)
			datagram->has_last = 1;
		if (first + blocks > datagram->bytes >> 3)
			datagram->bytes = (first + blocks) << 3;
		if (datagram->has_last && !(datagram->seen & (datagram->seen + 1))) {
			done++;
			sum = sum * 31 + datagram->bytes + datagram->parts;
			datagram->seen = 0;
			datagram->has_last = 0;
		}
	}
	return sum ^ done << 16 ^ overlaps;
}

BENCH(fragments);
