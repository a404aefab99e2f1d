// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// What programs in use showed: states that stay, quotients, pointers to constant memory.

#include "../../programs/include/skep_bpf.h"

char LICENSE[] SEC("license") = "GPL";

static char table[64] SEC(".data");

// Both paths go round the loop; the states of the first have left their list before it ends.
SEC("socket")
__attribute__((naked)) int rounds_of_two_paths(void)
{
	asm volatile("call %[rand];"
		     "r7 = 1;"
		     "if r0 > 5 goto 1f;"
		     "r7 = 2;"
		     "1: r8 = 0;"
		     "2: r8 += 1;"
		     "r1 = r8;"
		     "r1 += 1;"
		     "r1 += 1;"
		     "r1 += 1;"
		     "r1 += 1;"
		     "r1 += 1;"
		     "r1 += 1;"
		     "r1 += 1;"
		     "if r8 < 200 goto 2b;"
		     "r0 = 0;"
		     "if r7 == 1 goto 3f;"
		     "r0 = 1;"
		     "3: exit;" ::[rand] "i"(7)
		     : "memory");
}

#define QUOTIENT(name, divide)                                                 \
	SEC("socket")                                                          \
	__attribute__((naked)) int name(void)                                   \
	{                                                                      \
		asm volatile("call %[rand];"                                   \
			     "r7 = r0;"                                        \
			     "call %[rand];"                                   \
			     "r8 = r0;"                                        \
			     "r9 = 10;"                                        \
			     "r6 = 40;" divide                                 \
			     "if w7 < 25 goto 1f;"                             \
			     "r0 = 0;"                                         \
			     "exit;"                                           \
			     "1: r1 = %[table] ll;"                            \
			     "r1 += r7;"                                       \
			     "r0 = *(u8 *)(r1 + 0);"                           \
			     "exit;" ::[rand] "i"(7),   \
			     [table] "i"(table)                                \
			     : "memory");                                      \
	}

QUOTIENT(half_quotient, "w7 /= 10;")
QUOTIENT(half_remainder, "w7 %%= 100;")
QUOTIENT(half_quotient_of_known, "w7 /= w9;")
QUOTIENT(half_quotient_of_unknown, "w7 /= w8;")
QUOTIENT(half_remainder_of_unknown, "w7 %%= w8;")
QUOTIENT(half_shifted_too_far, "w7 <<= w6;")
QUOTIENT(half_shifted_right_too_far, "w7 >>= w6;")
QUOTIENT(half_shifted_signed_too_far, "w7 s>>= w6;")
QUOTIENT(half_shifted_unknown, "w7 >>= w8;")
QUOTIENT(half_shifted_left_unknown, "w7 <<= w8;")
QUOTIENT(half_negated, "w7 = -w7;")
QUOTIENT(half_swapped, "r7 = be32 r7;")
QUOTIENT(half_multiplied, "w7 *= w8;")

// A spilled scalar whose id no other has where a state is saved; it is loaded, checked, and loaded
// again: linked or not.
#define FILLED(name, type)                                                     \
	SEC("socket")                                                          \
	__attribute__((naked)) int name(void)                                  \
	{                                                                      \
		asm volatile("call 7;"                                         \
			     "r7 = r0;"                                        \
			     "r1 = r0;"                                        \
			     "r1 &= 255;"                                      \
			     "*(" type " *)(r10 - 8) = r1;"                    \
			     "r1 = 1;"                                         \
			     "if r7 == 1 goto 1f;"                             \
			     "r2 = 2;"                                         \
			     "r3 = 3;"                                         \
			     "r4 = 4;"                                         \
			     "r5 = 5;"                                         \
			     "if r7 == 2 goto 1f;"                             \
			     "r2 = 2;"                                         \
			     "r3 = 3;"                                         \
			     "r4 = 4;"                                         \
			     "if r7 == 3 goto 1f;"                             \
			     "1: r2 = *(" type " *)(r10 - 8);"                 \
			     "if r2 > 10 goto 2f;"                             \
			     "r3 = *(" type " *)(r10 - 8);"                    \
			     "r1 = %[table] ll;"                               \
			     "r1 += r3;"                                       \
			     "r0 = *(u8 *)(r1 + 0);"                           \
			     "2: r0 = 0;"                                      \
			     "exit;" ::[table] "i"(table)                      \
			     : "memory");                                      \
	}

FILLED(byte_filled_again, "u8")
FILLED(two_bytes_filled_again, "u16")
FILLED(half_filled_again, "u32")
FILLED(word_filled_again, "u64")

struct bpf_dynptr {
	u64 opaque[2];
};
extern __attribute__((section(".ksyms"), weak)) u32 bpf_dynptr_size(const struct bpf_dynptr *dynptr);

SEC("tc")
int value_for_dynptr(void *ctx)
{
	return bpf_dynptr_size((struct bpf_dynptr *)table);
}

// The pointers are to const void, and to const char.
SEC("tp_btf/kfree")
int traces_const_void(u64 *ctx)
{
	return ctx[1] == 1;
}

SEC("lsm/inode_setxattr")
int hooks_const_void(u64 *ctx)
{
	return ctx[3] == 1 ? -1 : 0;
}

SEC("lsm/inode_setxattr")
int hooks_const_char(u64 *ctx)
{
	return ctx[2] == 1 ? -1 : 0;
}
