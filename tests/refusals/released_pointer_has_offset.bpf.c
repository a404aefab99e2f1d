/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A record is given back by its second word. */
#include "packet.h"

struct {
	UINT(type, MAP_RINGBUF);
	UINT(max_entries, 4096);
} events SEC(".maps");

SEC("xdp")
int refused(struct xdp_md *ctx)
{
	u64 *event = ringbuf_reserve(&events, 16, 0);

	if (!event)
		return XDP_PASS;
	ringbuf_submit(event + 1, 0);
	return XDP_PASS;
}

SEC("xdp")
int mended(struct xdp_md *ctx)
{
	u64 *event = ringbuf_reserve(&events, 16, 0);

	if (!event)
		return XDP_PASS;
	ringbuf_submit(event, 0);
	return XDP_PASS;
}

LICENSE_GPL;
