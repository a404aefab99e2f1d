// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// What a value that may be NULL is, where it equals a pointer of another kind.
#include "../../programs/include/skep_bpf.h"

char LICENSE[] SEC("license") = "GPL";

struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, u64[8]);
} other SEC(".maps");

struct {
	UINT(type, MAP_HASH);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, u64[8]);
} values SEC(".maps");

#define LOOKUP(map) \
	"r2 = r10;" \
	"r2 += -8;" \
	"r1 = %[" map "] ll;" \
	"call 1;"

#define EQUALS(section, name, pointer) \
	SEC(section) __attribute__((naked)) int name(void) \
	{ \
		asm volatile("r6 = r1;" \
			     "r1 = 0;" \
			     "*(u64 *)(r10 - 8) = r1;" \
			     pointer \
			     LOOKUP("values") \
			     "if r0 != r7 goto 1f;" \
			     "r0 = *(u8 *)(r0 + 0);" \
			     "1: r0 = 0;" \
			     "exit" :: [values] "i"(&values), [other] "i"(&other) : "memory"); \
	}

EQUALS("socket", equals_context, "r7 = r6;")
EQUALS("socket", equals_stack, "r7 = r10; r7 += -8;")
EQUALS("socket", equals_map, "r7 = %[other] ll;")
EQUALS("socket", equals_value, LOOKUP("other") "if r0 == 0 goto 1f; r7 = r0;")
EQUALS("tc", equals_packet, "r7 = *(u32 *)(r6 + 76);")
EQUALS("tc", equals_packet_end, "r7 = *(u32 *)(r6 + 80);")
EQUALS("tc", equals_socket, "r7 = *(u64 *)(r6 + 168); if r7 == 0 goto 1f;")
