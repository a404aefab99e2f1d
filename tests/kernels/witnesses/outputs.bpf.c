// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// What helpers take as an output, a size or a socket on some kernels, and do not on others.
#include "../../programs/include/skep_bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define PROGRAM(section, name, body)                                                 \
	SEC(section) __attribute__((naked)) int name(void)                           \
	{                                                                            \
		asm volatile(body "r0 = 0; exit" :: [text]"i"(&text) : "memory");    \
	}

static const char text[64] __attribute__((used)) = "%d";

PROGRAM("raw_tp/sys_enter", stack_into_constants, "r2 = %[text] ll; r3 = 8; r4 = 0; call 67;")
PROGRAM("perf_event", branches_into_constants, "r2 = %[text] ll; r3 = 8; r4 = 0; call 119;")
PROGRAM("cgroup/sysctl", name_into_constants, "r2 = %[text] ll; r3 = 8; r4 = 0; call 101;")
PROGRAM("tc", text_into_constants,
	"r1 = %[text] ll; r2 = 8; r3 = r1; r4 = r10; r4 += -8; *(u64 *)(r10 - 8) = 0; r5 = 8; call 165;")
PROGRAM("tc", object_into_constants,
	"r1 = %[text] ll; r2 = 8; r3 = r10; r3 += -16; *(u64 *)(r10 - 16) = 0; *(u64 *)(r10 - 8) = 0;"
	"r4 = 16; r5 = 0; call 149;")
PROGRAM("tc", syncookie_of_nothing,
	"r6 = r10; r6 += -64; *(u64 *)(r10 - 64) = 0; *(u64 *)(r10 - 56) = 0; *(u64 *)(r10 - 48) = 0;"
	"*(u64 *)(r10 - 40) = 0; *(u64 *)(r10 - 32) = 0; r1 = r6; r2 = r6; r3 = 0; call 204;")
PROGRAM("tc", syncookie6_of_nothing,
	"r6 = r10; r6 += -64; *(u64 *)(r10 - 64) = 0; *(u64 *)(r10 - 56) = 0; *(u64 *)(r10 - 48) = 0;"
	"*(u64 *)(r10 - 40) = 0; *(u64 *)(r10 - 32) = 0; r1 = r6; r2 = r6; r3 = 0; call 205;")
PROGRAM("sk_reuseport", cookie_of_no_socket, "r1 = 0; call 46;")
