/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Addresses of the kernel's symbols, by their whole names: only what has a type has flavors. */
#include "include/skep_bpf.h"

#define KSYM __attribute__((section(".ksyms")))

extern const void schedule KSYM;
extern const void schedule___flavor KSYM __attribute__((weak));

SEC("socket") int prog(void *ctx)
{
	return (u64)&schedule == (u64)&schedule___flavor;
}

LICENSE_GPL;
