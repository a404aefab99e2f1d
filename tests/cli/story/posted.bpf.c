/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Mistakes that people ask about. mended/posted.bpf.c follows the helps. Built with the flags of
 * tests/programs/build.sh. */
#include "../../programs/include/packet.h"

static long (*const probe_read_user)(void *to, u32 size, const void *from) = (void *)112;

struct {
	UINT(type, MAP_PROG_ARRAY);
	UINT(max_entries, 4);
	UINT(key_size, 4);
	UINT(value_size, 4);
} programs SEC(".maps");

struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 4);
	TYPE(key, u32);
	TYPE(value, u64);
} numbers SEC(".maps");

struct guarded {
	struct bpf_spin_lock lock;
	u32 count;
};

struct {
	UINT(type, MAP_HASH);
	UINT(max_entries, 4);
	TYPE(key, u32);
	TYPE(value, struct guarded);
} guarded SEC(".maps");

char text[256];
u64 asked, more, used;
const volatile u32 limit = 8;

/* The sum of offset and length is compared, neither of them alone: an offset, ... */
SEC("tc")
int sum_moves_pointer(struct __sk_buff *skb)
{
	u64 at = asked, size = more;

	if (at + size > sizeof(text))
		return 0;
	return text[at];
}

/* ... and a length. */
SEC("kprobe")
int sum_is_length(void *ctx)
{
	u64 at = asked, size = more;

	if (at > 128 || at + size > sizeof(text))
		return 0;
	probe_read_user(text, size, (void *)used);
	return 0;
}

/* Both are compared, but what is left when one is subtracted from the other is not. */
SEC("tc")
int difference_not_compared(struct __sk_buff *skb)
{
	u32 at = skb->hash, less = skb->mark;

	if (at >= sizeof(text) || less >= sizeof(text))
		return 0;
	return text[at - less];
}

/* A number is mixed with another one after it is compared. */
SEC("tc")
int mixed_when_compared(struct __sk_buff *skb)
{
	u32 at = skb->hash;

	if (at >= 64)
		return 0;
	at ^= skb->mark & 0xffff;
	return text[at];
}

/* A mask is made, and not used: what is left is a comparison with 0. */
SEC("kprobe")
int mask_not_used(void *ctx)
{
	u32 size = asked;

	used = size & (sizeof(text) - 1);
	if (size)
		probe_read_user(text, size, (void *)more);
	return 0;
}

/* The compiler tests the bits of both pointers together. */
SEC("tc")
int both_tested(struct __sk_buff *skb)
{
	u32 one = 1, two = 2;
	u64 *a = map_lookup_elem(&numbers, &one);
	u64 *b = map_lookup_elem(&numbers, &two);

	if (!a && !b)
		return 0;
	return *a + *b;
}

/* A second lock is taken, ... */
SEC("tc")
int locked_two(struct __sk_buff *skb)
{
	u32 one = 1, two = 2, count;
	struct guarded *a = map_lookup_elem(&guarded, &one);
	struct guarded *b = map_lookup_elem(&guarded, &two);

	if (!a || !b)
		return 0;
	spin_lock(&a->lock);
	spin_lock(&b->lock);
	count = a->count;
	b->count = count;
	spin_unlock(&b->lock);
	spin_unlock(&a->lock);
	return 0;
}

/* ... and one is released twice. */
SEC("tc")
int unlocked_twice(struct __sk_buff *skb)
{
	u32 one = 1;
	struct guarded *a = map_lookup_elem(&guarded, &one);

	if (!a)
		return 0;
	spin_lock(&a->lock);
	if (++a->count > 8)
		spin_unlock(&a->lock);
	spin_unlock(&a->lock);
	return 0;
}

/* A constant is changed. */
SEC("tc")
int constant_changed(struct __sk_buff *skb)
{
	*(volatile u32 *)&limit = 9;
	return 0;
}

/* A variable is larger than the stack. */
SEC("tc")
int large_variable(struct __sk_buff *skb)
{
	char *large;

	asm volatile("%0 = r10\n"
		     "%0 += -600"
		     : "=r"(large));
	return skb_load_bytes(skb, 0, large, 600);
}

/* A global function is passed a pointer into the packet that was not compared, ... */
NOINLINE int protocol_of(struct ipv4_hdr *ip)
{
	return ip ? ip->proto : 0;
}

SEC("xdp")
int packet_passed(struct xdp_md *ctx)
{
	u8 *data = (void *)(long)ctx->data;

	return protocol_of((void *)(data + sizeof(struct eth_hdr)));
}

/* ... and a pointer that is no longer that of the context. */
NOINLINE int queue_of(struct xdp_md *ctx)
{
	return ctx->rx_queue_index;
}

SEC("xdp")
int context_moved(struct xdp_md *ctx)
{
	return queue_of((void *)ctx + 4);
}

/* Programs that may sleep make no tail calls. */
SEC("syscall")
int sleeps_and_calls(void *ctx)
{
	tail_call(ctx, &programs, 1);
	return 0;
}

/* The context is used as the kernel's structure. */
struct kernel_buff {
	u8 before[112];
	u32 len;
};

SEC("tc")
int kernels_structure(struct __sk_buff *skb)
{
	struct kernel_buff *buff = (void *)skb;

	return buff->len > 64;
}

/* The value of an option has an end of its own. */
struct bpf_sockopt {
	void *sk;
	void *optval;
	void *optval_end;
};

SEC("cgroup/getsockopt")
int option_not_compared(struct bpf_sockopt *ctx)
{
	u8 *value = ctx->optval;

	return *value > 7;
}

/* Programs of this type run where nothing may sleep. */
SEC("tp.s/syscalls/sys_exit_getcwd")
int cannot_sleep(void *ctx)
{
	asked = get_current_pid_tgid();
	return 0;
}

LICENSE_GPL;
