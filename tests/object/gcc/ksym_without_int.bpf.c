/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* GCC makes no type of an array's index: there is no integer of 4 bytes for the extern. */
extern const void weak_symbol __attribute__((section(".ksyms"), weak));

__attribute__((section("socket"), used)) long address(void *ctx)
{
	return (long)&weak_symbol;
}

char LICENSE[4] __attribute__((section("license"))) = "GPL";
