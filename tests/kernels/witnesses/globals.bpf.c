// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Global functions: what they may take, return, and change.
#include "../../programs/include/skep_bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define GLOBAL __attribute__((noinline))
#define KEEP asm volatile("" ::: "memory")

GLOBAL void returns_nothing(struct __sk_buff *skb) { KEEP; }
SEC("tc") int calls_void(struct __sk_buff *skb)
{
	returns_nothing(skb);
	return 0;
}

GLOBAL int g8(struct __sk_buff *skb) { KEEP; return 8; }
GLOBAL int g7(struct __sk_buff *skb) { KEEP; return g8(skb) + 1; }
GLOBAL int g6(struct __sk_buff *skb) { KEEP; return g7(skb) + 1; }
GLOBAL int g5(struct __sk_buff *skb) { KEEP; return g6(skb) + 1; }
GLOBAL int g4(struct __sk_buff *skb) { KEEP; return g5(skb) + 1; }
GLOBAL int g3(struct __sk_buff *skb) { KEEP; return g4(skb) + 1; }
GLOBAL int g2(struct __sk_buff *skb) { KEEP; return g3(skb) + 1; }
GLOBAL int g1(struct __sk_buff *skb) { KEEP; return g2(skb) + 1; }
SEC("tc") int calls_chain(struct __sk_buff *skb)
{
	return g1(skb);
}

GLOBAL int takes_memory(const int *p)
{
	return p ? *p : 0;
}
SEC("tc") int gives_memory(struct __sk_buff *skb)
{
	int n = skb->mark;
	return takes_memory(&n);
}

GLOBAL int takes_what_is_there(int *p __attribute__((btf_decl_tag("arg:nonnull"))))
{
	return *p;
}
SEC("tc") int gives_what_is_there(struct __sk_buff *skb)
{
	int n = skb->mark;
	return takes_what_is_there(&n);
}

static long (*const pull_data)(void *skb, u32 len) = (void *)39;

GLOBAL int pulls(struct __sk_buff *skb)
{
	return pull_data(skb, 0);
}
SEC("tc") int reads_after_pull(struct __sk_buff *skb)
{
	u8 *data = (void *)(u64)skb->data, *end = (void *)(u64)skb->data_end;
	if (data + 1 > end)
		return 0;
	pulls(skb);
	return *data;
}

// A function for exceptions that returns what the program may not.
GLOBAL int at_exception(u64 cookie)
{
	asm volatile("" : "+r"(cookie));
	return 5;
}
SEC("cgroup_skb/ingress") __attribute__((btf_decl_tag("exception_callback:at_exception")))
int names_callback(struct __sk_buff *skb)
{
	at_exception(skb->len);
	return 0;
}
