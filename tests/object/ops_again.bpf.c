/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Of two struct_ops sections, libbpf reads both by the variables of the only DATASEC. */
#include "include/skep_bpf.h"

struct tcp_congestion_ops {
	void (*init)(void *sk);
};

asm(".section .struct_ops,\"aw\",@progbits,unique,1; .8byte 0; .text");

SEC("struct_ops") void begins(u64 *ctx)
{
}

struct tcp_congestion_ops ops SEC(".struct_ops") = {.init = (void *)begins};

LICENSE_GPL;
