/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A record of 4 GiB and 8 bytes is asked for, of which earlier kernels take the lower half. */
#include "packet.h"

struct {
	UINT(type, MAP_RINGBUF);
	UINT(max_entries, 4096);
} events SEC(".maps");

SEC("tc")
int refused(struct __sk_buff *ctx)
{
	u64 *event = ringbuf_reserve(&events, (1ULL << 32) + sizeof(*event), 0);

	if (!event)
		return 0;
	*event = ctx->len;
	ringbuf_submit(event, 0);
	return 0;
}

SEC("tc")
int mended(struct __sk_buff *ctx)
{
	u64 *event = ringbuf_reserve(&events, sizeof(*event), 0);

	if (!event)
		return 0;
	*event = ctx->len;
	ringbuf_submit(event, 0);
	return 0;
}

LICENSE_GPL;
