/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "tc/tc-handle.h"

#include "offload/kdp-id-fpool.h"
#include "ovs-thread.h"
#include "random.h"

static struct kdp_id_fpool *handles;
static uint32_t handles_floor;
static ovsthread_key_t handles_key;     /* struct kdp_id_user. */

/* Ranges with handles of rules that were found. */
static struct ovs_mutex found_mutex = OVS_MUTEX_INITIALIZER;
static bool found[KDP_TC_HANDLE_RANGES] OVS_GUARDED_BY(found_mutex);

static void
return_handles(void *user)
{
    kdp_id_fpool_user_destroy(user);
}

/* Returns a range in which no rule was found, or any if there is none. */
static uint32_t
choose_range(void)
{
    uint32_t range = random_range(KDP_TC_HANDLE_RANGES);

    ovs_mutex_lock(&found_mutex);
    for (uint32_t i = 0; i < KDP_TC_HANDLE_RANGES && found[range]; i++) {
        range = (range + 1) % KDP_TC_HANDLE_RANGES;
    }
    ovs_mutex_unlock(&found_mutex);
    return range;
}

static void
create_handles(void)
{
    handles_floor = KDP_TC_HANDLE_FIRST + choose_range() * KDP_TC_HANDLE_N;
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

void
kdp_tc_handle_found(uint32_t handle)
{
    uint32_t range = (handle - KDP_TC_HANDLE_FIRST) / KDP_TC_HANDLE_N;

    if (range < KDP_TC_HANDLE_RANGES) {
        ovs_mutex_lock(&found_mutex);
        found[range] = true;
        ovs_mutex_unlock(&found_mutex);
    }
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
