/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Programs of ../rest.bpf.c with the lines that their helps ask for. Accepted. Built with the flags
 * of tests/programs/build.sh. */
#include "../../../programs/include/packet.h"

static long (*const snprintf_args)(char *str, u32 str_size, const char *fmt, u64 *data,
				   u32 data_len) = (void *)165;
static long (*const ringbuf_reserve_dynptr)(void *ringbuf, u32 size, u64 flags,
					    void *ptr) = (void *)198;
static void (*const ringbuf_submit_dynptr)(void *ptr, u64 flags) = (void *)199;
static void (*const ringbuf_discard_dynptr)(void *ptr, u64 flags) = (void *)200;
static long (*const dynptr_write)(const void *dst, u32 offset, void *src, u32 len,
				  u64 flags) = (void *)202;

struct bpf_dynptr {
	u64 opaque[2];
} __attribute__((aligned(8)));

struct bpf_timer {
	u64 opaque[2];
} __attribute__((aligned(8)));

struct bpf_list_head {
	u64 opaque[2];
} __attribute__((aligned(8)));

struct bpf_list_node {
	u64 opaque[3];
} __attribute__((aligned(8)));

struct counted {
	struct bpf_timer timer;
	u64 count;
};

struct item {
	struct bpf_list_node node;
	u64 count;
};

struct listed {
	struct bpf_spin_lock lock;
	struct bpf_list_head head __attribute__((btf_decl_tag("contains:item:node")));
	u64 count;
};

struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct counted);
} timers SEC(".maps");

struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct listed);
} lists SEC(".maps");

struct inner {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, u32);
} inner SEC(".maps");

struct {
	UINT(type, MAP_ARRAY_OF_MAPS);
	UINT(max_entries, 1);
	TYPE(key, u32);
	ARRAY(values, struct inner);
} outer SEC(".maps") = {
	.values = { &inner },
};

struct {
	UINT(type, MAP_HASH);
	UINT(max_entries, 8);
	TYPE(key, u64);
	TYPE(value, u64);
} wide SEC(".maps");

struct {
	UINT(type, MAP_QUEUE);
	UINT(max_entries, 8);
	TYPE(value, u64);
} queue SEC(".maps");

struct {
	UINT(type, MAP_RINGBUF);
	UINT(max_entries, 4096);
} events SEC(".maps");

u8 places[64];
struct item *any;

SEC("tc")
int timer_in_probe(void *ctx)
{
	u32 key = 0;
	struct counted *it = map_lookup_elem(&timers, &key);

	if (it)
		it->count++;
	return 0;
}

SEC("tc")
int list_in_probe(void *ctx)
{
	u32 key = 0;
	struct listed *it = map_lookup_elem(&lists, &key);

	if (it)
		it->count++;
	return 0;
}

SEC("tc")
int inner_not_checked(struct __sk_buff *skb)
{
	u32 key = 0;
	void *map = map_lookup_elem(&outer, &key);

	if (!map)
		return 0;
	return map_lookup_elem(map, &key) ? 1 : 0;
}

SEC("tc")
int passed_unchecked(struct __sk_buff *skb)
{
	u64 key = 1;
	u64 *value = map_lookup_elem(&wide, &key);

	if (!value)
		return 0;
	return map_lookup_elem(&wide, value) ? 1 : 0;
}

SEC("tc")
int format_on_stack(struct __sk_buff *skb)
{
	static const char format[] = "%d";
	char text[16];
	u64 arguments[] = { skb->len };

	return snprintf_args(text, sizeof(text), format, arguments, sizeof(arguments));
}

static NOINLINE u32 depth(u32 left)
{
	u32 depth = 0;

	for (; left > 0 && left <= 64; left /= 2)
		depth++;
	return depth;
}

SEC("tc")
int by_recursion(struct __sk_buff *skb)
{
	return depth(skb->len);
}

SEC("tc")
int reserved_only(struct __sk_buff *skb)
{
	struct bpf_dynptr ptr;
	u64 when = ktime_get_ns();

	if (ringbuf_reserve_dynptr(&events, sizeof(when), 0, &ptr)) {
		ringbuf_discard_dynptr(&ptr, 0);
		return 0;
	}
	dynptr_write(&ptr, 0, &when, sizeof(when), 0);
	ringbuf_submit_dynptr(&ptr, 0);
	return 0;
}

SEC("tc")
int below_start(struct __sk_buff *skb)
{
	u32 at = skb->len - 14;

	if (at > 63)
		return 0;
	return places[at];
}

SEC("tc")
int narrow_key(struct __sk_buff *skb)
{
	u64 key = skb->len;

	return map_lookup_elem(&wide, &key) ? 1 : 0;
}

SEC("tc")
int key_of_queue(struct __sk_buff *skb)
{
	u64 value = 1;

	map_push_elem(&queue, &value, 0);
	return 0;
}

NOINLINE u32 step(u32 bits, u32 sum, u32 at)
{
	if (bits >> (at & 31) & 1)
		sum += 1u << (at & 31) | 1;
	return sum;
}

#define STEP(i) sum = step(bits, sum, i);
#define FOUR_STEPS(i) STEP(i) STEP(i + 1) STEP(i + 2) STEP(i + 3)

SEC("tc")
int sums(struct __sk_buff *skb)
{
	u32 bits = skb->hash, sum = 0;

	FOUR_STEPS(0) FOUR_STEPS(4) FOUR_STEPS(8) FOUR_STEPS(12) FOUR_STEPS(16) FOUR_STEPS(20)
	return sum > 77777 ? 1 : 0;
}

LICENSE_GPL;
