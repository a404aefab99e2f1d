/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Mistakes of first programs. mended/first.bpf.c follows the helps. Built with the flags of
 * tests/programs/build.sh. */
#include "../../programs/include/packet.h"

static u64 (*const get_socket_cookie)(void *ctx) = (void *)46;
static long (*const timer_set_callback)(void *timer, void *callback) = (void *)170;

struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 4);
	TYPE(key, u32);
	TYPE(value, u32);
} programs SEC(".maps");

struct {
	UINT(type, MAP_HASH);
	UINT(max_entries, 16);
	TYPE(key, u32);
	TYPE(value, u16);
} numbers SEC(".maps");

struct bpf_timer {
	u64 opaque[2];
};

struct timed {
	struct bpf_timer timer;
};

struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct timed);
} timers SEC(".maps");

/* A tail call through a map that is not of programs. */
SEC("xdp")
int tail_call_in_array(struct xdp_md *ctx)
{
	tail_call(ctx, &programs, 1);
	return XDP_PASS;
}

/* A helper of other program types. */
SEC("xdp")
int helper_of_sockets(struct xdp_md *ctx)
{
	return get_socket_cookie(ctx) ? XDP_PASS : XDP_DROP;
}

/* One that has a counterpart. */
SEC("xdp")
int helper_of_skb(struct xdp_md *ctx)
{
	u8 head[4] = {};

	skb_load_bytes(ctx, 0, head, sizeof(head));
	return head[0] ? XDP_PASS : XDP_DROP;
}

/* The check is of a pointer that was moved, so the compiler drops it; the load is on no line. */
SEC("socket")
u16 checked_when_moved(struct __sk_buff *skb)
{
	u32 key = skb->hash;
	u16 *number;

	number = map_lookup_elem(&numbers, &key);
	number += 1;
	if (number)
		return *number;
	return 0;
}

/* A callback that moves a pointer is verified again for each position. */
struct position {
	u8 *at;
	u8 *end;
	u32 sum;
};

static long each_byte(u32 idx, struct position *it)
{
	if (it->at + 1 > it->end)
		return 1;
	it->sum += *it->at++;
	return 0;
}

SEC("xdp")
int callback_moves(struct xdp_md *ctx)
{
	struct position it = { (void *)(long)ctx->data, (void *)(long)ctx->data_end, 0 };

	loop(100, each_byte, &it, 0);
	return it.sum & 1 ? XDP_PASS : XDP_DROP;
}

/* A callback of which only one result is allowed. */
static int ring(void *map, u32 *key, struct timed *value)
{
	return 1;
}

SEC("tc")
int result_of_callback(struct __sk_buff *skb)
{
	u32 key = 0;
	struct timed *value = map_lookup_elem(&timers, &key);

	if (value)
		timer_set_callback(&value->timer, ring);
	return 0;
}

/* An address that is a number, as an array and through a pointer. */
SEC("tracepoint/syscalls/sys_enter_openat")
int path_as_array(u64 *ctx)
{
	const char *name = (const char *)ctx[3];

	return name[0] == '/';
}

SEC("tracepoint/syscalls/sys_enter_openat")
int path_as_pointer(u64 *ctx)
{
	const char *name = (const char *)ctx[3];

	return *name == '/';
}

LICENSE_GPL;
