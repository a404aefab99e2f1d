/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* An exception is thrown out of a callback. */
#include "../../programs/kfuncs/kfuncs.h"

KSYM void bpf_throw(u64 cookie) __attribute__((noreturn));

static long throws(u32 i, void *ctx)
{
	if (i > 2)
		bpf_throw(0);
	return 0;
}

static long counts(u32 i, void *ctx)
{
	return i > 2;
}

SEC("tc")
int refused(struct __sk_buff *ctx)
{
	loop(4, throws, 0, 0);
	return 0;
}

SEC("tc")
int mended(struct __sk_buff *ctx)
{
	if (loop(4, counts, 0, 0) != 4)
		bpf_throw(0);
	return 0;
}

LICENSE_GPL;
