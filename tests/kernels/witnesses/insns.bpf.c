// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// What kernels ask of insns, wherever they are.
#include "../../programs/include/skep_bpf.h"

char LICENSE[] SEC("license") = "GPL";

// An exit that names a register, where nothing comes by.
SEC("socket") __attribute__((naked)) int unreached_fields(void)
{
	asm volatile("r0 = 0;"
		     "if r0 == 0 goto 1f;"
		     ".byte 0x95, 0x10, 0, 0, 0, 0, 0, 0;"
		     "1: exit" ::: "memory");
}

// A may_goto that goes nowhere.
SEC("socket") __attribute__((naked)) int may_goto_next(void)
{
	asm volatile(".byte 0xe5, 0, 0, 0, 0, 0, 0, 0;"
		     "r0 = 0;"
		     "exit" ::: "memory");
}

// A function that calls itself, where nothing comes by.
static NOINLINE __attribute__((naked)) int calls_itself(void)
{
	asm volatile(".byte 0x85, 0x10, 0, 0, 0xff, 0xff, 0xff, 0xff;"
		     "exit" ::: "memory");
}

SEC("socket") __attribute__((naked)) int unreached_recursion(void)
{
	asm volatile("r0 = 0;"
		     "if r0 == 0 goto 1f;"
		     "call %[f];"
		     "1: exit" :: [f] "i"(calls_itself) : "memory");
}

// One that is a callback of itself.
static NOINLINE __attribute__((naked)) int calls_back(void)
{
	asm volatile("r1 = 1;"
		     "r2 = %[f] ll;"
		     "r3 = 0;"
		     "r4 = 0;"
		     "call 181;"
		     "r0 = 0;"
		     "exit" :: [f] "i"(calls_back) : "memory");
}

SEC("socket") __attribute__((naked)) int unreached_callback_of_itself(void)
{
	asm volatile("r0 = 0;"
		     "if r0 == 0 goto 1f;"
		     "call %[f];"
		     "1: exit" :: [f] "i"(calls_back) : "memory");
}

