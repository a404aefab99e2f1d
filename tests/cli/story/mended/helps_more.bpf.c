/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The programs of ../helps_more.bpf.c with the lines that their helps ask for. Accepted. Built with
 * the flags of tests/programs/build.sh. */
#include "../../../programs/include/packet.h"

static u64 (*const get_current_task)(void) = (void *)35;

char text[256];
u32 places[64];
u64 limit;
volatile u64 asked;

static NOINLINE u64 unknown(u64 n)
{
	return n > 7 ? 3 : n;
}

SEC("tc")
int added_again(struct __sk_buff *skb)
{
	u64 at = asked;

	if (at >= 256)
		return 0;
	return text[at];
}

SEC("tc")
int added_result(struct __sk_buff *skb)
{
	return text[unknown(skb->hash)];
}

static long each(u64 at, u64 *sum)
{
	if (at >= 256)
		return 1;
	*sum += text[at];
	return 0;
}

SEC("tc")
int added_argument(struct __sk_buff *skb)
{
	u64 sum = 0;

	loop(64, each, &sum, 0);
	return sum & 1;
}

SEC("tc")
int added_unknown(struct __sk_buff *skb)
{
	u64 at = asked, most = limit;

	if (at >= most || at >= 256)
		return 0;
	return text[at];
}

SEC("tc")
int added_copy(struct __sk_buff *skb)
{
	u64 at = asked;

	asm volatile("" : "+r"(at));
	if (at >= 256)
		return 0;
	return text[at];
}

SEC("kprobe")
int length_again(struct pt_regs *regs)
{
	u64 len = asked;

	if (len - 1 > 255)
		return 0;
	asm volatile("" : "+r"(len));
	if (!len || len > 256)
		return 0;
	return probe_read_kernel(text, len, (void *)regs->si);
}

SEC("kprobe")
int length_result(struct pt_regs *regs)
{
	return probe_read_kernel(text, unknown(regs->dx) + 1, (void *)regs->si);
}

SEC("kprobe")
int length_unknown(struct pt_regs *regs)
{
	u64 len = asked & 0x7fffffff, most = limit;

	if (!len || len >= most || len > 256)
		return 0;
	return probe_read_kernel(text, len, (void *)regs->si);
}

SEC("kprobe")
int length_copy(struct pt_regs *regs)
{
	u64 raw = regs->dx, other = raw & 0xffff, len = raw & 0x7fffffff;

	asm volatile("" : "+r"(len));
	if (other > 255 || len > 255)
		return 0;
	return probe_read_kernel(text, len + 1, (void *)regs->si);
}

SEC("kprobe")
int current_task(struct pt_regs *regs)
{
	u32 value;

	if (probe_read_kernel(&value, sizeof(value), (void *)get_current_task()))
		return 0;
	return value;
}

SEC("kprobe")
int address(struct pt_regs *regs)
{
	u32 value;

	if (probe_read_kernel(&value, sizeof(value), (void *)regs->di))
		return 0;
	return value;
}

SEC("tc")
int null_on_a_path(struct __sk_buff *skb)
{
	u32 *place = 0;

	if (skb->mark > 7)
		place = &places[3];
	asm volatile("" : "+r"(place));
	return place ? *place : 0;
}

SEC("tc")
int index_of_copy(struct __sk_buff *skb)
{
	u32 at = skb->hash;

	asm volatile("" : "+r"(at));
	if (at >= 64)
		return 0;
	return places[at];
}

SEC("tc")
int index_of_rest(struct __sk_buff *skb)
{
	u32 at = skb->hash % 60;

	asm volatile("" : "+r"(at));
	if (at >= 60)
		return 0;
	return text[at];
}

SEC("tc")
int half_compared(struct __sk_buff *skb)
{
	u64 at = skb->hash * 2654435761ULL;

	if (at >= 64)
		return 0;
	return text[at];
}

SEC("xdp")
int nothing_compared(struct xdp_md *ctx)
{
	u8 *p = (void *)(long)ctx->data;

	if ((void *)(p + 1) > (void *)(long)ctx->data_end)
		return XDP_PASS;
	return *p;
}

SEC("tc")
int mask_too_wide(struct __sk_buff *skb)
{
	u32 at = skb->hash;

	asm volatile("" : "+r"(at));
	at &= 63;
	return places[at];
}

SEC("tc")
int other_bits_compared(struct __sk_buff *skb)
{
	u32 raw = skb->hash, other = raw & 127, at = raw & 255;

	asm volatile("" : "+r"(at));
	if (other >= 64 || at >= 64)
		return 0;
	return places[at];
}

/* An address in 64 bits. */
SEC("tc")
int narrow_address(struct __sk_buff *skb)
{
	u8 *data = (void *)(long)skb->data, *end = (void *)(long)skb->data_end;
	u8 *byte = data + 14;

	if (data + 15 > end)
		return 0;
	return *byte;
}

LICENSE_GPL;
