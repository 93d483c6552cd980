/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_UPCALL_BUFFERS_H
#define KDP_UPCALL_BUFFERS_H 1

/* Memory for the messages of a batch.
 *
 * Private to lib/upcall.  The whole address range of the buffers is reserved,
 * but memory backs only what a message was written to, even with --mlockall.
 *
 * Thread safety: no state. */

#include <stddef.h>

/* Maps buffers for 'n_msgs' messages of 'msg_size' bytes, or returns NULL with
 * errno set. */
void *upcall_buffers_map(unsigned int n_msgs, size_t msg_size);
void upcall_buffers_unmap(void *, unsigned int n_msgs, size_t msg_size);

#endif /* lib/upcall/upcall-buffers.h */
