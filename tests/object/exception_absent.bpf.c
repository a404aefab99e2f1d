/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* An exception callback is a function of .text: libbpf refuses the program that names a program. */
#include "include/skep_bpf.h"

__attribute__((btf_decl_tag("exception_callback:another")))
SEC("tc") int prog(struct __sk_buff *skb)
{
	return 0;
}

SEC("tc") int another(struct __sk_buff *skb)
{
	return 0;
}

LICENSE_GPL;
