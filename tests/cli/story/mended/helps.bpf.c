/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* What the helps say, done: the programs of ../helps.bpf.c with the lines that their helps ask for.
 * Accepted. Built with the flags of tests/programs/build.sh. */
#include "../../../programs/include/packet.h"

static long (*const read_kernel_str)(void *dst, u32 size, const void *from) = (void *)115;

struct bpf_sock_addr {
	u32 user_family;
	u32 user_ip4;
	u32 user_ip6[4];
	u32 user_port;
};

u64 counters[9];
u64 slots[32];
char text[256];

struct text_of_256 {
	char bytes[256];
};

struct {
	UINT(type, 2);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct text_of_256);
} texts SEC(".maps");

SEC("xdp")
int moved_and_compared(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;

	if (xdp_adjust_head(ctx, -8))
		return XDP_DROP;
	data = (void *)(long)ctx->data;
	end = (void *)(long)ctx->data_end;
	if (data + 8 > end)
		return XDP_DROP;
	*(u64 *)data = 0;
	return XDP_PASS;
}

SEC("xdp")
int start_compared(struct xdp_md *ctx)
{
	u8 *p = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	int options = 0;

	while ((void *)(p + 1) <= (void *)end && options < 40) {
		if (p[0] == 0)
			break;
		p += 2;
		options++;
	}
	return options;
}

SEC("xdp")
int too_far_in_rounds(struct xdp_md *ctx)
{
	u8 *p = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	int options = 0;

	for (int i = 0; i < 40; i++) {
		if (p + 2 > end || p[0] == 0)
			break;
		p += p[1];
		options++;
	}
	return options;
}

SEC("tc")
int sum_compared(struct __sk_buff *skb)
{
	u32 zero = 0, len = skb->len, off = skb->mark;
	struct text_of_256 *t = map_lookup_elem(&texts, &zero);

	if (!t || !len || len > 128 || off > 128)
		return 0;
	return skb_load_bytes(skb, 0, t->bytes + off, len);
}

SEC("kprobe")
int size_not_compared(struct pt_regs *regs)
{
	u64 len = regs->dx;

	if (!len || len > sizeof(text))
		return 0;
	return probe_read_kernel(text, len, (void *)regs->si);
}

SEC("xdp")
int other_copy(struct xdp_md *ctx)
{
	u32 slot = (u32)(ctx->data_end - ctx->data) / 64;

	asm volatile("" : "+r"(slot));
	if (slot < 32)
		slots[slot]++;
	return XDP_PASS;
}

SEC("tc")
int rest_of_division(struct __sk_buff *skb)
{
	u32 i = skb->protocol % 9;

	asm volatile("" : "+r"(i));
	if (i >= 9)
		return 0;
	counters[i]++;
	return 0;
}

SEC("kprobe")
int negative_result(struct pt_regs *regs)
{
	long n = read_kernel_str(text, sizeof(text), (void *)regs->di);

	if (n < 0 || n >= sizeof(text))
		return 0;
	text[n] = 0;
	return 0;
}

SEC("cgroup/connect4")
int early_return(struct bpf_sock_addr *ctx)
{
	if (ctx->user_port == be16(22))
		return 0;
	return 1;
}

SEC("tc")
int read_only_field(struct __sk_buff *skb)
{
	skb->mark = 3;
	return 0;
}

SEC("xdp/devmap")
int of_devmap(struct xdp_md *ctx)
{
	return ctx->egress_ifindex == 3 ? XDP_DROP : XDP_PASS;
}

SEC("tc")
int of_other_types(struct __sk_buff *skb)
{
	return skb->data == 0;
}

SEC("tc")
int two_fields(struct __sk_buff *skb)
{
	u64 value;

	asm volatile("%0 = *(u32 *)(%1 + 0)\n" : "=r"(value) : "r"(skb));
	return value != 0;
}

SEC("tc")
int overwritten(struct __sk_buff *skb)
{
	u64 result;

	asm volatile("*(u64 *)(r10 - 8) = %1\n"
		     "*(u8 *)(r10 - 9) = 1\n"
		     "%0 = *(u64 *)(r10 - 8)\n"
		     "%0 = *(u32 *)(%0 + 0)\n"
		     : "=&r"(result) : "r"(skb) : "memory");
	return result & 1;
}

SEC("xdp")
int stored_and_moved(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	u64 result;

	if (data + 8 > end)
		return XDP_PASS;
	asm volatile("*(u64 *)(r10 - 8) = %0\n" : : "r"(data) : "memory");
	if (xdp_adjust_head(ctx, -8))
		return XDP_DROP;
	data = (void *)(long)ctx->data;
	if (data + 8 > (void *)(long)ctx->data_end)
		return XDP_PASS;
	asm volatile("%0 = *(u32 *)(%1 + 0)\n"
		     : "=&r"(result) : "r"(data) : "memory");
	return result & 1;
}

LICENSE_GPL;
