/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A wheel of 32 lists of timers: 48 are started, some stopped, 48 ticks. */
#include "bench.h"

struct timer {
	u16 expires;
	u8 next, prev, is_pending, rounds;
};
struct timer bench_timers[64] __attribute__((visibility("hidden"))) = { { 1, 1, 1, 1, 1 } };
u8 bench_wheel[32] __attribute__((visibility("hidden"))) = { 1 };

INLINE void start(u32 at, u32 expires)
{
	u32 first = bench_wheel[expires & 31];
	struct timer *timer = &bench_timers[at & 63];

	timer->expires = expires;
	timer->next = first;
	timer->prev = 255;
	timer->is_pending = 1;
	if (first != 255)
		bench_timers[first & 63].prev = at;
	bench_wheel[expires & 31] = at;
}

INLINE void stop(u32 at)
{
	struct timer *timer = &bench_timers[at & 63];

	if (timer->next != 255)
		bench_timers[timer->next & 63].prev = timer->prev;
	if (timer->prev != 255)
		bench_timers[timer->prev & 63].next = timer->next;
	else
		bench_wheel[timer->expires & 31] = timer->next;
	timer->is_pending = 0;
}

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 fired = load32(in + 600), sum = fired;

	for (int i = 0; i < 32; i++)
		bench_wheel[i] = 255;
	for (u32 i = 0; i < 48; i++) {
		bench_timers[i].rounds = in[i + 200] & 3;
		start(i, 1 + in[i] % 60);
	}
	for (u32 now = 1; now <= 48; now++) {
		u32 at = bench_wheel[now & 31];

		for (int i = 0; i < 8; i++) {
			struct timer *timer;
			u32 next;

			if (at == 255)
				break;
			timer = &bench_timers[at & 63];
			next = timer->next;
			if (timer->expires == now) {
				stop(at);
				fired++;
				sum = sum * 31 + at;
				if (timer->rounds) {
					timer->rounds--;
					start(at, now + 3 + (at & 15));
				}
			}
			at = next;
		}
		if (in[now] & 1 && bench_timers[in[now + 64] & 31].is_pending)
			stop(in[now + 64] & 31);
	}
	return sum ^ fired << 24;
}

BENCH(wheel);
