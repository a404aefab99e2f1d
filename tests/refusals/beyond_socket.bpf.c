/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A field of a socket is read with a wrong size. */
#include "packet.h"

struct bpf_sock {
	u32 bound_dev_if;
	u32 family;
};

/* Of the context only what is used. */
struct with_sock {
	u32 words[42];
	struct bpf_sock *sk;
};

SEC("tc")
int refused(struct with_sock *ctx)
{
	struct bpf_sock *sk = ctx->sk;

	return sk && *(u64 *)&sk->family;
}

SEC("tc")
int mended(struct with_sock *ctx)
{
	struct bpf_sock *sk = ctx->sk;

	return sk && sk->family == 2;
}

LICENSE_GPL;
