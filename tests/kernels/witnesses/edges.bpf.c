// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Offsets of packet pointers that are compared with the packet's end, functions that a tail call
// may leave, and storage of an object that may not be there.
#include "../../programs/include/skep_bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define PROGRAM(section, name, body, ...)                                     \
	SEC(section) __attribute__((naked)) int name(void)                    \
	{                                                                     \
		asm volatile(body "9: r0 = 0; exit" :: __VA_ARGS__ : "memory"); \
	}

struct {
	UINT(type, MAP_PROG_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, u32);
} programs SEC(".maps");

#define STORAGE(name, kind)          \
	struct {                     \
		UINT(type, kind);    \
		UINT(map_flags, 1);  \
		TYPE(key, int);      \
		TYPE(value, u64);    \
	} name SEC(".maps")

STORAGE(sockets, 24);
STORAGE(inodes, 28);

#define PACKET(name, body) PROGRAM("tc", name, "r7 = *(u32 *)(r1 + 76); r8 = *(u32 *)(r1 + 80);" body, "i"(0))
#define NUMBER "r4 = *(u32 *)(r1 + 8);"
#define CHECKED(distance) "r5 = r7; r5 += " #distance "; if r5 > r8 goto 9f;"

// A multiple of eight up to 48, by comparison at most 50.
#define EIGHTS NUMBER "r4 &= 0x38; if r4 > 50 goto 9f;"

PACKET(eights_checked_beyond, EIGHTS "r7 += r4;" CHECKED(8) "r0 = *(u64 *)(r7 + 0);")
PACKET(eights_read_by_copy, EIGHTS "r7 += r4; r6 = r7; r6 += 8; if r7 > r8 goto 9f; r0 = *(u8 *)(r6 - 7);")
PACKET(below_and_above,
	"r7 += 38;" NUMBER "if r4 > 20 goto 9f; r4 -= 5; r7 += r4;" NUMBER
	"if r4 > 45 goto 9f; r4 -= 3; r7 += r4; r7 += -9;" CHECKED(26) "r7 += 17;" CHECKED(26)
	"r0 = *(u32 *)(r7 + 11);")
PACKET(less_then_more, NUMBER "r4 &= 7; r7 -= r4; r7 += 36; r7 += 28;" CHECKED(24) "r7 += -4; r0 = *(u16 *)(r7 + 8);")
PACKET(range_outlives_move,
	"r7 += 38; r5 = r7; r5 += 5; if r5 >= r8 goto 9f;" NUMBER "r4 &= 0x30; r4 |= 6; r7 += r4;"
	"r5 = r7; r5 += 6; if r5 >= r8 goto 9f; r7 += -15;" NUMBER "if r4 > 30 goto 9f; r4 <<= 1; r7 -= r4;"
	CHECKED(7) "r7 += 34;" CHECKED(5) "r0 = *(u64 *)(r7 - 1);")
PACKET(end_excluded, NUMBER "r4 &= 7; r7 += r4; if r7 >= r8 goto 9f; r0 = *(u8 *)(r7 + 0);")

// The callee writes the caller's slot, unless it is left before.
static __attribute__((naked, used)) unsigned long leaves_or_writes(void)
{
	asm volatile("r6 = r2; r2 = %[programs] ll; r3 = 0; call 12; *(u64 *)(r6 + 0) = -16; r0 = 0; exit"
		     :: [programs]"i"(&programs) : "memory");
}

PROGRAM("socket", left_before_write,
	"r6 = r1; *(u64 *)(r10 - 8) = -8; call 7; if r0 != 42 goto 1f; goto 2f;"
	"1: *(u64 *)(r10 - 8) = -1024;"
	"2: r1 = r6; r2 = r10; r2 += -8; call leaves_or_writes;"
	"r1 = *(u64 *)(r10 - 8); r2 = r10; r2 += r1; r0 = *(u64 *)(r2 + 0);", "i"(0))

PROGRAM("fentry/tcp_close", storage_of_no_socket,
	"r1 = %[sockets] ll; r2 = 0; call 108;", [sockets]"i"(&sockets))
PROGRAM("lsm/file_open", storage_of_no_inode,
	"r1 = %[inodes] ll; r2 = 0; call 146;", [inodes]"i"(&inodes))

// The first comparison narrows r0 by r1, the second must still do so.
PROGRAM("socket", synced_twice,
	"call 7; r0 &= 0xff; r1 = r0; r1 += 4; if r1 < 10 goto 9f; r2 = r0; if r1 < 14 goto 9f;"
	"if r0 >= 10 goto 9f; r0 /= 0;", "i"(0))

static const volatile u64 constants[2] = {1, 2};

SEC("xdp") int stored_from_constants(void *xdp)
{
	static long (*const store_bytes)(void *, u32, const void *, u32) = (void *)190;

	store_bytes(xdp, 0, (const void *)constants, 8);
	return 2;
}

SEC("xdp") int stored_from_nothing(void *xdp)
{
	static long (*const store_bytes)(void *, u32, const void *, u32) = (void *)190;
	u64 bytes;

	asm volatile("" : "=m"(bytes));
	store_bytes(xdp, 0, &bytes, 8);
	return 2;
}
