/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Only global functions have exception callbacks: libbpf loads no program if a variable has one. */
#include "include/skep_bpf.h"

NOINLINE int callback(u64 cookie)
{
	return (int)cookie;
}

__attribute__((btf_decl_tag("exception_callback:callback")))
int variable;

SEC("tc") int prog(struct __sk_buff *skb)
{
	return variable;
}

SEC("tc") int another(struct __sk_buff *skb)
{
	return 0;
}

LICENSE_GPL;
