/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A cast gave a pointer that is only good for reading. */
#include "../../programs/kfuncs/kfuncs.h"

struct sock {
	u32 sk_priority;
} __attribute__((preserve_access_index));

struct tcp_congestion_ops {
	u32 (*ssthresh)(struct sock *sk);
	u32 (*undo_cwnd)(struct sock *sk);
	char name[16];
};

KSYM u32 tcp_reno_ssthresh(struct sock *sk);
KSYM void *bpf_rdonly_cast(const void *obj, u32 btf_id);

SEC("struct_ops")
u32 refused(u64 *ctx)
{
	struct sock *sk = (void *)ctx[0];

	sk = bpf_rdonly_cast(sk, __builtin_btf_type_id(*sk, 1));
	return tcp_reno_ssthresh(sk);
}

SEC("struct_ops")
u32 mended(u64 *ctx)
{
	struct sock *sk = (void *)ctx[0];

	return tcp_reno_ssthresh(sk);
}

SEC(".struct_ops") struct tcp_congestion_ops ops = {
	.ssthresh = (void *)refused,
	.undo_cwnd = (void *)mended,
	.name = "mended",
};

LICENSE_GPL;
