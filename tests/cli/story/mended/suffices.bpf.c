/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The programs of ../suffices.bpf.c with the lines that their helps ask for. Accepted. Built with the
 * flags of tests/programs/build.sh. */
#include "../../../programs/include/packet.h"

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

SEC("xdp")
int before_first(struct xdp_md *ctx)
{
	u32 zero = 0, count = ctx->rx_queue_index;
	struct element *e = map_lookup_elem(&elements, &zero);

	if (!e || count < 1 || count > 64)
		return XDP_PASS;
	e->bytes[count - 1] = 1;
	return XDP_PASS;
}

SEC("xdp")
int last_one(struct xdp_md *ctx)
{
	u32 zero = 0, i = ctx->rx_queue_index;
	struct element *e = map_lookup_elem(&elements, &zero);

	if (!e || i > 63 || i > 64)
		return XDP_PASS;
	e->bytes[i] = 1;
	return XDP_PASS;
}

SEC("kprobe/it")
int too_long(struct pt_regs *ctx)
{
	u64 len = ctx->si;
	u32 zero = 0;
	struct element *e = map_lookup_elem(&elements, &zero);

	if (!e || len > sizeof(e->bytes))
		return 0;
	return probe_read_user(e->bytes, len, (void *)ctx->di);
}

SEC("kprobe/it")
int signed_length(struct pt_regs *ctx)
{
	u32 len = ctx->si;
	u32 zero = 0;
	struct element *e = map_lookup_elem(&elements, &zero);

	if (!e || len > 64)
		return 0;
	return probe_read_user(e->bytes, len, (void *)ctx->di);
}

SEC("xdp")
int with_options(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct ipv4_hdr *ip = data;

	if (data + 60 > end)
		return XDP_DROP;
	return csum_diff(0, 0, ip, (ip->version_ihl & 15) * 4, 0) & 1;
}

SEC("xdp")
int kept_in_map(struct xdp_md *ctx)
{
	u8 *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	u32 zero = 0;
	struct element *e = map_lookup_elem(&elements, &zero);

	if (!e || data + 1 > end)
		return XDP_DROP;
	return *data;
}

SEC("tc")
int timer_on_stack(struct __sk_buff *ctx)
{
	u32 zero = 0;
	struct alarm *alarm = map_lookup_elem(&alarms, &zero);

	return alarm ? timer_init(&alarm->timer, &alarms, 1) : 0;
}

SEC("xdp")
int end_moved(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;

	if (data + 15 > end)
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

SEC("xdp")
int through_pointer(struct xdp_md *ctx)
{
	return get_prandom_u32() & 1 ? first(ctx) : second(ctx);
}

LICENSE_GPL;
