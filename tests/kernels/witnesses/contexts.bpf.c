// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// By which name a global function may declare its program's context.
#include "../../programs/include/skep_bpf.h"

char LICENSE[] SEC("license") = "GPL";

typedef struct pt_regs bpf_user_pt_regs_t;

struct sk_buff {
	u32 len;
};

struct xdp_buff {
	void *data;
};

struct {
	int (*type)[4];
	int (*key_size)[4];
	int (*value_size)[4];
} events SEC(".maps");

__attribute__((noinline)) int by_typedef(bpf_user_pt_regs_t *ctx)
{
	u64 sent = 0;

	return perf_event_output(ctx, &events, 0, &sent, sizeof(sent));
}

__attribute__((noinline)) int by_struct(struct pt_regs *ctx)
{
	u64 sent = 1;

	return perf_event_output(ctx, &events, 0, &sent, sizeof(sent));
}

__attribute__((noinline)) int by_sk_buff(struct sk_buff *skb)
{
	u64 sent = 2;

	return perf_event_output(skb, &events, 0, &sent, sizeof(sent));
}

__attribute__((noinline)) int by_xdp_buff(struct xdp_buff *xdp)
{
	u64 sent = 3;

	return perf_event_output(xdp, &events, 0, &sent, sizeof(sent));
}

SEC("kprobe") int regs_by_typedef(void *ctx)
{
	return by_typedef(ctx);
}

SEC("kprobe") int regs_by_struct(void *ctx)
{
	return by_struct(ctx);
}

SEC("perf_event") int event_by_struct(void *ctx)
{
	return by_struct(ctx);
}

SEC("tc") int packet_by_sk_buff(struct __sk_buff *skb)
{
	return by_sk_buff((void *)skb);
}

SEC("xdp") int packet_by_xdp_buff(struct xdp_md *xdp)
{
	return by_xdp_buff((void *)xdp) & 1;
}
