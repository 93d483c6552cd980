/* SPDX-License-Identifier: Apache-2.0 */

#ifndef HARNESS_DESCRIPTORS_H
#define HARNESS_DESCRIPTORS_H 1

/* Open file descriptors of the process, for tests that look for leaks. */

#include <stddef.h>

/* Number of open sockets, epoll instances and so on of the process.  Pipes,
 * which Open vSwitch creates for its threads and keeps, do not count. */
size_t unit_count_fds(void);

#endif /* tests/harness/descriptors.h */
