// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Sizes of addresses, and who may write what user programs see.
#include "../../programs/include/skep_bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define LOOKUP(name, helper, size) \
	SEC("tc") __attribute__((naked)) int name(void) \
	{ \
		asm volatile("r2 = 0;" \
			     "*(u64 *)(r10 - 8) = r2;" \
			     "*(u64 *)(r10 - 16) = r2;" \
			     "r2 = r10;" \
			     "r2 += -16;" \
			     "r3 = " #size ";" \
			     "r4 = -1;" \
			     "r5 = 0;" \
			     "call " #helper ";" \
			     "if r0 == 0 goto 1f;" \
			     "r1 = r0;" \
			     "call 86;" \
			     "1:" \
			     "r0 = 0;" \
			     "exit" ::: "memory"); \
	}

LOOKUP(tcp_of_no_address, 84, 0)
LOOKUP(udp_of_no_address, 85, 0)
LOOKUP(any_of_no_address, 99, 0)
LOOKUP(tcp_of_address, 84, 12)

#define WRITE_USER(section, name) \
	SEC(section) __attribute__((naked)) int name(void) \
	{ \
		asm volatile("r1 = 0;" \
			     "*(u64 *)(r10 - 8) = r1;" \
			     "r2 = r10;" \
			     "r2 += -8;" \
			     "r3 = 8;" \
			     "call 36;" \
			     "r0 = 1;" \
			     "exit" ::: "memory"); \
	}

WRITE_USER("tc", written_by_tc)
WRITE_USER("xdp", written_by_xdp)
WRITE_USER("cgroup_skb/egress", written_by_cgroup)
WRITE_USER("cgroup/sysctl", written_by_sysctl)
WRITE_USER("sockops", written_by_sockops)
WRITE_USER("flow_dissector", written_by_dissector)
WRITE_USER("socket", written_by_filter)
WRITE_USER("kprobe/do_nanosleep", written_by_kprobe)
WRITE_USER("raw_tp/sys_enter", written_by_raw_tp)
WRITE_USER("perf_event", written_by_perf_event)
WRITE_USER("syscall", written_by_syscall)

SEC("kprobe/do_nanosleep") __attribute__((naked)) int half_written_read_by_helper(void)
{
	asm volatile("r1 = 0;"
		     "*(u32 *)(r10 - 16) = r1;"
		     "*(u64 *)(r10 - 8) = r1;"
		     "r1 = r10;"
		     "r1 += -16;"
		     "r2 = 16;"
		     "call 6;"
		     "r0 = 0;"
		     "exit" ::: "memory");
}

SEC("tc") __attribute__((naked)) int read_below_what_was_written(void)
{
	asm volatile("r1 = r10;"
		     "r1 += -32;"
		     "r2 = 0;"
		     "r3 = 0;"
		     "r4 = 0;"
		     "r5 = 0;"
		     "call 28;"
		     "r1 = 0;"
		     "*(u64 *)(r10 - 8) = r1;"
		     "*(u64 *)(r10 - 16) = r1;"
		     "*(u64 *)(r10 - 24) = r1;"
		     "r1 = r10;"
		     "r1 += -32;"
		     "r2 = 32;"
		     "call 6;"
		     "r0 = 0;"
		     "exit" ::: "memory");
}

// Names that bpf_sysctl_get_name writes where nothing was written before.
#define NAME_AT(name, written, at, size) \
	SEC("cgroup/sysctl") __attribute__((naked)) int name(void) \
	{ asm volatile("r2 = 0;" written "r2 = r10; r2 += " at "; r3 = " size "; r4 = 0;" \
		       "call 101; r0 = 1; exit" ::: "memory"); }
NAME_AT(name_below_what_was_written, "*(u64 *)(r10 - 8) = r2;", "-9", "9")
NAME_AT(name_in_new_stack, "", "-8", "8")
NAME_AT(name_beyond_stack, "", "-520", "16")

// A comm, which is only written, at an offset that is not known.
SEC("kprobe/do_nanosleep") __attribute__((naked)) int comm_somewhere_in_new_stack(void)
{
	asm volatile("call 7;"
		     "r0 &= 7;"
		     "r1 = r10;"
		     "r1 += -32;"
		     "r1 += r0;"
		     "r2 = 16;"
		     "call 16;"
		     "r0 = 0;"
		     "exit" ::: "memory");
}

SEC("kprobe/do_nanosleep") __attribute__((naked)) int comm_in_new_stack(void)
{
	asm volatile("r1 = r10;"
		     "r1 += -32;"
		     "r2 = 16;"
		     "call 16;"
		     "r0 = *(u64 *)(r10 - 24);"
		     "r0 = 0;"
		     "exit" ::: "memory");
}
