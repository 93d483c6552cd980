/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_UPCALL_ENGINE_URING_H
#define KDP_UPCALL_ENGINE_URING_H 1

/* The engine that makes one io_uring_enter() for all channels of a read. */

struct upcall_engine_class;

extern const struct upcall_engine_class upcall_engine_uring;

#endif /* lib/upcall/upcall-engine-uring.h */
