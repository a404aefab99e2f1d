/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Refused, each with a help that mended/helps_more.bpf.c follows. Built with the flags of
 * tests/programs/build.sh. */
#include "../../programs/include/packet.h"

static u64 (*const get_current_task)(void) = (void *)35;

char text[256];
u32 places[64];
u64 limit;
volatile u64 asked;

NOINLINE u64 unknown(u64 n)
{
	return n > 7 ? n : 7;
}

/* What is added to a pointer: read twice, ... */
SEC("tc")
int added_again(struct __sk_buff *skb)
{
	if (asked >= 256)
		return 0;
	return text[asked];
}

/* ... the result of a global function, ... */
SEC("tc")
int added_result(struct __sk_buff *skb)
{
	return text[unknown(skb->hash)];
}

/* ... an argument of a callback, ... */
static long each(u64 at, u64 *sum)
{
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

/* ... compared with what is not known itself, ... */
SEC("tc")
int added_unknown(struct __sk_buff *skb)
{
	u64 at = asked, most = limit;

	if (at >= most)
		return 0;
	return text[at];
}

/* ... or of which another copy is compared. */
SEC("tc")
int added_copy(struct __sk_buff *skb)
{
	u64 at = asked;

	if (at + 8 >= 256)
		return 0;
	asm volatile("" : "+r"(at));
	return text[at];
}

/* A length: read twice, ... */
SEC("kprobe")
int length_again(struct pt_regs *regs)
{
	if (asked - 1 > 255)
		return 0;
	return probe_read_kernel(text, asked & 0x7fffffff, (void *)regs->si);
}

/* ... the result of a global function, ... */
SEC("kprobe")
int length_result(struct pt_regs *regs)
{
	return probe_read_kernel(text, (unknown(regs->dx) & 0x7fffffff) + 1, (void *)regs->si);
}

/* ... compared with what is not known itself, ... */
SEC("kprobe")
int length_unknown(struct pt_regs *regs)
{
	u64 len = asked & 0x7fffffff, most = limit;

	if (!len || len >= most)
		return 0;
	return probe_read_kernel(text, len, (void *)regs->si);
}

/* ... of which another copy is compared. */
SEC("kprobe")
int length_copy(struct pt_regs *regs)
{
	u64 raw = regs->dx, other = raw & 0xffff, len = raw & 0x7fffffff;

	if (other > 255)
		return 0;
	asm volatile("" : "+r"(len));
	return probe_read_kernel(text, len + 1, (void *)regs->si);
}

/* The address of the current task, as a number. */
SEC("kprobe")
int current_task(struct pt_regs *regs)
{
	return *(u32 *)get_current_task();
}

/* Some other number as an address. */
SEC("kprobe")
int address(struct pt_regs *regs)
{
	return *(u32 *)regs->di;
}

/* NULL on one of the paths. */
SEC("tc")
int null_on_a_path(struct __sk_buff *skb)
{
	u32 *place = 0;

	if (skb->mark > 7)
		place = &places[3];
	asm volatile("" : "+r"(place));
	return *place;
}

/* An index of other width than the shift that makes it. */
SEC("tc")
int index_of_copy(struct __sk_buff *skb)
{
	u32 at = skb->hash;

	if ((at & 0xff) >= 64)
		return 0;
	asm volatile("" : "+r"(at));
	return places[at];
}

/* A remainder as an index. */
SEC("tc")
int index_of_rest(struct __sk_buff *skb)
{
	u32 at = skb->hash % 60;

	return text[at];
}

/* Half of a bound. */
SEC("tc")
int half_compared(struct __sk_buff *skb)
{
	u64 at = skb->hash * 2654435761ULL;

	if ((u32)at >= 64)
		return 0;
	return text[at];
}

/* Nothing is compared. */
SEC("xdp")
int nothing_compared(struct xdp_md *ctx)
{
	return *(u8 *)(long)ctx->data;
}

/* A mask that is too wide. */
SEC("tc")
int mask_too_wide(struct __sk_buff *skb)
{
	u32 at = skb->hash;

	asm volatile("" : "+r"(at));
	at &= 255;
	return places[at];
}

/* Of the number, other bits are compared. */
SEC("tc")
int other_bits_compared(struct __sk_buff *skb)
{
	u32 raw = skb->hash, other = raw & 127, at = raw & 255;

	if (other >= 64)
		return 0;
	asm volatile("" : "+r"(at));
	at &= 255;
	return places[at];
}

/* An address in 32 bits. */
SEC("tc")
int narrow_address(struct __sk_buff *skb)
{
	u32 data = skb->data, end = skb->data_end;
	u8 *byte = (u8 *)(long)(data + 14);

	if (data + 15 > end)
		return 0;
	return *byte;
}

LICENSE_GPL;
