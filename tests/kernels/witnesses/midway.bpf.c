// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// What kernels from 5.19 to 6.1 do differently from those before and after them: dynptrs, ids of
// numbers of which a part is spilled, pointers to numbers, callbacks that are called directly.
#include "../../programs/include/skep_bpf.h"

#define KFUNC extern __attribute__((section(".ksyms"), weak))

char LICENSE[] SEC("license") = "GPL";

#define IN [records] "i"(&records), [room] "i"(room)
#define PROGRAM(section, name, body) \
	SEC(section) __attribute__((naked)) int name(void) \
	{ asm volatile(body "r0 = 0; exit" :: IN : "memory"); }

struct {
	UINT(type, MAP_RINGBUF);
	UINT(max_entries, 4096);
} records SEC(".maps");
u64 room[8];

#define POINTER "r4 = r10; r4 += "
#define RECORD_AT(at) "r1 = %[records] ll; r2 = 8; r3 = 0;" POINTER #at "; call 198;"
#define LOCAL_AT(at) "r1 = %[room] ll; r2 = 64; r3 = 0;" POINTER #at "; call 197;"
#define SUBMIT(at) "r1 = r10; r1 += " #at "; r2 = 0; call 199;"

// A path on which something else is in the place of the dynptr comes to where the first path left
// a state.
PROGRAM("tc", dynptr_on_one_path,
	"r9 = 7;"
	RECORD_AT(-16)
	"if r0 == 0 goto 1f;"
	"goto 2f;"
	"1: *(u64 *)(r10 - 16) = r9;"
	"2: " SUBMIT(-16))

// At a place that varies.
PROGRAM("tc", dynptr_somewhere,
	"call 7; r6 = r0; r6 &= 16;"
	"r1 = %[records] ll; r2 = 8; r3 = 0; r4 = r10; r4 += -32; r4 += r6; call 198;"
	"r1 = r10; r1 += -32; r1 += r6; r2 = 0; call 199;")

// One is put where none but the other is.
PROGRAM("tc", dynptr_elsewhere,
	"call 7; r6 = r0; r6 &= 16;"
	RECORD_AT(-16)
	"r1 = %[room] ll; r2 = 64; r3 = 0; r4 = r10; r4 += -32; r4 += r6; call 197;"
	SUBMIT(-16))

// The second record's bytes after it was submitted; the first is at the top of the stack.
PROGRAM("tc", slice_of_submitted,
	RECORD_AT(-16) RECORD_AT(-32)
	"r1 = r10; r1 += -32; r2 = 0; r3 = 8; call 203; r6 = r0;"
	SUBMIT(-32)
	"if r6 == 0 goto 1f;"
	"*(u8 *)(r6 + 0) = 1;"
	"1: " SUBMIT(-16))

// The same, with the first submitted.
PROGRAM("tc", slice_after_other,
	RECORD_AT(-16) RECORD_AT(-32)
	"r1 = r10; r1 += -32; r2 = 0; r3 = 8; call 203; r6 = r0;"
	SUBMIT(-16)
	"if r6 == 0 goto 1f;"
	"*(u8 *)(r6 + 0) = 1;"
	"1: " SUBMIT(-32))

// The top of the stack is a number.
PROGRAM("tc", slice_without_owner,
	RECORD_AT(-32)
	"*(u64 *)(r10 - 8) = 0;"
	"r1 = r10; r1 += -32; r2 = 0; r3 = 8; call 203; r6 = r0;"
	SUBMIT(-32)
	"if r6 == 0 goto 1f;"
	"*(u8 *)(r6 + 0) = 1;"
	"1: ")

// A function has none on its stack; its caller has one at the top of its own.
#define FUNCTION(name, body) \
	static __attribute__((naked, used)) unsigned long name(void) \
	{ asm volatile(body "r0 = 0; exit" :: IN : "memory"); }
#define SLICE_AFTER(at) \
	RECORD_AT(at) "r1 = r10; r1 += " #at "; r2 = 0; r3 = 8; call 203; r6 = r0;" SUBMIT(at) \
	"if r6 == 0 goto 1f; *(u8 *)(r6 + 0) = 1; 1: "
