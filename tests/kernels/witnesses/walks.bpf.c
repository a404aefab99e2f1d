// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// How walks end and which states they leave out: the verdict shows it, or the number of insns.
#include "../../programs/include/skep_bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define READ_NULL "r0 = 0; r0 = *(u64 *)(r0 + 0);"
#define PROGRAM(section, name, body) \
	SEC(section) __attribute__((naked)) int name(void) { asm volatile(body ::: "memory"); }
// Enough jumps and insns that the next place where a state may be saved has one.
#define ENOUGH "r9 = 0; if r9 != 0 goto 9f; r9 = 1; r9 = 2; r9 = 3; r9 = 4; if r9 == 0 goto 9f; r9 = 0; r9 = 0; 9:"
// A tail that is walked again where no saved state covers another.
#define TAIL "r3 = 1; r3 = 2; r3 = 3; r3 = 4; r3 = 5; r3 = 6; r3 = 7; r3 = 8;"

// The loop's end goes on to its condition.
PROGRAM("socket", falls_into_loop,
	"r6 = 0;"
	"goto 2f;"
	"1: r6 += 1;"
	"2: if r6 < 3 goto 1b;"
	"r0 = 0;"
	"exit")

// Only the stack changes, and what it holds gets less with each round.
PROGRAM("socket", counted_in_stack,
	"call 7; r0 &= 255;"
	"*(u64 *)(r10 - 8) = r0;"
	"r0 = 0;"
	"1: r0 = *(u64 *)(r10 - 8);"
	"if r0 > 10 goto 2f;"
	"r0 += 1;"
	"*(u64 *)(r10 - 8) = r0;"
	"r0 = 0;"
	"goto 1b;"
	"2: r0 = 0;"
	"exit")

// A constant that comes up to a range of 64 bits.
PROGRAM("socket", constant_to_range,
	"call 7; r0 &= 7; r6 = 0x7ffffffffffffffc ll; r7 = r6; r6 += r0;"
	"1: r7 += 1;"
	"if r7 < r6 goto 1b;"
	"r0 = 0;"
	"exit")

PROGRAM("socket", loop_without_end,
	"call 7;"
	"if r0 == 0 goto 2f;"
	"r6 = 5;"
	"1: goto 1b;"
	"2: r0 = 0;"
	"exit")

// What is returned, 0 or 1.
PROGRAM("cgroup_skb/ingress", other_result,
	"call 7;"
	"r6 = 0;"
	"if r0 == 0 goto 1f;"
	"r6 = 1;"
	"1:" ENOUGH
	"if r9 == 7 goto 2f;"
	"2:" TAIL
	"r0 = r6;"
	"exit")

// A function is called between where a number differs and where another must be precise.
static NOINLINE __attribute__((naked)) int zero(void)
{
	asm volatile("r0 = 0; exit" ::: "memory");
}

SEC("socket") __attribute__((naked)) int number_before_call(void)
{
	asm volatile("call 7;"
		     "r7 = 1;"
		     "if r0 == 0 goto 1f;"
		     "r7 = 2;"
		     "1:" ENOUGH
		     "if r9 == 7 goto 2f;"
		     "2: call %[f];"
		     "r1 = r10;"
		     "r1 += -16;"
		     "r1 += r0;"
		     "*(u8 *)(r1 + 0) = w0;" TAIL
		     "r7 += 1;"
		     "r0 = 0;"
		     "exit" :: [f] "i"(zero) : "memory");
}

// Sockets of two lookups.
#define LOOK_UP "r1 = r6; r2 = r10; r2 += -16; r3 = 12; r4 = -1; r5 = 0; call 84;"
PROGRAM("tc", other_socket,
	"r6 = r1; r1 = 0; *(u64 *)(r10 - 8) = r1; *(u64 *)(r10 - 16) = r1;"
	"call 7;"
	"if r0 == 0 goto 1f;"
	LOOK_UP "if r0 == 0 goto 3f;"
	"goto 2f;"
	"1:" LOOK_UP "if r0 == 0 goto 3f;"
	"2: r7 = r0;" ENOUGH
	"if r9 == 7 goto 4f;"
	"4:" TAIL
	"r1 = r7; call 86;"
	"3: r0 = 0;"
	"exit")

// Two numbers that are linked with nothing, or with one another.
PROGRAM("socket", other_links,
	"call 7; r6 = r0; call 7; r6 &= 7;"
	"if r0 == 0 goto 1f;"
	"call 7; r0 &= 7; r7 = r0; call 7; r0 &= 7; r8 = r0; r0 = 0;"
	"goto 2f;"
	"1: call 7; r0 &= 7; r7 = r0; r8 = r0; r0 = 0;"
	"2:" ENOUGH
	"if r9 == 7 goto 4f;"
	"4:" TAIL
	"r1 = r10; r1 += -32; r1 += r7; r1 += r8;"
	"*(u8 *)(r1 + 0) = w0;"
	"r0 = 0;"
	"exit")

