/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Refused: a check is there, but does not suffice; or the thing is where it cannot be. Built with the
 * flags of tests/programs/build.sh. */
#include "../../programs/include/packet.h"
#include "inlined.h"

static long (*const probe_read_user)(void *dst, u32 size, const void *from) = (void *)112;

struct bpf_timer {
	u64 opaque[2];
} __attribute__((aligned(8)));

static long (*const timer_init)(struct bpf_timer *timer, void *map, u64 flags) = (void *)169;

struct element {
	u64 count;
	void *saved;
	u8 bytes[64];
};

struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct element);
} elements SEC(".maps");

struct alarm {
	struct bpf_timer timer;
};

struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct alarm);
} alarms SEC(".maps");

struct {
	UINT(type, MAP_HASH);
	UINT(max_entries, 8);
	TYPE(key, u32);
	TYPE(value, u64);
} hits SEC(".maps");

/* 0 is not excluded, and 0 - 1 is the largest number. */
SEC("xdp")
int before_first(struct xdp_md *ctx)
{
	u32 zero = 0, count = ctx->rx_queue_index;
	struct element *e = map_lookup_elem(&elements, &zero);

	if (!e || count > 64)
		return XDP_PASS;
	e->bytes[count - 1] = 1;
	return XDP_PASS;
}

/* One more than there are. */
SEC("xdp")
int last_one(struct xdp_md *ctx)
{
	u32 zero = 0, i = ctx->rx_queue_index;
	struct element *e = map_lookup_elem(&elements, &zero);

	if (!e || i > 64)
		return XDP_PASS;
	e->bytes[i] = 1;
	return XDP_PASS;
}

/* The memory is smaller than the length may be. */
SEC("kprobe/it")
int too_long(struct pt_regs *ctx)
{
	u64 len = ctx->si;
	u32 zero = 0;
	struct element *e = map_lookup_elem(&elements, &zero);

	if (!e || len > 128)
		return 0;
	return probe_read_user(e->bytes, len, (void *)ctx->di);
}

/* As an `int`, a negative number is less than 64, too. */
SEC("kprobe/it")
int signed_length(struct pt_regs *ctx)
{
	int len = ctx->si;
	u32 zero = 0;
	struct element *e = map_lookup_elem(&elements, &zero);

	if (!e || len > 64)
		return 0;
	return probe_read_user(e->bytes, (u32)len, (void *)ctx->di);
}

/* The header may be three times as long as what is compared. */
SEC("xdp")
int with_options(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct ipv4_hdr *ip = data;

	if ((void *)(ip + 1) > end)
		return XDP_DROP;
	return csum_diff(0, 0, ip, (ip->version_ihl & 15) * 4, 0) & 1;
}

/* A map value keeps the address as a number. */
SEC("xdp")
int kept_in_map(struct xdp_md *ctx)
{
	u8 *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	u32 zero = 0;
	struct element *e = map_lookup_elem(&elements, &zero);

	if (!e || data + 1 > end)
		return XDP_DROP;
	e->saved = data;
	return **(u8 *volatile *)&e->saved;
}

/* Timers are kept in maps. */
SEC("tc")
int timer_on_stack(struct __sk_buff *ctx)
{
	struct bpf_timer timer = {};

	return timer_init(&timer, &alarms, 1);
}

/* The end of the packet is where it is. */
SEC("xdp")
int end_moved(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;

	if (data + 14 > end + 1)
		return XDP_DROP;
	return *(u8 *)data;
}

static NOINLINE int first(struct xdp_md *ctx)
{
	return ctx->rx_queue_index;
}

static NOINLINE int second(struct xdp_md *ctx)
{
	return ctx->ingress_ifindex;
}

/* Which function is called is not known at load time. */
SEC("xdp")
int through_pointer(struct xdp_md *ctx)
{
	int (*of)(struct xdp_md *) = get_prandom_u32() & 1 ? first : second;

	return of(ctx);
}

/* The line that is refused is that of the header. */
SEC("xdp")
int of_header(struct xdp_md *ctx)
{
	count(&hits, ctx->rx_queue_index);
	return XDP_PASS;
}

static NOINLINE int byte_of(u8 *bytes, u32 at)
{
	return bytes[at];
}

/* The function is called with what it must not have. */
SEC("xdp")
int of_callee(struct xdp_md *ctx)
{
	u32 zero = 0;
	struct element *e = map_lookup_elem(&elements, &zero);

	if (!e)
		return XDP_PASS;
	return byte_of(e->bytes, ctx->rx_queue_index);
}

/* No line has the constant. */
SEC("cgroup/dev")
int no_such_result(void *ctx)
{
	if (get_prandom_u32() & 1)
		return 7;
	return 1;
}

LICENSE_GPL;
