/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Of two sections with variables of the arena, libbpf takes the last: nothing may refer to the
 * other one. */
#include "include/skep_bpf.h"

struct {
	UINT(type, 33);
	UINT(map_flags, 1024);
	UINT(max_entries, 1);
} arena SEC(".maps");

char __attribute__((address_space(1))) variable = 1;
extern char __attribute__((address_space(1))) earlier;
asm(".section .addr_space.1,\"aw\",@progbits,unique,1;"
    ".globl earlier; .type earlier,@object; .size earlier, 8; earlier: .8byte 1; .text");

SEC("syscall") int prog(void *ctx)
{
	return variable + earlier + (map_lookup_elem(&arena, &(u32){ 0 }) != 0);
}

LICENSE_GPL;
