/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Externs: configuration options of each type, laid out by alignment; the values that the loader
 * makes up; weak kernel symbols that do not exist, typed and untyped, variables and functions. */
#include "include/skep_bpf.h"

#define KCONFIG __attribute__((section(".kconfig")))
#define KSYM __attribute__((section(".ksyms")))
#define WEAK __attribute__((weak))

extern int LINUX_KERNEL_VERSION KCONFIG;
extern _Bool CONFIG_BPF_SYSCALL KCONFIG;
extern char CONFIG_SKEP_CHAR KCONFIG WEAK;
extern u64 CONFIG_SKEP_NUMBER KCONFIG WEAK;
extern char CONFIG_SKEP_TEXT[8] KCONFIG WEAK;
extern u16 CONFIG_SKEP_ABSENT KCONFIG WEAK;

struct skep_no_such_type;
extern const void skep_no_such_address KSYM WEAK;
extern const int skep_no_such_variable KSYM WEAK;
extern int skep_no_such_kfunc(struct skep_no_such_type *what) KSYM WEAK;

SEC("tc")
int reads_configuration(struct __sk_buff *skb)
{
	if (!CONFIG_BPF_SYSCALL || LINUX_KERNEL_VERSION < 0x50000)
		return 1;
	return (int)CONFIG_SKEP_NUMBER + CONFIG_SKEP_CHAR + CONFIG_SKEP_TEXT[1] +
	       CONFIG_SKEP_ABSENT;
}

SEC("tc")
int asks_for_symbols(struct __sk_buff *skb)
{
	if (&skep_no_such_address)
		return 1;
	if (&skep_no_such_variable)
		return 2;
	return skep_no_such_kfunc((void *)0);
}

LICENSE_GPL;