// A load with acquire semantics, where nothing comes by.
SEC("socket") __attribute__((naked)) int unreached_load_acquire(void)
{
	asm volatile("r0 = 0;"
		     "if r0 == 0 goto 1f;"
		     ".byte 0xdb, 0xa1, 0xf8, 0xff, 0, 1, 0, 0;"
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

// A store that sets a field which it does not use, where nothing comes by.
SEC("socket") __attribute__((naked)) int unreached_store_field(void)
{
	asm volatile("r0 = 0;"
		     "if r0 == 0 goto 1f;"
		     ".byte 0x7b, 0x0a, 0xf8, 0xff, 1, 0, 0, 0;"
		     "1: exit" ::: "memory");
}

// The same of an atomic operation that there is not.
SEC("socket") __attribute__((naked)) int unreached_atomic(void)
{
	asm volatile("r0 = 0;"
		     "if r0 == 0 goto 1f;"
		     ".byte 0xdb, 0x0a, 0xf8, 0xff, 0x42, 0, 0, 0;"
		     "1: exit" ::: "memory");
}

// A call of a function of the kernel that there is not, where nothing comes by.
SEC("socket") __attribute__((naked)) int unreached_kfunc(void)
{
	asm volatile("r0 = 0;"
		     "if r0 == 0 goto 1f;"
		     ".byte 0x85, 0x20, 0, 0, 0, 0, 0, 0;"
		     "1: exit" ::: "memory");
}

// Registers that there are not, and one that is only read, where nothing comes by.
SEC("socket") __attribute__((naked)) int unreached_register(void)
{
	asm volatile("r0 = 0;"
		     "if r0 == 0 goto 1f;"
		     ".byte 0xb7, 0x0d, 0, 0, 0, 0, 0, 0;"
		     "1: exit" ::: "memory");
}

SEC("socket") __attribute__((naked)) int unreached_source_register(void)
{
	asm volatile("r0 = 0;"
		     "if r0 == 0 goto 1f;"
		     ".byte 0xbf, 0xd0, 0, 0, 0, 0, 0, 0;"
		     "1: exit" ::: "memory");
}

SEC("socket") __attribute__((naked)) int unreached_loaded_register(void)
{
	asm volatile("r0 = 0;"
		     "if r0 == 0 goto 1f;"
		     ".byte 0x61, 0x1d, 0, 0, 0, 0, 0, 0;"
		     "1: exit" ::: "memory");
}

SEC("socket") __attribute__((naked)) int unreached_stored_register(void)
{
	asm volatile("r0 = 0;"
		     "if r0 == 0 goto 1f;"
		     ".byte 0x63, 0xda, 0xf8, 0xff, 0, 0, 0, 0;"
		     "1: exit" ::: "memory");
}

SEC("socket") __attribute__((naked)) int unreached_compared_register(void)
{
	asm volatile("r0 = 0;"
		     "if r0 == 0 goto 1f;"
		     ".byte 0x15, 0x0d, 0, 0, 0, 0, 0, 0;"
		     "1: exit" ::: "memory");
}

SEC("socket") __attribute__((naked)) int unreached_fixed_register(void)
{
	asm volatile("r0 = 0;"
		     "if r0 == 0 goto 1f;"
		     ".byte 0xb7, 0x0a, 0, 0, 0, 0, 0, 0;"
		     "1: exit" ::: "memory");
}

// Arithmetic with an offset, which only signed divisions use.
#define BYTES_AFTER_ZERO(name, bytes) \
	SEC("socket") __attribute__((naked)) int name(void) \
	{ asm volatile("r0 = 0;" bytes "r0 = 0; exit" ::: "memory"); }
BYTES_AFTER_ZERO(negative_offset_sum, ".byte 0x07, 0, 0xff, 0xff, 1, 0, 0, 0;")
BYTES_AFTER_ZERO(negative_offset_half_sum, ".byte 0x04, 0, 0xff, 0xff, 1, 0, 0, 0;")
BYTES_AFTER_ZERO(negative_offset_sum_of_two, ".byte 0x0f, 0, 0x00, 0x80, 0, 0, 0, 0;")
BYTES_AFTER_ZERO(negative_offset_shift, ".byte 0x67, 0, 0xf0, 0xff, 1, 0, 0, 0;")
BYTES_AFTER_ZERO(negative_offset_quotient, ".byte 0x37, 0, 0xff, 0xff, 2, 0, 0, 0;")
BYTES_AFTER_ZERO(negative_offset_rest, ".byte 0x94, 0, 0xff, 0xff, 2, 0, 0, 0;")
BYTES_AFTER_ZERO(negative_offset_copy, ".byte 0xb7, 0, 0xff, 0xff, 1, 0, 0, 0;")
BYTES_AFTER_ZERO(negative_offset_negation, ".byte 0x87, 0, 0xff, 0xff, 0, 0, 0, 0;")
BYTES_AFTER_ZERO(positive_offset_sum, ".byte 0x07, 0, 2, 0, 1, 0, 0, 0;")
BYTES_AFTER_ZERO(offset_one_sum, ".byte 0x07, 0, 1, 0, 1, 0, 0, 0;")
BYTES_AFTER_ZERO(positive_offset_quotient, ".byte 0x37, 0, 2, 0, 2, 0, 0, 0;")

// A jump to the second half of a constant: where nothing comes by, and where the path comes by.
#define CONSTANT ".byte 0x18, 1, 0, 0, 0, 0, 0, 0; .byte 0, 0, 0, 0, 0, 0, 0, 0;"
SEC("socket") __attribute__((naked)) int into_constant(void)
{
	asm volatile("r0 = 0;"
		     "if r0 == 0 goto 1f;"
		     ".byte 0x15, 0, 1, 0, 0, 0, 0, 0;" CONSTANT
		     "1: exit" ::: "memory");
}

SEC("socket") __attribute__((naked)) int into_constant_walked(void)
{
	asm volatile("call 7;"
		     ".byte 0x15, 0, 1, 0, 0, 0, 0, 0;" CONSTANT
		     "r0 = 0;"
		     "exit" ::: "memory");
}

// A second half that nothing reaches in another way.
SEC("socket") __attribute__((naked)) int into_constant_alone(void)
{
	asm volatile("r0 = 0;"
		     ".byte 0x05, 0, 1, 0, 0, 0, 0, 0;" CONSTANT
		     "exit" ::: "memory");
}
