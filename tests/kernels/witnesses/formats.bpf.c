// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Formats of bpf_snprintf, and loads of one byte of a socket's port.
#include "../../programs/include/skep_bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define PRINTS(name, format)                                                     \
	SEC("raw_tp") int name(void *ctx)                                        \
	{                                                                        \
		static const char text[] = format;                               \
		u64 args[1] = { (u64)text };                                     \
		char out[16] = { 0 };                                            \
                                                                                 \
		return ((long (*)(char *, u32, const char *, u64 *, u32))165)(   \
			out, sizeof(out), text, args, sizeof(args));             \
	}

PRINTS(prints_char, "%c")
// After `%p`: an escaped percent sign; a conversion, for which there is no argument; half of one.
PRINTS(prints_percent, "%p%%")
PRINTS(prints_number, "%p%d")
PRINTS(prints_half, "%p%")
PRINTS(prints_text, "%p-%%")
PRINTS(prints_beyond_ascii, "\xc3\xa9 %d")

#define PORT(name, size, off)                                  \
	SEC("tc") __attribute__((naked)) int name(void)        \
	{                                                      \
		asm volatile("r1 = *(u64 *)(r1 + 168);"        \
			     "if r1 == 0 goto 1f;"             \
			     "r1 = *(" #size " *)(r1 + " #off ");" \
			     "1: r0 = 0;"                      \
			     "exit" ::: "memory");             \
	}

PORT(first_byte_of_port, u8, 48)
PORT(second_byte_of_port, u8, 49)
PORT(two_bytes_of_port, u16, 48)
PORT(byte_behind_port, u8, 50)
