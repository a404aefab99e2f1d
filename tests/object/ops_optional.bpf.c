/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* libbpf does not create the first map of the section, but the others. */
#include "include/skep_bpf.h"

struct bpf_dummy_ops {
	int (*test_1)(void *state);
};

SEC("struct_ops") int run(u64 *ctx)
{
	return 0;
}

struct bpf_dummy_ops first SEC("?.struct_ops") = {.test_1 = (void *)run};
struct bpf_dummy_ops second SEC("?.struct_ops") = {.test_1 = (void *)run};
struct bpf_dummy_ops third SEC("?.struct_ops") = {.test_1 = (void *)run};

LICENSE_GPL;