FUNCTION(slices_below, SLICE_AFTER(-32))
FUNCTION(slices_at_top, SLICE_AFTER(-16))
PROGRAM("tc", slice_in_function, RECORD_AT(-16) "call slices_below;" SUBMIT(-16))
PROGRAM("tc", slice_of_function, "*(u64 *)(r10 - 8) = 0; call slices_at_top;")

// The top of the stack is a pointer to a plain record, or was one before a byte was stored to it.
#define OWNED(before) \
	"r1 = %[records] ll; r2 = 8; r3 = 0; call 131; if r0 == 0 goto 2f; r7 = r0;" \
	"*(u64 *)(r10 - 8) = r7;" before RECORD_AT(-32) \
	"r1 = r10; r1 += -32; r2 = 0; r3 = 8; call 203; r6 = r0;" \
	"r1 = r7; r2 = 0; call 132;" \
	"if r6 == 0 goto 1f; *(u8 *)(r6 + 0) = 1; 1: " SUBMIT(-32) "2: "
PROGRAM("tc", slice_of_record, OWNED(""))
PROGRAM("tc", slice_of_stored_over, OWNED("*(u8 *)(r10 - 8) = 0;"))
PROGRAM("tc", slice_of_zeroed, OWNED("*(u64 *)(r10 - 8) = 0;"))

// Not at the start of a slot.
PROGRAM("tc", submitted_beside, RECORD_AT(-16) SUBMIT(-15))
PROGRAM("tc", submitted_below, RECORD_AT(-16) SUBMIT(-17))
PROGRAM("tc", recorded_beside, RECORD_AT(-15) SUBMIT(-15))

// Stores of a helper, and of an insn, to all or some bytes; then the dynptr is made anew.
#define NAME(at, size) "r1 = r10; r1 += " #at "; r2 = " #size "; call 16;"
PROGRAM("kprobe", named_and_again, LOCAL_AT(-16) NAME(-16, 16) LOCAL_AT(-16))
PROGRAM("kprobe", named_in_part, LOCAL_AT(-16) NAME(-16, 4) LOCAL_AT(-16))
PROGRAM("kprobe", named_upper_part, LOCAL_AT(-16) NAME(-4, 4) LOCAL_AT(-16))
PROGRAM("kprobe", named_one_slot, LOCAL_AT(-16) NAME(-16, 8) LOCAL_AT(-16))
PROGRAM("kprobe", stored_in_part, LOCAL_AT(-16) "*(u8 *)(r10 - 16) = 1;" LOCAL_AT(-16))
PROGRAM("kprobe", stored_upper_part, LOCAL_AT(-16) "*(u8 *)(r10 - 9) = 1;" LOCAL_AT(-16))
PROGRAM("kprobe", stored_number_again,
	LOCAL_AT(-16) "*(u64 *)(r10 - 16) = 1; *(u64 *)(r10 - 8) = 1;" LOCAL_AT(-16))
PROGRAM("kprobe", spilled_and_again,
	LOCAL_AT(-16) "*(u64 *)(r10 - 16) = r10; *(u64 *)(r10 - 8) = r10;" LOCAL_AT(-16))
PROGRAM("kprobe", named_and_read,
	LOCAL_AT(-16) NAME(-16, 16) "r0 = *(u64 *)(r10 - 16); r0 = *(u64 *)(r10 - 8);")
PROGRAM("kprobe", named_in_part_and_read,
	LOCAL_AT(-16) NAME(-16, 4) "r0 = *(u32 *)(r10 - 16);")
PROGRAM("kprobe", named_in_part_and_read_beside,
	LOCAL_AT(-16) NAME(-16, 4) "r0 = *(u32 *)(r10 - 12);")
PROGRAM("kprobe", stored_in_part_and_read_beside,
	LOCAL_AT(-16) "*(u32 *)(r10 - 16) = 1;" "r0 = *(u32 *)(r10 - 12);")
PROGRAM("kprobe", named_and_used,
	LOCAL_AT(-16) NAME(-16, 16)
	"r1 = r10; r1 += -24; r2 = 8; r3 = r10; r3 += -16; r4 = 0; r5 = 0; call 201;")
