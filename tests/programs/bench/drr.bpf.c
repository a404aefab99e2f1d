/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Deficit round robin over 16 queues of 8 packets: 128 arrive, as many are sent as fit. */
#include "bench.h"

struct queue {
	u16 lengths[8];
	u32 head, tail;
	int deficit;
	u32 bytes;
};
struct queue bench_queues[16] __attribute__((visibility("hidden"))) = { { { 1 }, 1, 1, 1, 1 } };

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 dropped = load32(in + 600), turn = dropped, sum = 0;

	for (int i = 0; i < 16; i++) {
		bench_queues[i].head = bench_queues[i].tail = 0;
		bench_queues[i].deficit = 0;
		bench_queues[i].bytes = 0;
	}
	for (int n = 0; n < 128; n++) {
		struct queue *queue = &bench_queues[in[n] & 15];

		if (queue->tail - queue->head < 8) {
			queue->lengths[queue->tail & 7] = 64 + 5 * in[n + 128];
			queue->tail++;
		} else {
			dropped++;
		}
		if (n & 1)
			continue;
		for (int tries = 0; tries < 16; tries++) {
			queue = &bench_queues[turn & 15];
			if (queue->head == queue->tail) {
				queue->deficit = 0;
				turn++;
				continue;
			}
			if (queue->deficit < queue->lengths[queue->head & 7]) {
				queue->deficit += 600;
				turn++;
				continue;
			}
			queue->deficit -= queue->lengths[queue->head & 7];
			queue->bytes += queue->lengths[queue->head & 7];
			queue->head++;
			break;
		}
	}
	for (int i = 0; i < 16; i++)
		sum = sum * 11 + bench_queues[i].bytes + bench_queues[i].deficit;
	return sum ^ dropped << 20;
}

BENCH(drr);
