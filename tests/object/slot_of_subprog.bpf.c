/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A program array holds programs: libbpf refuses a function that programs call. */
#include "include/skep_bpf.h"

NOINLINE int subprog(int value)
{
	return value * 3 + (int)get_prandom_u32();
}

struct {
	UINT(type, MAP_PROG_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, u32);
	ARRAY(values, int(void));
} progs SEC(".maps") = { .values = { (void *)&subprog } };

SEC("tc") int prog(struct __sk_buff *skb)
{
	tail_call(skb, &progs, 0);
	return subprog((int)skb->len);
}

LICENSE_GPL;
