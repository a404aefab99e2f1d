// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Congestion control: kfuncs of all kernels that have kfuncs, and fields that may be written.
#include "../../programs/include/skep_bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define RELAXED __attribute__((preserve_access_index))
#define KFUNC extern __attribute__((section(".ksyms")))

struct sock {
	unsigned long sk_pacing_rate;
	u32 sk_pacing_status;
} RELAXED;

struct tcp_sock {
	u32 snd_cwnd;
	u32 snd_cwnd_cnt;
	u32 snd_cwnd_stamp;
	u32 snd_ssthresh;
	u8 ecn_flags;
	u32 app_limited;
} RELAXED;

struct tcp_congestion_ops {
	u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, u32 ack, u32 acked);
	u32 (*undo_cwnd)(struct sock *sk);
	char name[16];
};

KFUNC u32 tcp_reno_ssthresh(struct sock *sk);

SEC("struct_ops") int calls_kernel(u64 *ctx)
{
	return tcp_reno_ssthresh((void *)ctx[0]);
}

// A program for `cong_avoid` that writes a field, and the struct that names it.
#define WRITES(prog, type, field)                                              \
	SEC("struct_ops") int prog(u64 *ctx)                                   \
	{                                                                      \
		struct type *sk = (void *)ctx[0];                              \
		sk->field = 1;                                                 \
		return 0;                                                      \
	}                                                                      \
	SEC(".struct_ops") struct tcp_congestion_ops ops_##prog = {            \
		.cong_avoid = (void *)prog,                                    \
		.name = #prog,                                                 \
	};

WRITES(writes_rate, sock, sk_pacing_rate)
WRITES(writes_status, sock, sk_pacing_status)
WRITES(writes_window, tcp_sock, snd_cwnd)
WRITES(writes_count, tcp_sock, snd_cwnd_cnt)
WRITES(writes_stamp, tcp_sock, snd_cwnd_stamp)
WRITES(writes_threshold, tcp_sock, snd_ssthresh)
WRITES(writes_flags, tcp_sock, ecn_flags)
WRITES(writes_limit, tcp_sock, app_limited)

// One that may sleep.
SEC("struct_ops.s") int sleeps(u64 *ctx)
{
	return 2;
}

SEC(".struct_ops") struct tcp_congestion_ops ops_sleeps = {
	.undo_cwnd = (void *)sleeps,
	.name = "sleeps",
};

SEC("struct_ops") int returns_window(u64 *ctx)
{
	return 2;
}

SEC(".struct_ops") struct tcp_congestion_ops calling = {
	.ssthresh = (void *)calls_kernel,
	.undo_cwnd = (void *)returns_window,
	.name = "skep",
};

KFUNC void *bpf_rdonly_cast(const void *obj, u32 type);

// The cast makes the pointer untrusted.
SEC("struct_ops") int writes_cast(u64 *ctx)
{
	struct tcp_sock *sk = bpf_rdonly_cast((void *)ctx[0],
					      __builtin_btf_type_id(*(struct tcp_sock *)0, 1));
	sk->snd_cwnd = 1;
	return 0;
}

SEC(".struct_ops") struct tcp_congestion_ops ops_writes_cast = {
	.cong_avoid = (void *)writes_cast,
	.name = "writes_cast",
};
