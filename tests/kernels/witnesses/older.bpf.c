// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// What kernels learned late: of the halves of numbers, of constants that are stored or compared, of
// locks and maps in programs that sleep, of numbers that atomic insns fetch.
#include "../../programs/include/skep_bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define READ_NULL "r0 = 0; r0 = *(u64 *)(r0 + 0);"
#define PROGRAM(section, name, body) \
	SEC(section) __attribute__((naked)) int name(void) \
	{ asm volatile(body "1: r0 = 0; exit" :: IN : "memory"); }
#define IN [locked] "i"(&locked), [queue] "i"(&queue), [tasks] "i"(&tasks), [one] "i"(&one), \
	[numbers] "i"(&numbers), \
	[records] "i"(&records), [trie] "i"(&trie), [room] "i"(&room), \
	[programs] "i"(&programs)

struct with_lock {
	u64 number;
	struct bpf_spin_lock lock;
	u32 other;
};
struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct with_lock);
} locked SEC(".maps");
struct {
	UINT(type, MAP_QUEUE);
	UINT(max_entries, 2);
	TYPE(value, u64);
} queue SEC(".maps");
struct {
	UINT(type, 29); /* task storage */
	UINT(map_flags, MAP_F_NO_PREALLOC);
	TYPE(key, int);
	TYPE(value, u64);
} tasks SEC(".maps");
struct {
	UINT(type, MAP_HASH);
	UINT(max_entries, 1);
	TYPE(key, u64);
	TYPE(value, u64);
} numbers SEC(".maps");
struct {
	UINT(type, MAP_RINGBUF);
	UINT(max_entries, 4096);
} records SEC(".maps");
struct {
	UINT(type, MAP_LPM_TRIE);
	UINT(map_flags, MAP_F_NO_PREALLOC);
	UINT(max_entries, 2);
	TYPE(key, u64);
	TYPE(value, u64);
} trie SEC(".maps");
struct {
	UINT(type, MAP_PROG_ARRAY);
	UINT(max_entries, 2);
	TYPE(key, u32);
	TYPE(value, u32);
} programs SEC(".maps");
u64 room[8];
// Not static, it would be mapped, which no value with a lock can be.
static struct bpf_spin_lock one SEC(".data.one");

// -1 or 0, of which the half was not told.
PROGRAM("socket", half_of_sign,
	"call 5; r0 s>>= 63;"
	"if w0 s<= 0 goto 1f;"
	READ_NULL)

// 4 or 5: the known bits of the half say so.
PROGRAM("socket", half_of_few,
	"call 5; r0 s>>= 63; r0 += 5;"
	"if w0 <= 5 goto 1f;"
	READ_NULL)

PROGRAM("tc", constant_into_context,
	"r0 = 1; *(u32 *)(r1 + 8) = 1;")

// A zero at an unknown place among zeros.
PROGRAM("socket", zero_among_zeros,
	"*(u64 *)(r10 - 8) = 0;"
	"call 7; r0 &= 7;"
	"r6 = r10; r6 += -8; r6 += r0;"
	"*(u8 *)(r6 + 0) = 0;"
	"r7 = *(u8 *)(r10 - 3);"
	"if r7 == 0 goto 1f;"
	READ_NULL)

PROGRAM("syscall", lock_while_sleeping,
	"r1 = %[locked] ll; r0 = *(u64 *)(r1 + 0);")

PROGRAM("syscall", queue_while_sleeping,
	"r1 = %[queue] ll; r2 = r10; r2 += -8; call 88;")

PROGRAM("syscall", programs_while_sleeping,
	"r1 = %[programs] ll;")

PROGRAM("syscall", trie_while_sleeping,
	"r1 = %[trie] ll;")

// The same lock, named twice.
PROGRAM("tc", same_lock,
	"r1 = %[one] ll; call 93;"
	"r1 = %[one] ll; call 94;")

PROGRAM("raw_tp/sys_enter", storage_of_null,
	"r1 = %[tasks] ll; r2 = 0; r3 = 0; r4 = 1; call 156;")

PROGRAM("fexit/do_exit", never_returns, "")

#define RECORD "r1 = %[records] ll; r2 = 8; r3 = 0; call 131;"

PROGRAM("tc", record_inside,
	RECORD "if r0 == 0 goto 1f;"
	"r1 = r0; r1 += 4; r2 = 0; call 132;")

PROGRAM("tc", two_records,
	RECORD "if r0 == 0 goto 1f;"
	"r6 = r0; *(u64 *)(r6 + 0) = 0;"
	RECORD "if r0 == 0 goto 2f;"
	"r7 = r0; *(u64 *)(r7 + 0) = 0;"
	"r1 = r6; r2 = 8; r3 = r7; r4 = 8; r5 = 0; call 28;"
	"r1 = r7; r2 = 0; call 132;"
	"2: r1 = r6; r2 = 0; call 132;")

