/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Programs of ../prog.bpf.c with the lines that their helps ask for. Accepted. Built with the flags
 * of tests/programs/build.sh. */
#include "../../../programs/include/packet.h"

struct {
	UINT(type, MAP_RINGBUF);
	UINT(max_entries, 4096);
} events SEC(".maps");

SEC("xdp")
int moved(struct xdp_md *ctx)
{
	u8 *data = (void *)(long)ctx->data;
	u8 *end = (void *)(long)ctx->data_end;

	if (data + 1 > end)
		return XDP_DROP;
	if (xdp_adjust_head(ctx, -1))
		return XDP_DROP;
	data = (void *)(long)ctx->data;
	end = (void *)(long)ctx->data_end;
	if (data + 1 > end)
		return XDP_DROP;
	return *data ? XDP_PASS : XDP_DROP;
}

SEC("xdp")
int submitted(struct xdp_md *ctx)
{
	u64 *event = ringbuf_reserve(&events, 8, 0);

	if (!event)
		return XDP_PASS;
	*event = 1;
	ringbuf_submit(event, 0);
	return XDP_PASS;
}

SEC("xdp")
int submitted_twice(struct xdp_md *ctx)
{
	u64 *event = ringbuf_reserve(&events, 8, 0);

	if (!event)
		return XDP_PASS;
	ringbuf_submit(event, 0);
	return XDP_PASS;
}

SEC("xdp")
int kept(struct xdp_md *ctx)
{
	u64 *event = ringbuf_reserve(&events, 8, 0);

	if (!event)
		return XDP_PASS;
	*event = 1;
	ringbuf_submit(event, 0);
	return XDP_PASS;
}

SEC("xdp")
int cleared(struct xdp_md *ctx)
{
	u64 result;

	asm volatile("r6 = 7\n"
		     "call 5\n" /* ktime_get_ns */
		     "%0 = r6\n"
		     : "=r"(result) : : "r0", "r1", "r2", "r3", "r4", "r5", "r6");
	return result;
}

LICENSE_GPL;
