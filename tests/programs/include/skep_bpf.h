/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * The few definitions that our test programs need, written from the documented BPF interface:
 * fixed-width types, section and map macros, helper numbers, program contexts, return codes.
 * Nothing here comes from a kernel or libbpf header.
 */
#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed char s8;
typedef short s16;
typedef int s32;
typedef long long s64;

#define SEC(name) __attribute__((section(name), used))
#define INLINE static inline __attribute__((always_inline))
#define NOINLINE __attribute__((noinline))
#define LICENSE_GPL char LICENSE[] SEC("license") = "GPL"

/* BTF-defined maps: an int is carried as an array length, a type as a pointer. */
#define UINT(name, value) int (*name)[value]
#define TYPE(name, value) typeof(value) *name
#define ARRAY(name, value) typeof(value) *name[]

enum map_type {
	MAP_HASH = 1,
	MAP_ARRAY = 2,
	MAP_PROG_ARRAY = 3,
	MAP_PERF_EVENT_ARRAY = 4,
	MAP_PERCPU_HASH = 5,
	MAP_PERCPU_ARRAY = 6,
	MAP_LRU_HASH = 9,
	MAP_LPM_TRIE = 11,
	MAP_ARRAY_OF_MAPS = 12,
	MAP_HASH_OF_MAPS = 13,
	MAP_QUEUE = 22,
	MAP_STACK = 23,
	MAP_RINGBUF = 27,
};

enum { MAP_F_NO_PREALLOC = 1 };
enum { MAP_ANY = 0, MAP_NOEXIST = 1, MAP_EXIST = 2 };

/* Helpers, by their number in the kernel's interface. */
static void *(*const map_lookup_elem)(void *map, const void *key) = (void *)1;
static long (*const map_update_elem)(void *map, const void *key, const void *value,
				     u64 flags) = (void *)2;
static long (*const map_delete_elem)(void *map, const void *key) = (void *)3;
static u64 (*const ktime_get_ns)(void) = (void *)5;
static u32 (*const get_prandom_u32)(void) = (void *)7;
static u32 (*const get_smp_processor_id)(void) = (void *)8;
static long (*const skb_store_bytes)(void *skb, u32 off, const void *from, u32 len,
				     u64 flags) = (void *)9;
static long (*const tail_call)(void *ctx, void *prog_array, u32 index) = (void *)12;
static u64 (*const get_current_pid_tgid)(void) = (void *)14;
static long (*const get_current_comm)(void *buf, u32 size) = (void *)16;
static long (*const redirect)(u32 ifindex, u64 flags) = (void *)23;
static long (*const perf_event_output)(void *ctx, void *map, u64 flags, void *data,
				       u64 size) = (void *)25;
static long (*const skb_load_bytes)(const void *skb, u32 off, void *to, u32 len) = (void *)26;
static s64 (*const csum_diff)(void *from, u32 from_size, void *to, u32 to_size,
			      u32 seed) = (void *)28;
static long (*const skb_change_head)(void *skb, u32 len, u64 flags) = (void *)43;
static long (*const xdp_adjust_head)(void *xdp, int delta) = (void *)44;
static long (*const map_push_elem)(void *map, const void *value, u64 flags) = (void *)87;
static long (*const map_pop_elem)(void *map, void *value) = (void *)88;
static long (*const spin_lock)(void *lock) = (void *)93;
static long (*const spin_unlock)(void *lock) = (void *)94;
static long (*const probe_read_kernel)(void *dst, u32 size, const void *from) = (void *)113;
static void *(*const ringbuf_reserve)(void *ringbuf, u64 size, u64 flags) = (void *)131;
static void (*const ringbuf_submit)(void *data, u64 flags) = (void *)132;
static void (*const ringbuf_discard)(void *data, u64 flags) = (void *)133;
static long (*const for_each_map_elem)(void *map, void *callback, void *ctx,
				       u64 flags) = (void *)164;
static long (*const loop)(u32 nr, void *callback, void *ctx, u64 flags) = (void *)181;

struct bpf_spin_lock {
	u32 val;
};

/* Program contexts, as the interface documents them. */
struct xdp_md {
	u32 data;
	u32 data_end;
	u32 data_meta;
	u32 ingress_ifindex;
	u32 rx_queue_index;
	u32 egress_ifindex;
};

struct __sk_buff {
	u32 len;
	u32 pkt_type;
	u32 mark;
	u32 queue_mapping;
	u32 protocol;
	u32 vlan_present;
	u32 vlan_tci;
	u32 vlan_proto;
	u32 priority;
	u32 ingress_ifindex;
	u32 ifindex;
	u32 tc_index;
	u32 cb[5];
	u32 hash;
	u32 tc_classid;
	u32 data;
	u32 data_end;
};

/* The x86-64 register file that kprobes and perf events see. */
struct pt_regs {
	u64 r15, r14, r13, r12, bp, bx, r11, r10, r9, r8;
	u64 ax, cx, dx, si, di, orig_ax, ip, cs, flags, sp, ss;
};

struct bpf_perf_event_data {
	struct pt_regs regs;
	u64 sample_period;
	u64 addr;
};

enum { XDP_ABORTED, XDP_DROP, XDP_PASS, XDP_TX, XDP_REDIRECT };
enum { TC_ACT_OK = 0, TC_ACT_SHOT = 2 };
