/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Two records of a ring buffer are passed in one call. */
#include "packet.h"

struct {
	UINT(type, MAP_RINGBUF);
	UINT(max_entries, 4096);
} events SEC(".maps");

struct event {
	u32 before, after;
};

SEC("tc")
int refused(struct __sk_buff *ctx)
{
	u32 *before, *after;
	int sum = 0;

	before = ringbuf_reserve(&events, sizeof(*before), 0);
	if (!before)
		return 0;
	after = ringbuf_reserve(&events, sizeof(*after), 0);
	if (after) {
		*before = ctx->mark;
		*after = ctx->hash;
		sum = csum_diff(before, sizeof(*before), after, sizeof(*after), 0);
		ringbuf_submit(after, 0);
	}
	ringbuf_submit(before, 0);
	return sum > 0;
}

SEC("tc")
int mended(struct __sk_buff *ctx)
{
	struct event *event = ringbuf_reserve(&events, sizeof(*event), 0);
	u32 after;
	int sum;

	if (!event)
		return 0;
	event->before = ctx->mark;
	event->after = after = ctx->hash;
	sum = csum_diff(&event->before, sizeof(event->before), &after, sizeof(after), 0);
	ringbuf_submit(event, 0);
	return sum > 0;
}

LICENSE_GPL;
