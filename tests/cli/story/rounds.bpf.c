/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Refused, in loops: a comparison of which the compiler makes another one, a counter in memory, and a way
 * out that is chosen before it is taken. mended/rounds.bpf.c does what the helps say. Built with the flags of tests/programs/build.sh. */
#include "../../programs/include/packet.h"

/* The compiler compares lengths, once before the loop. */
SEC("xdp")
int compared_in_loop(struct xdp_md *ctx)
{
	u8 *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	u64 sum = 0;

	if (data + 64 > end)
		return XDP_PASS;
	for (u64 i = 0; i < data[0]; i++) {
#ifdef MENDED
		u8 *p = &data[i];

		asm volatile("" : "+r"(p));
		if (p + 1 > end)
			return XDP_PASS;
		sum += *p;
#else
		if (&data[i] + 1 > end)
			return XDP_PASS;
		sum += data[i];
#endif
	}
	return sum & 1 ? XDP_DROP : XDP_PASS;
}

/* The counter is read from memory, and its sign extended. */
SEC("tc")
int counter_in_memory(struct __sk_buff *skb)
{
	volatile s16 i = 0;

#ifdef MENDED
	for (int n = 0; n < 10 && i < 10; n++)
#else
	while (i < 10)
#endif
		i++;
	return skb->len;
}

struct {
	UINT(type, MAP_RINGBUF);
	UINT(max_entries, 4096);
} events SEC(".maps");

/* As compilers number the ways that go on after what both sides of a branch have in common. */
SEC("tc")
int way_by_number(struct __sk_buff *skb)
{
#pragma clang loop unroll(disable)
	for (u32 i = 0; i < 3; i++) {
		u64 *event = ringbuf_reserve(&events, 8, 0);
		u64 way;

		if (!event)
			continue;
		*event = i;
		asm volatile("%0 = 1" : "=r"(way));
		if (skb->mark != i) {
			ringbuf_submit(event, 0);
			asm volatile("%0 = 2" : "=r"(way));
		}
#ifdef MENDED
		else {
			ringbuf_discard(event, 0);
		}
#endif
		if (way == 1)
			break;
	}
	return 0;
}

LICENSE_GPL;
