// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Two paths that meet where the one that is walked first leaves a state.
#pragma once

// r6 is `first` on the path that is walked first, and `other` on the other; both come to label 1,
// where the first leaves a state.
#define WALKED_FIRST(first, other) \
	"r7 = 1; r7 = 2; r7 = 3; r7 = 4; r7 = 5; r7 = 6; r7 = 7; r7 = 8; r7 = 9;" \
	"call 7;" \
	"if r0 == 5 goto 9f;" \
	"9: if r0 == 6 goto 9f;" \
	"9: r6 = " #other ";" \
	"if r0 == 0 goto 1f;" \
	"r6 = " #first ";" \
	"goto 9f;" \
	"9: goto 9f;" \
	"9: r7 = 1; r7 = 2; r7 = 3; r7 = 4; r7 = 5; r7 = 6; r7 = 7; r7 = 8; r7 = 9;" \
	"1: "
