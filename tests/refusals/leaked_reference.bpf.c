/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A reserved record is neither submitted nor discarded on one path. */
#include "packet.h"

struct {
	UINT(type, MAP_RINGBUF);
	UINT(max_entries, 4096);
} events SEC(".maps");

SEC("tp/sched/sched_switch")
int refused(void *ctx)
{
	u64 *event = ringbuf_reserve(&events, sizeof(*event), 0);

	if (!event)
		return 0;
	if (probe_read_kernel(event, sizeof(*event), ctx))
		return 0;
	ringbuf_submit(event, 0);
	return 0;
}

SEC("tp/sched/sched_switch")
int mended(void *ctx)
{
	u64 *event = ringbuf_reserve(&events, sizeof(*event), 0);

	if (!event)
		return 0;
	if (probe_read_kernel(event, sizeof(*event), ctx)) {
		ringbuf_discard(event, 0);
		return 0;
	}
	ringbuf_submit(event, 0);
	return 0;
}

LICENSE_GPL;
