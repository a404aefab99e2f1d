/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A function in a section of its own below `.text`, as compilers make them on request: other loaders
 * than libbpf take it for a subprogram. */
#include "include/skep_bpf.h"

NOINLINE SEC(".text.part") int part(u32 value)
{
	return (int)(value + get_prandom_u32());
}

SEC("tc")
int whole(struct __sk_buff *skb)
{
	return part(skb->len);
}

LICENSE_GPL;
