/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The handler of exceptions has two parameters. */
#include "../../programs/kfuncs/kfuncs.h"

KSYM void bpf_throw(u64 cookie) __attribute__((noreturn));

NOINLINE int two(u64 cookie, u64 more)
{
	return cookie + more;
}

NOINLINE int one(u64 cookie)
{
	return cookie + 3;
}

SEC("tc") __attribute__((btf_decl_tag("exception_callback:two")))
int refused(struct __sk_buff *ctx)
{
	if (ctx->len > 5)
		bpf_throw(7);
	return 0;
}

SEC("tc") __attribute__((btf_decl_tag("exception_callback:one")))
int mended(struct __sk_buff *ctx)
{
	if (ctx->len > 5)
		bpf_throw(7);
	return 0;
}

LICENSE_GPL;
