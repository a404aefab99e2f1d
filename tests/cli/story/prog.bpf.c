/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Refused: what was known is lost, or what was begun does not end, at another insn. Built with the
 * flags of tests/programs/build.sh. */
#include "../../programs/include/packet.h"

struct {
	UINT(type, MAP_RINGBUF);
	UINT(max_entries, 4096);
} events SEC(".maps");

/* The pointer is of the packet as it was. */
SEC("xdp")
int moved(struct xdp_md *ctx)
{
	u8 *data = (void *)(long)ctx->data;
	u8 *end = (void *)(long)ctx->data_end;

	if (data + 1 > end)
		return XDP_DROP;
	if (xdp_adjust_head(ctx, -1))
		return XDP_DROP;
	return *data ? XDP_PASS : XDP_DROP;
}

/* The record belongs to the ring buffer. */
SEC("xdp")
int submitted(struct xdp_md *ctx)
{
	u64 *event = ringbuf_reserve(&events, 8, 0);

	if (!event)
		return XDP_PASS;
	ringbuf_submit(event, 0);
	*event = 1;
	return XDP_PASS;
}

/* One that is passed on twice is a copy of what is lost. */
SEC("xdp")
int submitted_twice(struct xdp_md *ctx)
{
	u64 *event = ringbuf_reserve(&events, 8, 0);

	if (!event)
		return XDP_PASS;
	ringbuf_submit(event, 0);
	ringbuf_submit(event, 0);
	return XDP_PASS;
}

/* Nobody submits what was reserved. */
SEC("xdp")
int kept(struct xdp_md *ctx)
{
	u64 *event = ringbuf_reserve(&events, 8, 0);

	if (!event)
		return XDP_PASS;
	*event = 1;
	return XDP_PASS;
}

/* A call clears the registers of arguments. */
SEC("xdp")
int cleared(struct xdp_md *ctx)
{
	u64 result;

	asm volatile("r2 = 7\n"
		     "call 5\n" /* ktime_get_ns */
		     "%0 = r2\n"
		     : "=r"(result) : : "r0", "r1", "r2", "r3", "r4", "r5");
	return result;
}

LICENSE_GPL;
