// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// What programs may give to helpers.
#include "../../programs/include/skep_bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define SET_RETVAL(section, name, value) \
	SEC(section) __attribute__((naked)) int name(void) \
	{ asm volatile(value "call 187; r0 = 1; exit" ::: "memory"); }

#define POSITIVE "r1 = 5;"
#define UNKNOWN "call 7; r1 = r0;"
#define CONTEXT ""
#define ERRNO "r1 = -1;"
#define HALF_ERRNO "w1 = -1;"
#define TOO_LOW "r1 = -4096;"

SET_RETVAL("cgroup/dev", dev_positive, POSITIVE)
SET_RETVAL("cgroup/dev", dev_unknown, UNKNOWN)
SET_RETVAL("cgroup/dev", dev_context, CONTEXT)
SET_RETVAL("cgroup/dev", dev_errno, ERRNO)
SET_RETVAL("cgroup/dev", dev_half_errno, HALF_ERRNO)
SET_RETVAL("cgroup/dev", dev_too_low, TOO_LOW)
SET_RETVAL("cgroup/getsockopt", get_positive, POSITIVE)
SET_RETVAL("cgroup/getsockopt", get_unknown, UNKNOWN)
SET_RETVAL("cgroup/getsockopt", get_context, CONTEXT)
SET_RETVAL("cgroup/setsockopt", set_positive, POSITIVE)
SET_RETVAL("cgroup/setsockopt", set_unknown, UNKNOWN)
SET_RETVAL("cgroup/setsockopt", set_context, CONTEXT)
SET_RETVAL("cgroup/sysctl", sysctl_unknown, UNKNOWN)
SET_RETVAL("cgroup/bind4", bind_unknown, UNKNOWN)
SET_RETVAL("cgroup/sock_create", create_unknown, UNKNOWN)

// A loop as many times as the address of the stack says.
static __attribute__((naked)) int ends_round(void)
{
	asm volatile("r0 = 1; exit" ::: "memory");
}

SEC("tp/syscalls/sys_enter_getpid") __attribute__((naked)) int loops_address_times(void)
{
	asm volatile("r1 = r10;"
		     "r2 = %[round] ll;"
		     "r3 = 0;"
		     "r4 = 0;"
		     "call 181;"
		     "r0 = 0;"
		     "exit" :: [round] "i"(ends_round) : "memory");
}
