/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Refused, in loops: a comparison of which the compiler makes another one, a counter in memory, a way out
 * that is chosen before it is taken, and no end; and an access before the memory, and a store to a context
 * that is only read. mended/rounds.bpf.c does what the helps say. Built with the flags of
 * tests/programs/build.sh. */
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

/* Each round is compared, but the packet may be longer than comparisons count. */
SEC("xdp")
int to_the_end(struct xdp_md *ctx)
{
	u8 *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	u32 sum = 0;

#ifdef MENDED
	int i = 0;

	for (u8 *p = data; i < 1000 && p + 64 <= end; p += 64, i++)
#else
	for (u8 *p = data; p + 64 <= end; p += 64)
#endif
		sum += p[31];
	return sum & 1 ? XDP_DROP : XDP_PASS;
}

u8 places[64];

/* The index has an upper bound, and none below. */
SEC("xdp")
int below_start(struct xdp_md *ctx)
{
	long i = (long)(ctx->rx_queue_index & 255) - 10;

#ifdef MENDED
	if (i < 0 || i >= 64)
#else
	if (i >= 64)
#endif
		return XDP_PASS;
	return places[i] ? XDP_DROP : XDP_PASS;
}

/* Counted from 1. */
SEC("xdp")
int before_first(struct xdp_md *ctx)
{
#ifdef MENDED
	volatile u8 *first = places;
#else
	volatile u8 *first = places - 1;
#endif

	return *first ? XDP_DROP : XDP_PASS;
}

/* The text may have no end. */
SEC("xdp")
int text_without_end(struct xdp_md *ctx)
{
	u8 *text = places;
	int length = 0;

#ifdef MENDED
	while (length < 64 && *text) {
#else
	while (*text) {
#endif
		text++;
		length++;
	}
	return length & 1 ? XDP_DROP : XDP_PASS;
}

/* Registers are only read. */
SEC("kprobe")
int sets_register(struct pt_regs *ctx)
{
#ifndef MENDED
	ctx->di = 3;
#endif
	return 0;
}

LICENSE_GPL;
