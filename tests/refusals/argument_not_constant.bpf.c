/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A record of a size that is only known when the program runs. */
#include "packet.h"

struct {
	UINT(type, MAP_RINGBUF);
	UINT(max_entries, 4096);
} events SEC(".maps");

SEC("tp/sched/sched_switch")
int refused(void *ctx)
{
	void *event = ringbuf_reserve(&events, get_prandom_u32() & 63, 0);

	if (event)
		ringbuf_discard(event, 0);
	return 0;
}

SEC("tp/sched/sched_switch")
int mended(void *ctx)
{
	void *event = ringbuf_reserve(&events, 64, 0);

	if (event)
		ringbuf_discard(event, 0);
	return 0;
}

LICENSE_GPL;
