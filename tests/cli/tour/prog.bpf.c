/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The programs of docs/tour.md, by their names there. Built as tests/programs are:
 * clang-19 -g -O2 -target bpf -mcpu=v3 -ffile-compilation-dir=. -I../../programs -c prog.bpf.c */
#include "include/packet.h"

struct {
	UINT(type, MAP_HASH);
	UINT(max_entries, 16);
	TYPE(key, u32);
	TYPE(value, u64);
} ports SEC(".maps");

const volatile u32 limit = 5;

SEC("xdp")
int my_xdp(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data;
	void *end = (void *)(long)ctx->data_end;
	u32 key = limit;
	u64 *count;

	if (data + sizeof(struct eth_hdr) > end)
		return XDP_DROP;
	count = map_lookup_elem(&ports, &key);
	if (count)
		*count += 1;
	return XDP_PASS;
}

SEC("perf_event")
int my_perf(struct bpf_perf_event_data *ctx)
{
	return ctx->sample_period == 9 && ctx->regs.ip == 0x10;
}

SEC("socket")
int my_prog(struct __sk_buff *skb)
{
	u32 key = 0;
	u64 *count = map_lookup_elem(&ports, &key);

	if (count)
		*count += 1;
	return 0;
}

LICENSE_GPL;
