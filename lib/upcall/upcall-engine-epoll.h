/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_UPCALL_ENGINE_EPOLL_H
#define KDP_UPCALL_ENGINE_EPOLL_H 1

/* The engine that makes one recvmmsg() for each channel. */

struct upcall_engine_class;

extern const struct upcall_engine_class upcall_engine_epoll;

#endif /* lib/upcall/upcall-engine-epoll.h */