PROGRAM("kprobe", named_and_data,
	LOCAL_AT(-16) NAME(-16, 16)
	"r1 = r10; r1 += -16; r2 = 0; r3 = 8; call 203;")
PROGRAM("kprobe", named_and_submitted,
	RECORD_AT(-16) NAME(-16, 16) SUBMIT(-16))
PROGRAM("kprobe", named_record, RECORD_AT(-16) NAME(-16, 16))
PROGRAM("kprobe", record_one_slot_named, RECORD_AT(-16) NAME(-8, 8) SUBMIT(-16))

// A user's ring buffer; what a callback is given is set again.
struct {
	UINT(type, 31);
	UINT(max_entries, 4096);
} orders SEC(".maps");
struct bpf_dynptr {
	u64 hidden[2];
};
static long (*const drain)(void *map, void *callback, void *ctx, u64 flags) = (void *)209;
static long (*const from_mem)(void *data, u32 size, u64 flags, struct bpf_dynptr *to) = (void *)197;
static long (*const reserve)(void *ring, u32 size, u64 flags, struct bpf_dynptr *to) = (void *)198;
static void (*const submit)(struct bpf_dynptr *dynptr, u64 flags) = (void *)199;
static long (*const dynptr_read)(void *to, u32 len, struct bpf_dynptr *from, u32 at, u64 flags) =
	(void *)201;

static long sets_order(struct bpf_dynptr *order, void *ctx)
{
	from_mem(room, 8, 0, order);
	return 0;
}
SEC("kprobe") int order_set(void *ctx)
{
	drain(&orders, sets_order, 0, 0);
	return 0;
}
static long reserves_order(struct bpf_dynptr *order, void *ctx)
{
	u64 number;

	reserve(&records, 8, 0, order);
	dynptr_read(&number, 8, order, 0, 0);
	return number & 1;
}
SEC("kprobe") int order_reserved(void *ctx)
{
	drain(&orders, reserves_order, 0, 0);
	return 0;
}
static long submits_order(struct bpf_dynptr *order, void *ctx)
{
	reserve(&records, 8, 0, order);
	submit(order, 0);
	return 0;
}
SEC("kprobe") int order_submitted(void *ctx)
{
	drain(&orders, submits_order, 0, 0);
	return 0;
}

// The half of a number is 0 or 8, the number is not.
#define SLOT "*(u64 *)(r10 - 16) = 0; r6 = r10; r6 += -16;"
PROGRAM("socket", half_named_like_number,
	SLOT "call 7; r0 &= 8; r1 = 0xffffffff; r1 <<= 32; r1 += r0; r2 = r1;"
	"*(u32 *)(r10 - 8) = r1; r2 = *(u32 *)(r10 - 8);"
	"r3 = 0; if r2 != r3 goto 1f;"
	"1: r1 >>= 32; r6 += r1; r0 = *(u8 *)(r6 + 0);")
PROGRAM("socket", quarter_named_like_number,
	SLOT "call 7; r0 &= 8; w1 = 0xffff0000; r1 += r0; r2 = r1;"
	"*(u16 *)(r10 - 8) = r1; r2 = *(u16 *)(r10 - 8);"
	"r3 = 0; if r2 != r3 goto 1f;"
	"1: r1 >>= 16; r6 += r1; r0 = *(u8 *)(r6 + 0);")
// A number that fits, and one of which only the half has a copy.
PROGRAM("socket", small_named_like_number,
	SLOT "call 7; r0 &= 24; r1 = r0; r2 = r1;"
	"*(u32 *)(r10 - 8) = r1; r2 = *(u32 *)(r10 - 8);"
	"r3 = 0; if r2 != r3 goto 1f;"
	"r6 += r1; r0 = *(u8 *)(r6 + 0);"
	"1: ")
PROGRAM("socket", half_of_unknown,
	SLOT "call 5; r1 = r0; r2 = r1;"
	"*(u32 *)(r10 - 8) = r1; r2 = *(u32 *)(r10 - 8);"
	"r3 = 0; if r2 != r3 goto 1f;"
	"r6 += r1; r0 = *(u8 *)(r6 + 0);"
	"1: ")

