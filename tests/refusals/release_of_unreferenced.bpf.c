/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A socket is released that the program did not look up. */
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

static long (*const sk_release)(void *sk) = (void *)86;

SEC("tc")
int refused(struct with_sock *ctx)
{
	struct bpf_sock *sk = ctx->sk;

	if (sk)
		sk_release(sk);
	return 0;
}

SEC("tc")
int mended(struct with_sock *ctx)
{
	struct bpf_sock *sk = ctx->sk;

	return sk && sk->family == 2;
}

LICENSE_GPL;
