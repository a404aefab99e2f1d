/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* ../posted.bpf.c, mended as the helps say. */
#include "../../../programs/include/packet.h"

static long (*const probe_read_user)(void *to, u32 size, const void *from) = (void *)112;

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

struct {
	UINT(type, MAP_PERCPU_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, char[600]);
} large_values SEC(".maps");

char text[256];
u64 asked, more, used;
volatile u32 limit = 8;

/* The sum of offset and length is compared, neither of them alone: an offset, ... */
SEC("tc")
int sum_moves_pointer(struct __sk_buff *skb)
{
	u64 at = asked, size = more;

	if (at >= sizeof(text) || size > sizeof(text) - at)
		return 0;
	return text[at];
}

/* ... and a length. */
SEC("kprobe")
int sum_is_length(void *ctx)
{
	u64 at = asked, size = more;

	if (at > 128 || size > 128)
		return 0;
	probe_read_user(text, size, (void *)used);
	return 0;
}

/* Both are compared, but what is left when one is subtracted from the other is not. */
SEC("tc")
int difference_not_compared(struct __sk_buff *skb)
{
	u32 at = skb->hash, less = skb->mark;

	at -= less;
	if (at >= sizeof(text))
		return 0;
	return text[at];
}

/* A number is mixed with another one after it is compared. */
SEC("tc")
int mixed_when_compared(struct __sk_buff *skb)
{
	u32 at = skb->hash;

	at ^= skb->mark & 0xffff;
	if (at >= sizeof(text))
		return 0;
	return text[at];
}

/* A mask is made, and not used: what is left is a comparison with 0. */
SEC("kprobe")
int mask_not_used(void *ctx)
{
	u32 size = asked;

	size &= sizeof(text) - 1;
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

	if (!a)
		return 0;
	if (!b)
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
	count = a->count;
	spin_unlock(&a->lock);
	spin_lock(&b->lock);
	b->count = count;
	spin_unlock(&b->lock);
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
	a->count++;
	spin_unlock(&a->lock);
	return 0;
}

/* A constant is changed. */
SEC("tc")
int constant_changed(struct __sk_buff *skb)
{
	limit = 9;
	return 0;
}

/* A variable is larger than the stack. */
SEC("tc")
int large_variable(struct __sk_buff *skb)
{
	u32 zero = 0;
	char *large = map_lookup_elem(&large_values, &zero);

	if (!large)
		return 0;
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
	struct ipv4_hdr *ip = (void *)(data + sizeof(struct eth_hdr));

	if ((void *)(ip + 1) > (void *)(long)ctx->data_end)
		return 0;
	return protocol_of(ip);
}

/* ... and a pointer that is no longer that of the context. */
NOINLINE int queue_of(struct xdp_md *ctx)
{
	return ctx->rx_queue_index;
}

SEC("xdp")
int context_moved(struct xdp_md *ctx)
{
	return queue_of(ctx);
}

static NOINLINE int called(void *ctx)
{
	return asked > 7;
}

/* Programs that may sleep make no tail calls. */
SEC("syscall")
int sleeps_and_calls(void *ctx)
{
	return called(ctx);
}

SEC("tc")
int kernels_structure(struct __sk_buff *skb)
{
	return skb->len > 64;
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

	if ((void *)(value + 1) > ctx->optval_end)
		return 1;
	return *value > 7;
}

/* Programs of this type run where nothing may sleep. */
SEC("tp/syscalls/sys_exit_getcwd")
int cannot_sleep(void *ctx)
{
	asked = get_current_pid_tgid();
	return 0;
}

LICENSE_GPL;
