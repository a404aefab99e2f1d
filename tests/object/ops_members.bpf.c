/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Members of other kinds and sizes than those of the kernels that tests make. */
#include "include/skep_bpf.h"

struct skep_ops {
	int flags;
	int (*first)(int value);
};

SEC("struct_ops") int the_first(u64 *ctx)
{
	return 0;
}

struct skep_ops ops SEC(".struct_ops.link") = {.first = (void *)the_first};

LICENSE_GPL;
