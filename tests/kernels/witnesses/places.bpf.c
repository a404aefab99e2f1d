// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Where pointers may point.
#include "../../programs/include/skep_bpf.h"

char LICENSE[] SEC("license") = "GPL";

struct bpf_iter_num {
	u64 state[1];
} __attribute__((aligned(8)));
extern int bpf_iter_num_new(struct bpf_iter_num *it, int start, int end) SEC(".ksyms");
extern int *bpf_iter_num_next(struct bpf_iter_num *it) SEC(".ksyms");
extern void bpf_iter_num_destroy(struct bpf_iter_num *it) SEC(".ksyms");

struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, u64[8]);
} values SEC(".maps");

extern void bpf_local_irq_save(unsigned long *flags) SEC(".ksyms");
extern void bpf_local_irq_restore(unsigned long *flags) SEC(".ksyms");

// So that the object's BTF declares them.
SEC("socket") int iterates(void *ctx)
{
	struct bpf_iter_num *it = ctx;
	bpf_iter_num_new(it, 0, 0);
	bpf_iter_num_next(it);
	bpf_iter_num_destroy(it);
	return 0;
}

SEC("tp_btf/task_newtask") int saves(u64 *ctx)
{
	unsigned long flags;
	bpf_local_irq_save(&flags);
	bpf_local_irq_restore(&flags);
	return 0;
}

SEC("tp_btf/task_newtask") __attribute__((naked)) int flags_above_stack(void)
{
	asm volatile("r1 = r10; r1 += -8;"
		     "call %[save];"
		     "r1 = r10;"
		     "call %[restore];"
		     "r0 = 0;"
		     "exit" :: [save] "i"(bpf_local_irq_save), [restore] "i"(bpf_local_irq_restore) : "memory");
}

// The iterator is at fp-8; what is above the frame is taken for it.
SEC("socket") __attribute__((naked)) int iterator_above_stack(void)
{
	asm volatile("r1 = r10; r1 += -8; w2 = 0; w3 = 0;"
		     "call %[new];"
		     "r1 = r10;"
		     "call %[destroy];"
		     "r0 = 0;"
		     "exit" :: [new] "i"(bpf_iter_num_new), [destroy] "i"(bpf_iter_num_destroy) : "memory");
}

// Constants of a pointer, and a number that is at least 34.
#define VALUE \
	"call 7; r7 = r0; r1 = 0; *(u64 *)(r10 - 8) = r1; r2 = r10; r2 += -8;" \
	"r1 = %[values] ll; call 1; if r0 == 0 goto 1f;"
#define END "1: r0 = 0; exit"

SEC("socket") __attribute__((naked)) int sum_overflows(void)
{
	asm volatile(VALUE "if r7 s<= 33 goto 1f;"
		     "r0 += 12;"
		     "r0 += r7;"
		     END :: [values] "i"(&values) : "memory");
}

SEC("socket") __attribute__((naked)) int sum_fits(void)
{
	asm volatile(VALUE "if r7 s<= 33 goto 1f;"
		     "r0 += r7;"
		     END :: [values] "i"(&values) : "memory");
}

SEC("socket") __attribute__((naked)) int difference_is_large(void)
{
	asm volatile(VALUE "w7 = w7;"
		     "r0 -= r7;"
		     END :: [values] "i"(&values) : "memory");
}

// Two constants that make up for one another, each within what is allowed.
SEC("socket") __attribute__((naked)) int back_and_forth(void)
{
	asm volatile(VALUE "r0 += -500000000;"
		     "r0 += 500000000;"
		     "r0 = *(u8 *)(r0 + 0);"
		     END :: [values] "i"(&values) : "memory");
}

// A constant, and a number that takes the sum beyond what is allowed.
SEC("socket") __attribute__((naked)) int least_is_low(void)
{
	asm volatile(VALUE "r7 &= 0xff;"
		     "r7 -= 500000000;"
		     "r0 += -500000000;"
		     "r0 += r7;"
		     END :: [values] "i"(&values) : "memory");
}

SEC("socket") __attribute__((naked)) int least_is_high(void)
{
	asm volatile(VALUE "r7 &= 0xff;"
		     "r7 += 500000000;"
		     "r0 += 500000000;"
		     "r0 += r7;"
		     END :: [values] "i"(&values) : "memory");
}
