/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Names of sections whose maps are named as the kernel allows, and a target of no named module. */
#include "include/skep_bpf.h"

int value SEC(".data.a-b") = 1;

SEC("fentry/:vfs_read") int prog(void *ctx)
{
	return value;
}

LICENSE_GPL;