// A number without relations, or another plus a constant.
PROGRAM("socket", number_or_sum,
	"call 7; r7 = r0; r7 &= 7; call 7;"
	"r6 = 0;"
	"if r0 == 0 goto 1f;"
	"call 7; r6 = r0; r6 &= 15; r0 = 0;"
	"goto 2f;"
	"1: r6 = r7; r6 += 4; r0 = 0;"
	"2:" ENOUGH
	"if r9 == 7 goto 4f;"
	"4:" TAIL
	"r1 = r10; r1 += -32; r1 += r6;"
	"*(u8 *)(r1 + 0) = w0;"
	"r1 = r10; r1 += -32; r1 += r7;"
	"*(u8 *)(r1 + 0) = w0;"
	"r0 = 0;"
	"exit")

// A register that is read only where a constant does not let walks go.
PROGRAM("socket", read_where_never,
	"call 7;"
	"r7 = 0;"
	"r8 = 0;"
	"if r0 == 0 goto 1f;"
	"r7 = r10;"
	"1:" ENOUGH
	"if r9 == 7 goto 4f;"
	"4:" TAIL
	"if r8 == 0 goto 2f;"
	"r7 += 1;"
	"*(u64 *)(r10 - 8) = r7;"
	"2: r0 = 0;"
	"exit")

// Half of a slot is read again.
PROGRAM("socket", half_of_slot,
	"call 7;"
	"r6 = 2;"
	"if r0 == 0 goto 1f;"
	"r6 = 0;"
	"1: *(u64 *)(r10 - 8) = r6;"
	"r6 = 0; r0 = 0;" ENOUGH
	"if r9 == 7 goto 4f;"
	"4:" TAIL
	"r1 = *(u32 *)(r10 - 4);"
	"r1 += 1;"
	"r0 = 0;"
	"exit")

// A callback that sets what its caller reads, called any number of times.
static NOINLINE __attribute__((naked)) int sets_one(void)
{
	asm volatile("r3 = 1; *(u64 *)(r2 + 0) = r3; r0 = 0; exit" ::: "memory");
}

SEC("socket") __attribute__((naked)) int callback_sets(void)
{
	asm volatile("r1 = 0;"
		     "*(u64 *)(r10 - 8) = r1;"
		     "r1 = 10;"
		     "r2 = %[f] ll;"
		     "r3 = r10;"
		     "r3 += -8;"
		     "r4 = 0;"
		     "call 181;"
		     "r1 = *(u64 *)(r10 - 8);"
		     "if r1 == 1 goto 1f;" READ_NULL
		     "1: r0 = 0;"
		     "exit" :: [f] "i"(sets_one) : "memory");
}

// A frame of 16 bytes and one of 496.
static NOINLINE __attribute__((naked)) int large_frame(void)
{
	asm volatile("r1 = 0; *(u64 *)(r10 - 496) = r1; r0 = 0; exit" ::: "memory");
}

SEC("tc") __attribute__((naked)) int frames(void)
{
	asm volatile("r1 = 0;"
		     "*(u64 *)(r10 - 16) = r1;"
		     "call %[f];"
		     "r0 = 0;"
		     "exit" :: [f] "i"(large_frame) : "memory");
}

// A frame of 32 bytes, what is spilled around a fast helper, and a frame of 480.
static NOINLINE __attribute__((naked)) int other_frame(void)
{
	asm volatile("r1 = 0; *(u64 *)(r10 - 480) = r1; r0 = 0; exit" ::: "memory");
}

SEC("xdp") __attribute__((naked)) int spilled_around_fast_call(void)
{
	asm volatile("r1 = 0;"
		     "*(u64 *)(r10 - 32) = r1;"
		     "r1 = 1;"
		     "*(u64 *)(r10 - 40) = r1;"
		     "call 8;"
		     "r1 = *(u64 *)(r10 - 40);"
		     "call %[f];"
		     "r0 = 0;"
		     "exit" :: [f] "i"(other_frame) : "memory");
}

// Two of 496.
SEC("kprobe") __attribute__((naked)) int large_frames(void)
{
	asm volatile("r1 = 0;"
		     "*(u64 *)(r10 - 496) = r1;"
		     "call %[f];"
		     "r0 = 0;"
		     "exit" :: [f] "i"(large_frame) : "memory");
}

// A function that loads from a packet, and may not come back from there.
static NOINLINE __attribute__((naked)) int loads_packet(void)
{
	asm volatile("r6 = r1; r0 = *(u8 *)skb[0]; r0 = 1; exit" ::: "memory");
}

SEC("tc") __attribute__((naked)) int packet_load_ends(void)
{
	asm volatile("call %[f];"
		     "if r0 != 0 goto 1f;" READ_NULL
		     "1: r0 = 0;"
		     "exit" :: [f] "i"(loads_packet) : "memory");
}

// What is used only where a walk does not come need not be right.
int wrong_if_called(struct __sk_buff *skb)
{
	return *(volatile int *)(void *)0;
}

SEC("tc") __attribute__((naked)) int wrong_not_called(void)
{
	asm volatile("r0 = 0;"
		     "if r0 == 0 goto 1f;"
		     "call wrong_if_called;"
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}
