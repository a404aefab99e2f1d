/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Refused, each with a help that mended/helps.bpf.c follows. Built with the flags of tests/programs/build.sh. */
#include "../../programs/include/packet.h"

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

/* The pointer is used again after the packet has moved: a copy of it is compared. */
SEC("xdp")
int moved_and_compared(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;

	if (xdp_adjust_head(ctx, -8))
		return XDP_DROP;
	if (data + 8 > end)
		return XDP_DROP;
	*(u64 *)data = 0;
	return XDP_PASS;
}

/* The start of the access is compared, which is not its end. */
SEC("xdp")
int start_compared(struct xdp_md *ctx)
{
	u8 *p = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	int options = 0;

	while (p < end && options < 40) {
		if (p[0] == 0)
			break;
		p += 2;
		options++;
	}
	return options;
}

/* The pointer may be moved too far, round by round. */
SEC("xdp")
int too_far_in_rounds(struct xdp_md *ctx)
{
	u8 *p = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	int options = 0;

	while (1) {
		if (p + 2 > end || p[0] == 0)
			break;
		p += p[1];
		options++;
	}
	return options;
}

/* The sum is compared, the verifier adds the maxima. */
SEC("tc")
int sum_compared(struct __sk_buff *skb)
{
	u32 zero = 0, len = skb->len, off = skb->mark;
	struct text_of_256 *t = map_lookup_elem(&texts, &zero);

	if (!t || !len || len > 256 || off > 256 || len + off > 256)
		return 0;
	return skb_load_bytes(skb, 0, t->bytes + off, len);
}

/* A length is a size_t and is not compared. */
SEC("kprobe")
int size_not_compared(struct pt_regs *regs)
{
	u64 len = regs->dx;

	return probe_read_kernel(text, len, (void *)regs->si);
}

/* The compiler compares another copy than it uses. */
SEC("xdp")
int other_copy(struct xdp_md *ctx)
{
	u32 slot = (u32)(ctx->data_end - ctx->data) / 64;

	if (slot < 32)
		slots[slot]++;
	return XDP_PASS;
}

/* A remainder has no bounds for the verifier. */
SEC("tc")
int rest_of_division(struct __sk_buff *skb)
{
	counters[skb->protocol % 9]++;
	return 0;
}

/* A helper's result is negative on errors, and 256 at most. */
SEC("kprobe")
int negative_result(struct pt_regs *regs)
{
	long n = read_kernel_str(text, sizeof(text), (void *)regs->di);

	text[n] = 0;
	return 0;
}

/* Which of the returns it is: its line is not the closing brace. */
SEC("cgroup/connect4")
int early_return(struct bpf_sock_addr *ctx)
{
	if (ctx->user_port == be16(22))
		return -1;
	return 1;
}

/* A field that programs may read only. */
SEC("tc")
int read_only_field(struct __sk_buff *skb)
{
	skb->len = 3;
	return 0;
}

/* A field of another attach type. */
SEC("xdp")
int of_devmap(struct xdp_md *ctx)
{
	return ctx->egress_ifindex == 3 ? XDP_DROP : XDP_PASS;
}

/* A field of other program types. */
SEC("socket")
int of_other_types(struct __sk_buff *skb)
{
	return skb->data == 0;
}

/* Two fields at once, as compilers merge loads. */
SEC("tc")
int two_fields(struct __sk_buff *skb)
{
	u64 value;

	asm volatile("%0 = *(u64 *)(%1 + 0)\n" : "=r"(value) : "r"(skb));
	return value != 0;
}

/* A stored pointer, a part of which is overwritten. */
SEC("tc")
int overwritten(struct __sk_buff *skb)
{
	u64 result;

	asm volatile("*(u64 *)(r10 - 8) = %1\n"
		     "*(u8 *)(r10 - 7) = 1\n"
		     "%0 = *(u64 *)(r10 - 8)\n"
		     "%0 = *(u32 *)(%0 + 0)\n"
		     : "=&r"(result) : "r"(skb) : "memory");
	return result & 1;
}

/* A stored pointer to the packet, which is moved before it is read back. */
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
	asm volatile("%0 = *(u64 *)(r10 - 8)\n"
		     "%0 = *(u32 *)(%0 + 0)\n"
		     : "=&r"(result) : : "memory");
	return result & 1;
}

LICENSE_GPL;