// What is read from a dynptr is written over it.
PROGRAM("xdp", dynptr_read_over,
	"r1 = %[room] ll; r2 = 64; r3 = 0; r4 = r10; r4 += -16; call 197;"
	"r1 = r10; r1 += -16; r2 = 16; r3 = r1; r4 = 0; r5 = 0; call 201;")

// A value that may be NULL is compared with a register that is 0.
PROGRAM("tc", null_in_register,
	"*(u64 *)(r10 - 8) = 0;"
	"r1 = %[numbers] ll; r2 = r10; r2 += -8; call 1;"
	"r1 = 0; if r0 == r1 goto 1f;"
	"r0 = *(u64 *)(r0 + 0);")

// The register is 1 on the first path, with a state saved where the paths meet, and 0 on the second.
PROGRAM("tc", null_in_either,
	"*(u64 *)(r10 - 8) = 0;"
	"r1 = %[numbers] ll; r2 = r10; r2 += -8; call 1;"
	"r6 = r0; r7 = 1; r8 = 0; call 7;"
	"if r0 == 0 goto 3f;"
	"r7 = 0;"
	"3: r8 = 1; r8 = 2; r8 = 3; r8 = 4; r8 = 5; r8 = 6; r8 = 7;"
	"if r0 > 9 goto 4f;"
	"r8 = 9;"
	"4: if r6 == r7 goto 1f;"
	"r0 = *(u64 *)(r6 + 0);")

// A state is saved where the paths meet. What was fetched is 1 on the first path and unknown on the second, and chooses a place.
PROGRAM("tc", fetched_place,
	"r8 = *(u32 *)(r1 + 0);"
	"r1 = 1;"
	"*(u64 *)(r10 - 8) = r1;"
	"if r8 > 0 goto 3f;"
	"r9 = 0; if r9 != 0 goto 1f; r9 = 1; r9 = 2; r9 = 3; r9 = 4; r9 = 5; r9 = 6; r9 = 0;"
	"2: r7 = 0;"
	"r7 = atomic_fetch_add((u64 *)(r10 - 8), r7);"
	"if r7 > 64 goto 1f;"
	"r1 = r10; r1 += -16; r1 += r7;"
	"r0 = 0;"
	"*(u8 *)(r1 + 0) = r0;"
	"goto 1f;"
	"3: r9 = 0;"
	"*(u64 *)(r10 - 8) = r8;"
	"goto 2b;")

static __attribute__((naked, used)) int loads_packet(void)
{
	asm volatile("r6 = *(u64 *)(r2 + 0);"
		     "r0 = *(u8 *)skb[0];"
		     "r0 = 0;"
		     "exit" ::: "memory");
}
SEC("tc") __attribute__((naked)) int packet_load_in_callback(void)
{
	asm volatile("*(u64 *)(r10 - 8) = r1;"
		     "r1 = 4; r2 = %[f] ll; r3 = r10; r3 += -8; r4 = 0; call 181;"
		     "r0 = 0;"
		     "exit" :: [f] "i"(loads_packet) : "memory");
}

// Nine functions are in each other, none of them global.
#define CALLS(name, inner) \
	static NOINLINE u32 name(u32 seed) \
	{ return inner(seed + get_smp_processor_id()) ^ get_smp_processor_id(); }
static NOINLINE u32 eighth(u32 seed)
{
	return seed ^ get_smp_processor_id();
}
CALLS(seventh, eighth)
CALLS(sixth, seventh)
CALLS(fifth, sixth)
CALLS(fourth, fifth)
CALLS(third, fourth)
CALLS(second, third)
CALLS(first, second)
SEC("tc") int nine_deep(struct __sk_buff *skb)
{
	return first(skb->mark) ? 1 : 0;
}

// A buffer that nothing was written to is given the name of a path.
SEC("fentry/vfs_getattr") int path_into_nothing(u64 *ctx)
{
	char name[16];

	asm volatile("r1 = %[path];"
		     "r2 = %[name];"
		     "r3 = 16;"
		     "call 147" // bpf_d_path
		     :: [path] "r"(ctx[0]), [name] "r"(name) : "r0", "r1", "r2", "r3", "r4", "r5", "memory");
	return 0;
}

// An inner array may have fewer elements than this one.
struct flexible {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 3);
	UINT(map_flags, 1 << 12);
	TYPE(key, u32);
	TYPE(value, u64);
};
struct {
	UINT(type, 12); /* array of maps */
	UINT(max_entries, 4);
	TYPE(key, u32);
	struct flexible *values[];
} flexibles SEC(".maps");
SEC("socket") __attribute__((naked)) int lookup_in_flexible(void)
{
	asm volatile("r1 = 0;"
		     "*(u32 *)(r10 - 4) = r1;"
		     "r1 = flexibles ll;"
		     "r2 = r10;"
		     "r2 += -4;"
		     "call 1;" // bpf_map_lookup_elem
		     "if r0 == 0 goto 1f;"
		     "r1 = r0;"
		     "r2 = r10;"
		     "r2 += -4;"
		     "call 1;"
		     "r0 = *(u32 *)(r0 + 4);"
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}
