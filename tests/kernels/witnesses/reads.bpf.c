// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// What a saved state needs. In each program two paths meet where enough was walked for a state to
// be saved; how many insns are walked shows whether the second one ends there.
#include "../../programs/include/skep_bpf.h"

char LICENSE[] SEC("license") = "GPL";

// Enough jumps and insns for the next state to be saved.
#define SAVES                      \
	"r7 = 0;"                  \
	"r7 += 1;"                 \
	"r7 += 1;"                 \
	"r7 += 1;"                 \
	"if r0 s> 100 goto +0;"    \
	"r7 += 1;"                 \
	"if r0 s> 200 goto +0;"    \
	"r7 += 1;"                 \
	"r7 += 1;"

// R6 is read where nothing comes by: on the walked paths it may be anything.
SEC("socket") __attribute__((naked)) int register_on_no_path(void)
{
	asm volatile("r8 = r1;"
		     "call 7;"
		     "r6 = r8;"
		     "if r0 == 0 goto 1f;"
		     "r6 = 1;"
		     "1:" SAVES
		     "goto 2f;"
		     "2: r7 += 1;"
		     "if r7 == 0 goto 3f;"
		     "r0 = 0;"
		     "exit;"
		     "3: r0 = r6;"
		     "r0 = 0;"
		     "exit" ::: "memory");
}

// R6 is written before it is read.
SEC("socket") __attribute__((naked)) int register_written(void)
{
	asm volatile("r8 = r1;"
		     "call 7;"
		     "r6 = r8;"
		     "if r0 == 0 goto 1f;"
		     "r6 = 1;"
		     "1:" SAVES
		     "goto 2f;"
		     "2: r7 += 1;"
		     "r6 = 0;"
		     "if r7 == 0 goto 3f;"
		     "r0 = 0;"
		     "exit;"
		     "3: r0 = r6;"
		     "r0 = 0;"
		     "exit" ::: "memory");
}

// R6 is read on the walked path.
SEC("socket") __attribute__((naked)) int register_read(void)
{
	asm volatile("r8 = r1;"
		     "call 7;"
		     "r6 = r8;"
		     "if r0 == 0 goto 1f;"
		     "r6 = 1;"
		     "1:" SAVES
		     "goto 2f;"
		     "2: r7 += 1;"
		     "r0 = r6;"
		     "r0 = 0;"
		     "exit" ::: "memory");
}

// A slot is half written before it is read: what it was is needed.
SEC("socket") __attribute__((naked)) int slot_half_written(void)
{
	asm volatile("r8 = r1;"
		     "call 7;"
		     "*(u64 *)(r10 - 8) = r8;"
		     "if r0 == 0 goto 1f;"
		     "*(u64 *)(r10 - 8) = r0;"
		     "1:" SAVES
		     "goto 2f;"
		     "2: r7 += 1;"
		     "*(u32 *)(r10 - 8) = r7;"
		     "r0 = *(u32 *)(r10 - 8);"
		     "r0 = 0;"
		     "exit" ::: "memory");
}

// It is written as a whole.
SEC("socket") __attribute__((naked)) int slot_written(void)
{
	asm volatile("r8 = r1;"
		     "call 7;"
		     "*(u64 *)(r10 - 8) = r8;"
		     "if r0 == 0 goto 1f;"
		     "*(u64 *)(r10 - 8) = r0;"
		     "1:" SAVES
		     "goto 2f;"
		     "2: r7 += 1;"
		     "*(u64 *)(r10 - 8) = r7;"
		     "r0 = *(u64 *)(r10 - 8);"
		     "r0 = 0;"
		     "exit" ::: "memory");
}

// An argument that a callee reads, and one that it does not.
static NOINLINE __attribute__((naked)) int reads_first(void)
{
	asm volatile("r0 = r1;"
		     "r0 = 0;"
		     "exit" ::: "memory");
}

SEC("socket") __attribute__((naked)) int argument_read(void)
{
	asm volatile("r8 = r1;"
		     "call 7;"
		     "r1 = r8;"
		     "r2 = 0;"
		     "if r0 == 0 goto 1f;"
		     "r1 = 1;"
		     "1:" SAVES
		     "goto 2f;"
		     "2: r7 += 1;"
		     "call %[f];"
		     "r0 = 0;"
		     "exit" :: [f] "i"(reads_first) : "memory");
}

SEC("socket") __attribute__((naked)) int argument_not_read(void)
{
	asm volatile("r8 = r1;"
		     "call 7;"
		     "r1 = 0;"
		     "r2 = r8;"
		     "if r0 == 0 goto 1f;"
		     "r2 = 1;"
		     "1:" SAVES
		     "goto 2f;"
		     "2: r7 += 1;"
		     "call %[f];"
		     "r0 = 0;"
		     "exit" :: [f] "i"(reads_first) : "memory");
}

// Zeros, or data, beside a number of four bytes: data does not pass for zeros.
SEC("socket") __attribute__((naked)) int zeros_beside_number(void)
{
	asm volatile("call 7;"
		     "r6 = r0;"
		     "r9 = r0;"
		     "r9 &= 7;"
		     "r1 = 0;"
		     "if r0 == 0 goto 1f;"
		     "*(u32 *)(r10 - 4) = r1;"
		     "goto 4f;"
		     "1: *(u32 *)(r10 - 4) = r6;"
		     "4: *(u32 *)(r10 - 8) = r9;"
		     SAVES
		     "goto 2f;"
		     "2: r7 += 1;"
		     "r0 = *(u8 *)(r10 - 4);"
		     "r0 = 0;"
		     "exit" ::: "memory");
}

// A spilled number under a load at an offset that is not known.
SEC("socket") __attribute__((naked)) int number_under_load(void)
{
	asm volatile("call 7;"
		     "r6 = r0;"
		     "r6 &= 8;"
		     "r1 = 3;"
		     "*(u64 *)(r10 - 8) = r1;"
		     "*(u64 *)(r10 - 16) = r1;"
		     "r2 = r10;"
		     "r2 += -16;"
		     "r2 += r6;"
		     "r3 = *(u8 *)(r2 + 0);"
		     "r1 = *(u64 *)(r10 - 8);"
		     "if r1 == 3 goto 1f;"
		     "r0 = 0;"
		     "r0 = *(u64 *)(r0 + 0);"
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

// Zeros there.
SEC("socket") __attribute__((naked)) int zeros_under_load(void)
{
	asm volatile("call 7;"
		     "r6 = r0;"
		     "r6 &= 8;"
		     "r1 = 0;"
		     "*(u64 *)(r10 - 8) = r1;"
		     "*(u64 *)(r10 - 16) = r1;"
		     "r2 = r10;"
		     "r2 += -16;"
		     "r2 += r6;"
		     "r3 = *(u8 *)(r2 + 0);"
		     "r1 = *(u64 *)(r10 - 8);"
		     "if r1 == 0 goto 1f;"
		     "r0 = 0;"
		     "r0 = *(u64 *)(r0 + 0);"
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}
