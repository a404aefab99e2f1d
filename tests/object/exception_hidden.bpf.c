/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* An exception callback is visible: libbpf refuses the program that names a hidden one. */
#include "include/skep_bpf.h"

__attribute__((visibility("hidden"))) NOINLINE int callback(u64 cookie)
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
