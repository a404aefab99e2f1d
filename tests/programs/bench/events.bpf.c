/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A ring of 16 structs: 40 events go in, those that are old enough come out. */
#include "bench.h"

struct event {
	u64 time;
	u32 id;
	u16 length;
	u8 kind;
	u8 flags;
};

struct event bench_ring[16] __attribute__((visibility("hidden"))) = { { 1 } };
u32 bench_bytes[4] __attribute__((visibility("hidden"))) = { 1 };

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 head = load32(in + 600), tail = head, lost = head;
	u64 now = load64(in + 608), waited = now;

	for (int i = 0; i < 4; i++)
		bench_bytes[i] = 0;
	for (int i = 0; i < 40; i++) {
		struct event *e = &bench_ring[head & 15];

		now += in[i] & 31;
		if (head - tail < 16) {
			e->time = now;
			e->id = load32(in + 4 * i);
			e->length = e->id >> 16 & 1023;
			e->kind = in[i] & 3;
			e->flags = in[i + 1] >> 6;
			head++;
		} else {
			lost++;
		}
		e = &bench_ring[tail & 15];
		if (tail != head && now - e->time >= 60) {
			if (e->flags != 3)
				bench_bytes[e->kind & 3] += e->length;
			waited += now - e->time;
			tail++;
		}
	}
	return bench_bytes[0] ^ bench_bytes[1] << 8 ^ bench_bytes[2] << 16 ^ lost << 5 ^ (u32)waited;
}

BENCH(events);
