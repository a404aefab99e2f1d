// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Pointers that are compared with each other, copies that are compared with a number, and pointers into arenas that
// are passed to functions.
#include "../../programs/include/skep_bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define PROGRAM(section, name, body, ...) \
	SEC(section) __attribute__((naked)) int name(void) { asm volatile(body :: __VA_ARGS__ : "memory"); }

struct {
	UINT(type, MAP_HASH);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, u64);
} numbers SEC(".maps");

// A pointer to a value, moved by any number, does not show that another one is not NULL.
#define EQUALS(name, bound) \
	PROGRAM("socket", name, \
		"r0 = 0; *(u32 *)(r10 - 4) = r0; r2 = r10; r2 += -4; r1 = %[map] ll; call 1;" \
		"if r0 == 0 goto 1f;" \
		"r6 = r0;" \
		"r2 = r10; r2 += -4; r1 = %[map] ll; call 1;" \
		"r7 = r0;" \
		"call 7; r8 = r0; call 7; r0 <<= 32; r8 |= r0;" bound \
		"r6 += r8;" \
		"if r7 != r6 goto 1f;" \
		"r0 = *(u8 *)(r7 + 0);" \
		"1: r0 = 0; exit", \
		[map]"i"(&numbers))
EQUALS(equals_pointer_moved_far, "r8 <<= 1; r8 >>= 1;")
EQUALS(equals_pointer_moved_less, "r8 &= 0xfff;")
EQUALS(equals_pointer_moved_to_limit, "r8 &= 0x1fffffff;")
EQUALS(equals_pointer_moved_over_limit, "r8 &= 0x3fffffff;")

// Copies of a number, of which the last is compared, and the first is used.
#define COPIES(name, copies, last, uses) \
	PROGRAM("socket", name, \
		"call 7; r0 &= 255;" copies \
		"if " last " > 7 goto 1f;" \
		"r7 = r10; r7 += -8; r7 += r0;" \
		"*(u8 *)(r7 + 0) = r1;" \
		uses \
		"1: r0 = 0; exit", "i"(0))
COPIES(jump_bounds_four, "r1 = r0; r2 = r0; r3 = r0;", "r3", "r1 = r2; r1 = r3;")
COPIES(jump_bounds_five, "r1 = r0; r2 = r0; r3 = r0; r4 = r0;", "r4", "r1 = r2; r1 = r3; r1 = r4;")
COPIES(jump_bounds_six, "r1 = r0; r2 = r0; r3 = r0; r4 = r0; r5 = r0;", "r5", "r1 = r2; r1 = r3; r1 = r4; r1 = r5;")
COPIES(jump_bounds_seven, "r1 = r0; r2 = r0; r3 = r0; r4 = r0; r5 = r0; r6 = r0;", "r6", "r1 = r2; r1 = r3; r1 = r4; r1 = r5; r1 = r6;")

struct {
	UINT(type, 33);
	UINT(map_flags, 1024);
	UINT(max_entries, 10);
} arena SEC(".maps");

#define ARENA __attribute__((address_space(1))) __attribute__((btf_type_tag("arena")))

// Pointers into an arena that say so, as arguments and result.
__attribute__((weak)) NOINLINE int counts(u32 ARENA *word)
{
	*word += 1;
	return *word;
}

__attribute__((weak)) NOINLINE u32 ARENA *counted(u32 ARENA *word)
{
	*word += 1;
	return word;
}

SEC("syscall") int arena_passed(void *ctx)
{
	u32 ARENA *word = (u32 ARENA *)8192;
	asm volatile("" : : "r"(&arena));
	return counts(word);
}

SEC("syscall") int arena_returned(void *ctx)
{
	u32 ARENA *word = (u32 ARENA *)8192;
	asm volatile("" : : "r"(&arena));
	return *counted(word);
}

// Something else in an arena's place.
SEC("syscall") int stack_passed_as_arena(void *ctx)
{
	u32 number = 0;
	asm volatile("" : : "r"(&arena), "r"(&number) : "memory");
	return counts((u32 ARENA *)(unsigned long)&number);
}

__attribute__((weak)) NOINLINE u32 ARENA *returns_number(u32 number)
{
	return (u32 ARENA *)(unsigned long)number;
}

SEC("syscall") int number_returned_as_arena(void *ctx)
{
	asm volatile("" : : "r"(&arena));
	return *returns_number(8192);
}
