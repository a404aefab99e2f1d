/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The store covers the field behind the one that may be written, too. */
#include "../../programs/include/skep_bpf.h"

struct tcp_sock {
	u32 snd_ssthresh;
	u32 snd_cwnd;
} __attribute__((preserve_access_index));

struct tcp_congestion_ops {
	u32 (*ssthresh)(void *sk);
	u32 (*undo_cwnd)(void *sk);
	char name[16];
};

SEC("struct_ops")
u32 refused(u64 *ctx)
{
	struct tcp_sock *tp = (void *)ctx[0];

	asm volatile("*(u64 *)(%0 + 0) = %1" : : "r"(&tp->snd_cwnd), "r"(2ULL) : "memory");
	return 2;
}

SEC("struct_ops")
u32 mended(u64 *ctx)
{
	struct tcp_sock *tp = (void *)ctx[0];

	tp->snd_cwnd = 2;
	return 2;
}

SEC(".struct_ops") struct tcp_congestion_ops ops = {
	.ssthresh = (void *)refused,
	.undo_cwnd = (void *)mended,
	.name = "mended",
};

LICENSE_GPL;
