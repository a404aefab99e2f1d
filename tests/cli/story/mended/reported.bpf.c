/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The programs of ../reported.bpf.c, each with what its help says. */
#include "../../../programs/include/packet.h"

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

static struct bpf_sock *(*const sk_fullsock)(struct bpf_sock *sk) = (void *)95;

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

SEC("tc")
int joined(struct __sk_buff *skb)
{
	u32 key = 0;
	struct table *t = map_lookup_elem(&tables, &key);
	u32 at = skb->priority;

	if (!t)
		return 0;
	if (at < 64)
		t->slots[at]++;
	return 0;
}

SEC("kprobe")
int joined_after_two(struct pt_regs *regs)
{
	u32 key = 0, other = 1;
	struct table *t = map_lookup_elem(&tables, &key);
	struct table *u = map_lookup_elem(&tables, &other);
	u64 at = regs->dx;

	if (!t || !u)
		return 0;
	if (at >= sizeof(t->text))
		return 0;
	t->text[at] = u->used;
	return 0;
}

SEC("xdp")
int joined_to_loop(struct xdp_md *ctx)
{
	void *end = (void *)(long)ctx->data_end;
	u16 *word = (void *)(long)ctx->data;
	u32 sum = 0;

	for (int i = 0; i < 32; i++) {
		if ((void *)(word + 1) > end)
			break;
		sum += *word++;
	}
	return sum & 1 ? XDP_DROP : XDP_PASS;
}

SEC("tc")
int joined_leak(struct __sk_buff *skb)
{
	struct event *e = ringbuf_reserve(&events, sizeof(*e), 0);

	if (!e)
		return 0;
	if (skb->len > 1500) {
		ringbuf_discard(e, 0);
		return 1;
	}
	e->when = skb->len;
	ringbuf_submit(e, 0);
	return 0;
}

SEC("tc")
int pointer_size(struct __sk_buff *skb)
{
	struct event *e = ringbuf_reserve(&events, sizeof(*e), 0);

	if (!e)
		return 0;
	e->pid = skb->len;
	e->when = ktime_get_ns();
	ringbuf_submit(e, 0);
	return 0;
}

SEC("tc")
int end_of_sum(struct __sk_buff *skb)
{
	u32 key = 0;
	u64 off = skb->hash;
	struct table *t = map_lookup_elem(&tables, &key);

	if (!t)
		return 0;
	if (off + 8 > sizeof(t->text))
		return 0;
	*(u64 *)(t->text + off) = 1;
	return 0;
}

SEC("kprobe")
int signed_length(struct pt_regs *regs)
{
	u32 key = 0;
	struct table *t = map_lookup_elem(&tables, &key);
	u64 len;

	if (!t)
		return 0;
	len = probe_read_user_str(t->text, sizeof(t->text), (void *)regs->si);
	if (len > sizeof(t->text))
		return 0;
	return probe_read_kernel(t->text, len, (void *)regs->di);
}

SEC("xdp")
int last_byte(struct xdp_md *ctx)
{
	u8 *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;

	if (data + 60 > end)
		return XDP_PASS;
	return data[59] ? XDP_DROP : XDP_PASS;
}

SEC("tc")
int context_index(struct __sk_buff *skb)
{
	volatile struct __sk_buff *fields = skb;

	u32 even = fields->cb[0], odd = fields->cb[1];

	return skb->hash & 1 ? odd : even;
}

SEC("tc")
int context_as_key(struct __sk_buff *skb)
{
	u32 mark = skb->mark;
	struct table *t = map_lookup_elem(&tables, &mark);

	return t ? t->used : 0;
}

SEC("xdp")
int value_as_map(struct xdp_md *ctx)
{
	u32 key = ctx->ingress_ifindex;

	return redirect_map(&devices, key, 0);
}

SEC("xdp")
int map_as_context(struct xdp_md *ctx)
{
	tail_call(ctx, &programs, 1);
	return XDP_PASS;
}

SEC("kprobe")
int word_on_stack(struct pt_regs *regs)
{
	static const char word[8] = "sleep";
	char comm[16];

	get_current_comm(comm, sizeof(comm));
	return strncmp(comm, sizeof(comm), word) == 0;
}

SEC("tc")
int not_full(struct __sk_buff *skb)
{
	struct bpf_sock *sk = ((struct sk_buff_to_sk *)skb)->sk;

	if (!sk)
		return 0;
	sk = sk_fullsock(sk);
	if (!sk)
		return 0;
	return sk->mark == 7;
}

SEC("kprobe")
int comm_size(struct pt_regs *regs)
{
	char comm[8];

	get_current_comm(comm, sizeof(comm));
	return comm[0] == 'a';
}

struct pair {
	u32 values[2];
};

NOINLINE int first_two(struct pair *pair)
{
	return pair ? pair->values[0] + pair->values[1] : 0;
}

SEC("tc")
int parameter_size(struct __sk_buff *skb)
{
	struct pair pair = { { skb->len, skb->mark } };

	return first_two(&pair);
}

static int each(u32 i, u32 *sum)
{
	*sum += i;
	return 0;
}

SEC("tc")
int callback_result(struct __sk_buff *skb)
{
	u32 sum = 0;

	loop(8, each, &sum, 0);
	return sum;
}

static NOINLINE struct table *table_of(u32 key)
{
	return map_lookup_elem(&tables, &key);
}

SEC("tc")
int from_function(struct __sk_buff *skb)
{
	struct table *t = table_of(skb->mark);

	if (!t)
		return 0;
	t->used = 1;
	return 0;
}

LICENSE_GPL;
