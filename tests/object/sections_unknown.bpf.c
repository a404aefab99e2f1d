/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* What a section name must say for a program to be loaded: a type, and an attach target that the
 * kernel has (skep_event, skep_kfunc: see small_kernel.c). */
#include "include/skep_bpf.h"

#define PROGRAM(section, name) \
	SEC(section) int name(void *ctx) { return 0; }

PROGRAM("xdp_old", unknown_name)
PROGRAM("xdp/target", target_where_none_belongs)
PROGRAM("socket1", known_name_with_a_tail)
PROGRAM("tracing", type_without_a_section)
PROGRAM("fentry", fentry_without_target)
PROGRAM("fmod_ret.s", fmod_ret_without_target)
PROGRAM("tp_btf", tp_btf_without_target)
PROGRAM("iter", iter_without_target)
PROGRAM("lsm", lsm_without_target)
PROGRAM("fexit/", fexit_with_an_empty_target)
PROGRAM("fentry/skep_absent", fentry_of_what_is_not_there)
PROGRAM("tp_btf/skep_absent", tp_btf_of_what_is_not_there)
PROGRAM("iter/skep_absent", iter_of_what_is_not_there)
PROGRAM("lsm.s/skep_absent", lsm_of_what_is_not_there)
PROGRAM("fmod_ret/skep_absent", fmod_ret_of_what_is_not_there)
PROGRAM("struct_ops/skep_absent", in_no_struct_ops_map)

SEC("from-container") int type_by_context(struct __sk_buff *skb)
{
	return skb->len > 60;
}

PROGRAM("xdp", loads)

LICENSE_GPL;
