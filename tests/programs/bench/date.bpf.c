/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Dates and times of day of 48 timestamps, and their weekdays. */
#include "bench.h"

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 sum = 0;

	for (int n = 0; n < 48; n++) {
		u32 time = load32(in + 4 * n), days = time / 86400, rest = time % 86400;
		u32 shifted = days + 719468, era = shifted / 146097, of_era = shifted % 146097;
		u32 year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
		u32 of_year = of_era - (365 * year + year / 4 - year / 100);
		u32 shifted_month = (5 * of_year + 2) / 153;
		u32 day = of_year - (153 * shifted_month + 2) / 5 + 1;
		u32 month = shifted_month < 10 ? shifted_month + 3 : shifted_month - 9;

		year += era * 400 + (month <= 2);
		sum = sum * 31 + (year << 9 | month << 5 | day);
		sum = sum * 31 + (rest / 3600 << 12 | rest / 60 % 60 << 6 | rest % 60);
		sum += (days + 4) % 7;
	}
	return sum;
}

BENCH(date);
