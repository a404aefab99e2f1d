/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A strong extern that the kernel does not have keeps every program from being loaded. */
#define STRONG
#include "externs_absent.bpf.c"
