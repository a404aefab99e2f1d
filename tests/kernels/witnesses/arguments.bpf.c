// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Arguments of global functions that may be anything.
#include "../../programs/include/skep_bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define GLOBAL __attribute__((noinline))
#define UNTRUSTED __attribute__((btf_decl_tag("arg:untrusted")))

struct list_head {
	struct list_head *next, *prev;
} __attribute__((preserve_access_index));

GLOBAL int takes_memory(u64 *p UNTRUSTED)
{
	return *p;
}
SEC("tc") int gives_no_memory(struct __sk_buff *skb)
{
	return takes_memory((u64 *)(u64)skb->mark);
}

GLOBAL int takes_object(struct list_head *p UNTRUSTED)
{
	return p->next->next == p;
}
SEC("tc") int gives_no_object(struct __sk_buff *skb)
{
	return takes_object((struct list_head *)(u64)skb->mark);
}
