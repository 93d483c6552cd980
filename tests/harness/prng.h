/* SPDX-License-Identifier: Apache-2.0 */

#ifndef HARNESS_PRNG_H
#define HARNESS_PRNG_H 1

/* Pseudo-random numbers
 * =====================
 *
 * All numbers of a test program come from one seed, which is printed when it
 * is first used.  Environment variable KDP_SEED sets it, to repeat a failure.
 *
 * Each thread draws from its own stream, so that its numbers do not depend on
 * the speed of other threads.  The main thread begins with stream 0.  Any
 * other thread chooses one before it draws.  A stream begins again when it is
 * chosen. */

#include <stdint.h>

uint32_t unit_seed(void);

/* Makes the calling thread draw from the beginning of stream 'id'. */
void unit_random_stream(uint32_t id);

/* A number from 0 to 'n' - 1, with 'n' > 0. */
uint32_t unit_random(uint32_t n);

#endif /* tests/harness/prng.h */
