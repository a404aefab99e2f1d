/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A copy for each CPU is larger than 512 bytes. */
#include "../../programs/kfuncs/kfuncs.h"

struct plain {
	u64 number;
};

struct large {
	u64 numbers[100];
};

KSYM void *bpf_percpu_obj_new_impl(u64 local_type_id__k, void *meta__ign);
KSYM void bpf_percpu_obj_drop_impl(void *p__alloc, void *meta__ign);

SEC("tc")
int refused(struct __sk_buff *ctx)
{
	void *copies = bpf_percpu_obj_new_impl(__builtin_btf_type_id(*(struct large *)0, 0), 0);

	if (copies)
		bpf_percpu_obj_drop_impl(copies, 0);
	return 0;
}

SEC("tc")
int mended(struct __sk_buff *ctx)
{
	void *copies = bpf_percpu_obj_new_impl(__builtin_btf_type_id(*(struct plain *)0, 0), 0);

	if (copies)
		bpf_percpu_obj_drop_impl(copies, 0);
	return 0;
}

LICENSE_GPL;
