/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Programs may not refer to a struct of operations: libbpf finds no map there. */
#include "include/skep_bpf.h"

struct tcp_congestion_ops {
	u32 (*ssthresh)(void *sk);
	void (*cong_avoid)(void *sk, u32 ack, u32 acked);
	u32 (*undo_cwnd)(void *sk);
	char name[16];
};

SEC("struct_ops") u32 number(u64 *ctx)
{
	return 2;
}

SEC("struct_ops") void nothing(u64 *ctx)
{
}

struct tcp_congestion_ops ops SEC(".struct_ops.link") = {
	.ssthresh = (void *)number,
	.cong_avoid = (void *)nothing,
	.name = "skep",
};

SEC("tc") int prog(struct __sk_buff *skb)
{
	return map_lookup_elem(&ops, &(u32){ 0 }) != 0;
}

LICENSE_GPL;
