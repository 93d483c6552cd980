/* SPDX-License-Identifier: GPL-2.0-only */

/* The kernel's test harness, with a time limit that suits an emulated CPU. */

#ifndef KS_HARNESS_H
#define KS_HARNESS_H 1

#include "ks-util.h"

#include "kselftest_harness.h"

/* Seconds that a test may take unless it says otherwise.  A test that waits
 * for a condition is to fail by that, not by the harness's limit of 30 s. */
#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT (3 * KS_PATIENCE)

#endif
