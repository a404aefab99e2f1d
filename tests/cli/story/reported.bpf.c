/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* What people report: written anew, with the same causes. mended/reported.bpf.c follows the helps.
 * Built with the flags of tests/programs/build.sh. */
#include "../../programs/include/packet.h"

static long (*const redirect_map)(void *map, u64 key, u64 flags) = (void *)51;
static long (*const probe_read_user_str)(void *dst, u32 size, const void *from) = (void *)114;
static long (*const strncmp)(const char *s1, u32 size, const char *s2) = (void *)182;

struct table {
	u32 used;
	u32 slots[64];
	char text[256];
};

struct event {
	u64 pid;
	u64 when;
};

struct bpf_sock {
	u32 bound_dev_if;
	u32 family;
	u32 type;
	u32 protocol;
	u32 mark;
};

struct sk_buff_to_sk {
	u32 before[42];
	struct bpf_sock *sk;
};

struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct table);
} tables SEC(".maps");

struct {
	UINT(type, MAP_RINGBUF);
	UINT(max_entries, 4096);
} events SEC(".maps");

struct {
	UINT(type, MAP_PROG_ARRAY);
	UINT(max_entries, 4);
	TYPE(key, u32);
	TYPE(value, u32);
} programs SEC(".maps");

struct {
	UINT(type, 14);
	UINT(max_entries, 4);
	TYPE(key, u32);
	TYPE(value, u32);
} devices SEC(".maps");

/* The compiler joins both conditions, and gives the second comparison the line of the first: of a
 * pointer, ... */
SEC("tc")
int joined(struct __sk_buff *skb)
{
	u32 key = 0;
	struct table *t = map_lookup_elem(&tables, &key);
	int at = skb->priority;

	if (!t)
		return 0;
	if (at < 64)
		t->slots[at]++;
	return 0;
}

/* ... of two pointers, ... */
SEC("kprobe")
int joined_after_two(struct pt_regs *regs)
{
	u32 key = 0, other = 1;
	struct table *t = map_lookup_elem(&tables, &key);
	struct table *u = map_lookup_elem(&tables, &other);
	u64 at = regs->dx;

	if (!t || !u)
		return 0;
	if (at > sizeof(t->text))
		return 0;
	t->text[at] = u->used;
	return 0;
}

/* ... of a loop. */
SEC("xdp")
int joined_to_loop(struct xdp_md *ctx)
{
	void *end = (void *)(long)ctx->data_end;
	u16 *word = (void *)(long)ctx->data;
	u32 sum = 0;

	for (int i = 0; i < 32; i++) {
		if ((void *)word + 1 > end)
			break;
		sum += *word++;
	}
	return sum & 1 ? XDP_DROP : XDP_PASS;
}

/* A branch that leaks, whose line is that of another one. */
SEC("tc")
int joined_leak(struct __sk_buff *skb)
{
	struct event *e = ringbuf_reserve(&events, sizeof(*e), 0);

	if (!e)
		return 0;
	if (skb->len > 1500)
		return 1;
	e->when = skb->len;
	ringbuf_submit(e, 0);
	return 0;
}

/* The size of a pointer is requested. */
SEC("tc")
int pointer_size(struct __sk_buff *skb)
{
	struct event *e = ringbuf_reserve(&events, sizeof(e), 0);

	if (!e)
		return 0;
	e->pid = skb->len;
	e->when = ktime_get_ns();
	ringbuf_submit(e, 0);
	return 0;
}

/* A sum is compared in 32 bits, and computed again in 64 bits. */
SEC("tc")
int end_of_sum(struct __sk_buff *skb)
{
	u32 key = 0, off = skb->hash;
	struct table *t = map_lookup_elem(&tables, &key);

	if (!t)
		return 0;
	if (off + 8 > sizeof(t->text))
		return 0;
	*(u64 *)(t->text + off) = 1;
	return 0;
}

/* A length is compared as unsigned, and passed as signed. */
SEC("kprobe")
int signed_length(struct pt_regs *regs)
{
	u32 key = 0;
	struct table *t = map_lookup_elem(&tables, &key);
	int len;

	if (!t)
		return 0;
	len = probe_read_user_str(t->text, sizeof(t->text), (void *)regs->si);
	if ((u32)len > sizeof(t->text))
		return 0;
	return probe_read_kernel(t->text, len, (void *)regs->di);
}

/* The end of the packet is used as an address. */
SEC("xdp")
int last_byte(struct xdp_md *ctx)
{
	u8 *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;

	if (data + 60 > end)
		return XDP_PASS;
	return *(end - 1) ? XDP_DROP : XDP_PASS;
}

/* The context has no elements that an index chooses. */
SEC("tc")
int context_index(struct __sk_buff *skb)
{
	return skb->cb[skb->hash & 1];
}

/* The address of a field is no address of memory. */
SEC("tc")
int context_as_key(struct __sk_buff *skb)
{
	struct table *t = map_lookup_elem(&tables, &skb->mark);

	return t ? t->used : 0;
}

/* A value of a map is no map. */
SEC("xdp")
int value_as_map(struct xdp_md *ctx)
{
	u32 key = ctx->ingress_ifindex;
	u32 *port = map_lookup_elem(&devices, &key);

	return redirect_map(port, key, 0);
}

/* Arguments in the wrong order. */
SEC("xdp")
int map_as_context(struct xdp_md *ctx)
{
	tail_call(&programs, ctx, 1);
	return XDP_PASS;
}

/* A string on the stack. */
SEC("kprobe")
int word_on_stack(struct pt_regs *regs)
{
	char word[8] = "sleep";
	char comm[16];

	get_current_comm(comm, sizeof(comm));
	return strncmp(comm, sizeof(comm), word) == 0;
}

/* A field that only full sockets have. */
SEC("tc")
int not_full(struct __sk_buff *skb)
{
	struct bpf_sock *sk = ((struct sk_buff_to_sk *)skb)->sk;

	if (!sk)
		return 0;
	return sk->mark == 7;
}

/* More is asked for than the variable has. */
SEC("kprobe")
int comm_size(struct pt_regs *regs)
{
	char comm[8];

	get_current_comm(comm, 16);
	return comm[0] == 'a';
}

/* A parameter says how much a global function may read. */
NOINLINE int first_two(u32 *pair)
{
	return pair ? pair[0] + pair[1] : 0;
}

SEC("tc")
int parameter_size(struct __sk_buff *skb)
{
	u32 pair[2] = { skb->len, skb->mark };

	return first_two(pair);
}

/* The value is the parameter: the compiler gives it the line of the function. */
static int each(u32 i, u32 *sum)
{
	*sum += i;
	return i;
}

SEC("tc")
int callback_result(struct __sk_buff *skb)
{
	u32 sum = 0;

	loop(8, each, &sum, 0);
	return sum;
}

/* The result of a function of the program. */
static NOINLINE struct table *table_of(u32 key)
{
	return map_lookup_elem(&tables, &key);
}

SEC("tc")
int from_function(struct __sk_buff *skb)
{
	struct table *t = table_of(skb->mark);

	t->used = 1;
	return 0;
}

LICENSE_GPL;
