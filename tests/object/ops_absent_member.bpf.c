/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A member that the kernel does not have may not be set, to a program neither. */
#include "include/skep_bpf.h"

struct tcp_congestion_ops___skep {
	u32 (*ssthresh)(void *sk);
	void (*cong_avoid)(void *sk, u32 ack, u32 acked);
	u32 (*undo_cwnd)(void *sk);
	u32 (*absent)(void *sk);
	char name[16];
};

SEC("struct_ops") u32 number(u64 *ctx)
{
	return 2;
}

SEC("struct_ops") void nothing(u64 *ctx)
{
}

struct tcp_congestion_ops___skep ops SEC(".struct_ops.link") = {
	.ssthresh = (void *)number,
	.absent = (void *)number,
	.cong_avoid = (void *)nothing,
	.name = "skep",
};

LICENSE_GPL;