// Pointers to numbers of each size and sign: kstrtoint and its like.
PROGRAM("fentry/kstrtoint", points_to_int, "r0 = *(u64 *)(r1 + 16);")
PROGRAM("fentry/kstrtouint", points_to_unsigned, "r0 = *(u64 *)(r1 + 16);")
PROGRAM("fentry/kstrtou16", points_to_u16, "r0 = *(u64 *)(r1 + 16);")
PROGRAM("fentry/kstrtos16", points_to_s16, "r0 = *(u64 *)(r1 + 16);")
PROGRAM("fentry/kstrtou8", points_to_u8, "r0 = *(u64 *)(r1 + 16);")
PROGRAM("fentry/kstrtos8", points_to_s8, "r0 = *(u64 *)(r1 + 16);")
PROGRAM("fentry/kstrtobool", points_to_bool, "r0 = *(u64 *)(r1 + 8);")
PROGRAM("fentry/kstrtoull", points_to_u64, "r0 = *(u64 *)(r1 + 16);")
PROGRAM("fentry/kstrtoll", points_to_s64, "r0 = *(u64 *)(r1 + 16);")
PROGRAM("fentry/__bitmap_weight", points_to_constant, "r0 = *(u64 *)(r1 + 0);")

// The callback of a timer, called directly: it is on the caller's stack.
struct bpf_timer {
	u64 hidden[2];
};
struct timed {
	struct bpf_timer timer;
};
struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct timed);
} timers SEC(".maps");
static u32 (*bpf_get_prandom_u32)(void) = (void *)7;
static long (*const bpf_timer_set_callback)(struct bpf_timer *timer, void *callback) = (void *)170;

NOINLINE static int rings(void *map, u32 *key, struct timed *value)
{
	volatile char bytes[300];

	bytes[bpf_get_prandom_u32() & 255] = 1;
	return bytes[bpf_get_prandom_u32() & 255] & 0;
}
SEC("tc") int rings_itself(struct __sk_buff *skb)
{
	volatile char bytes[300];
	u32 key = 0;
	struct timed *value = map_lookup_elem(&timers, &key);

	if (!value)
		return 0;
	bytes[bpf_get_prandom_u32() & 255] = 1;
	rings(0, 0, 0);
	bpf_timer_set_callback(&value->timer, rings);
	return bytes[bpf_get_prandom_u32() & 255];
}

NOINLINE static int fills(u32 seed)
{
	volatile char bytes[300];

	bytes[seed & 255] = seed;
	return bytes[(seed >> 8) & 255];
}
NOINLINE static int rings_below(void *map, u32 *key, struct timed *value)
{
	volatile char bytes[300];

	bytes[bpf_get_prandom_u32() & 255] = 1;
	return fills(bpf_get_prandom_u32()) & 0;
}
SEC("tc") int rings_deeper(struct __sk_buff *skb)
{
	u32 key = 0;
	struct timed *value = map_lookup_elem(&timers, &key);

	if (!value)
		return 0;
	rings_below(0, 0, 0);
	bpf_timer_set_callback(&value->timer, rings_below);
	return 0;
}

// The context as memory.
KFUNC void bpf_kfunc_call_test_mem_len_pass1(void *mem, int mem__sz);
SEC("syscall") int passes_context(void *ctx)
{
	bpf_kfunc_call_test_mem_len_pass1(ctx, 16);
	return 0;
}

// bpf_xdp_store_bytes from stack that was never written, and of the context.
PROGRAM("xdp", stores_unwritten, "r2 = 0; r3 = r10; r3 += -16; r4 = 16; call 190;")
PROGRAM("xdp", stores_over_pointer,
	"*(u64 *)(r10 - 8) = r1; r2 = 0; r3 = r10; r3 += -8; r4 = 8; call 190; r1 = *(u64 *)(r10 - 8);"
	"r0 = *(u32 *)(r1 + 0);")
PROGRAM("xdp", stores_unwritten_somewhere,
	"r6 = r1; call 7; r0 &= 8; r3 = r10; r3 += -16; r3 += r0; r1 = r6; r2 = 0; r4 = 8; call 190;")
