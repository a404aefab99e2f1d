/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* An exception callback is a global function: libbpf refuses the program that names a static one. */
#include "include/skep_bpf.h"

static NOINLINE __attribute__((used)) int callback(u64 cookie)
{
	return (int)cookie;
}

__attribute__((btf_decl_tag("exception_callback:callback")))
SEC("tc") int prog(struct __sk_buff *skb)
{
	return 0;
}

SEC("tc") int another(struct __sk_buff *skb)
{
	return 0;
}

LICENSE_GPL;
