// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Which of two refusals is reported, and how refusals of pointers before their memory are worded.
#include "../../programs/include/skep_bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define RELAXED __attribute__((preserve_access_index))
#define KFUNC extern __attribute__((section(".ksyms")))
#define PROGRAM(section, name, body) \
	SEC(section) __attribute__((naked)) int name(void) { asm volatile(body ::: "memory"); }

// The key and the value of an element, and what comes before them.
#define ELEMENT(name, body) \
	PROGRAM("iter/bpf_map_elem", name, \
		"r3 = *(u64 *)(r1 + 16); r2 = *(u64 *)(r1 + 24);" \
		"if r2 == 0 goto 1f; if r3 == 0 goto 1f;" body "1: r0 = 0; exit")
ELEMENT(value_before, "r0 = *(u64 *)(r2 - 8);")
ELEMENT(value_moved_before, "r2 += -8; r0 = *(u64 *)(r2 + 0);")
ELEMENT(value_moved_before_and_on, "r2 += -8; r0 = *(u32 *)(r2 + 4);")
ELEMENT(value_moved_back, "r2 += 8; r0 = *(u64 *)(r2 - 16);")
ELEMENT(value_moved_and_back, "r2 += 8; r0 = *(u64 *)(r2 - 8);")
ELEMENT(value_moved_by_register, "r0 = -8; r2 += r0; r0 = *(u64 *)(r2 + 0);")
ELEMENT(key_before, "r0 = *(u64 *)(r3 - 8);")
ELEMENT(value_printed_before, "r1 = r2; r1 += -8; r2 = 8; call 6;")
PROGRAM("iter/bpf_map_elem", value_unchecked,
	"r2 = *(u64 *)(r1 + 24); r0 = *(u8 *)(r2 + 0); r0 = 0; exit")
PROGRAM("raw_tracepoint.w/sys_enter", record_before,
	"r6 = *(u64 *)(r1 + 0); r0 = *(u64 *)(r6 - 8); r0 = 0; exit")
PROGRAM("raw_tracepoint.w/sys_enter", record_moved_before,
	"r6 = *(u64 *)(r1 + 0); r6 += -8; r0 = *(u64 *)(r6 + 0); r0 = 0; exit")

// bpf_get_func_ip where there is no function, bpf_kptr_xchg of what holds no pointer.
PROGRAM("iter/task", address_of_nothing, "call 173; r0 = 0; exit")
PROGRAM("tc", exchanges_context, "r2 = 0; call 194; r0 = 0; exit")

// A slice of unknown size into a buffer that is too small for most sizes.
struct bpf_dynptr {
	u64 opaque[2];
};
KFUNC int bpf_dynptr_from_skb(struct __sk_buff *skb, u64 flags, struct bpf_dynptr *ptr);
KFUNC void *bpf_dynptr_slice(const struct bpf_dynptr *ptr, u32 off, void *buffer, u32 size);

SEC("tc") int slice_of_any_size(struct __sk_buff *skb)
{
	struct bpf_dynptr ptr;
	char buffer[16] = {};

	bpf_dynptr_from_skb(skb, 0, &ptr);
	return bpf_dynptr_slice(&ptr, 0, buffer, get_prandom_u32()) != 0;
}

SEC("tc") int slice_of_some_size(struct __sk_buff *skb)
{
	struct bpf_dynptr ptr;
	char buffer[16] = {};

	bpf_dynptr_from_skb(skb, 0, &ptr);
	return bpf_dynptr_slice(&ptr, 0, buffer, get_prandom_u32() & 7) != 0;
}

// A part of an object that is not trusted.
struct path {
	void *mnt;
} RELAXED;
struct fs_struct {
	struct path pwd;
} RELAXED;
struct task_struct {
	struct fs_struct *fs;
} RELAXED;
KFUNC int bpf_path_d_path(const struct path *path, char *buf, u64 buf__sz);
char text[64];

SEC("lsm.s/file_open") int path_inside_untrusted(u64 *ctx)
{
	struct task_struct *(*const current)(void) = (void *)158;

	return bpf_path_d_path(&current()->fs->pwd, text, sizeof(text)) > 0 ? 0 : -1;
}
