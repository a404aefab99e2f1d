/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Has a variable of an arena, but no arena: libbpf refuses the object, not the program. */
#include "include/skep_bpf.h"

char LICENSE[] SEC("license") = "GPL";

__attribute__((address_space(1))) u64 counted;

SEC("xdp") int reads_it(void *ctx)
{
	return counted;
}

SEC("xdp") int reads_nothing(void *ctx)
{
	return 2;
}
