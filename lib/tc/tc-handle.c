/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "tc/tc-handle.h"

#include "offload/kdp-id-fpool.h"
#include "ovs-thread.h"
#include "random.h"

static struct kdp_id_fpool *handles;
static uint32_t handles_floor;
static ovsthread_key_t handles_key;     /* struct kdp_id_user. */

static void
return_handles(void *user)
{
    kdp_id_fpool_user_destroy(user);
}

static void
create_handles(void)
{
    handles_floor = random_range(KDP_TC_HANDLE_RANGES) * KDP_TC_HANDLE_N;
    handles_floor += KDP_TC_HANDLE_FIRST;
    handles = kdp_id_fpool_create(handles_floor, KDP_TC_HANDLE_N, 0);
    ovsthread_key_create(&handles_key, return_handles);
}

/* The calling thread's user of the pool. */
static struct kdp_id_user *
handles_user(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct kdp_id_user *user;

    pthread_once(&once, create_handles);
    user = ovsthread_getspecific(handles_key);
    if (!user) {
        user = kdp_id_fpool_user_create(handles);
        ovsthread_setspecific(handles_key, user);
    }
    return user;
}

bool
kdp_tc_is_own_handle(uint32_t handle)
{
    handles_user();
    return handle - handles_floor < KDP_TC_HANDLE_N;
}

bool
kdp_tc_handle_new(uint32_t *handle)
{
    return kdp_id_fpool_new_id(handles_user(), handle);
}

void
kdp_tc_handle_free(uint32_t handle)
{
    kdp_id_fpool_free_id(handles_user(), handle);
}
