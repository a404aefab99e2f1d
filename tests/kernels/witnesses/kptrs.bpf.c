// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// A pointer of the kernel's in a map value. Where it counts its references, this type has no
// function that drops one, so that kernels refuse the BTF.
#include "../../programs/include/skep_bpf.h"

char LICENSE[] SEC("license") = "GPL";

struct list_head {
	struct list_head *next, *prev;
} __attribute__((preserve_access_index));

struct of_kernel {
	struct list_head __attribute__((btf_type_tag("kptr"))) *p;
};

struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct of_kernel);
} kernels SEC(".maps");

SEC("tc") int reads_kernel(struct __sk_buff *skb)
{
	u32 key = 0;
	struct of_kernel *v = map_lookup_elem(&kernels, &key);
	struct list_head *p;
	if (!v)
		return 0;
	p = v->p;
	return p ? p->next == p : 0;
}
