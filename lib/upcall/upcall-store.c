/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "upcall/upcall-store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/netlink.h>
#include <linux/sockios.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "hash.h"
#include "openvswitch/hmap.h"
#include "openvswitch/poll-loop.h"
#include "openvswitch/vlog.h"
#include "ovs-thread.h"
#include "timeval.h"
#include "upcall/upcall-fd-limit.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(upcall_store);

/* The first descriptor that systemd passes (sd_listen_fds(3)). */
#define FIRST_PASSED 3

/* Bytes of a message with a copy.  All messages of a monitor's store have the
 * same length, so that a read takes one message. */
#define RECORD_SIZE 96
#define RECORD_UNCOPIED 95      /* Where 'uncopied' of an entry is. */
#define NAME_FORMAT "kdp-%d-%"PRIu32"-%"PRIu32

/* Memory for the names of systemd's sockets.  systemd passes all names in one
 * environment variable, which Linux limits to 128 KiB: with more, no process
 * starts.  Names of other sockets of the service need room, too. */
#define NAMES_SIZE (120 * 1024)

/* Memory for the messages of a monitor's store.  Each takes less than 1 kB, so
 * this is enough for all sockets that a process can have.  The kernel
 * allocates memory only for existing messages. */
#define QUEUE_SIZE (1024 * 1024 * 1024)

/* The monitor's store is sorted when it has this many messages more than twice
 * the needed ones.  So it reads fewer needed messages than removed ones. */
#define QUEUE_SPARE 256

/* Milliseconds before a failed attempt is repeated.  By then systemd has read
 * its messages, or the administrator has raised a limit. */
#define RETRY_BUSY 10
#define RETRY_FAILED 1000

/* Milliseconds for which upcall_store_clear_at_end() holds.  A reload that
 * takes longer has failed: systemd ends it after five minutes in the units of
 * distributions, and after 90 seconds by default.  A daemon that ends later
 * does so for another reason, such as a restart, which passes the sockets. */
#define CLEAR_MSEC (10 * 60 * 1000)

enum entry_state {
    FOUND,                      /* From a previous run; this module owns
                                 * 'fd'. */
    MISSING,                    /* To be copied; the user owns 'fd'. */
    KEPT,
    GONE,                       /* To be removed from systemd's store. */
};

struct entry {
    struct hmap_node node;      /* In 'entries', by 'pid'. */
    enum entry_state state;
    int fd;
    int dp_ifindex;
    uint32_t port_no;
    uint32_t pid;
    bool uncopied;              /* FOUND, but MISSING in the process that
                                 * handed over. */
    unsigned int serial;        /* Order in which entries were added. */
};

static struct ovs_mutex mutex = OVS_MUTEX_INITIALIZER;
static struct hmap entries OVS_GUARDED_BY(mutex)
    = HMAP_INITIALIZER(&entries);
static size_t n_found OVS_GUARDED_BY(mutex);        /* Entries that are
                                                     * FOUND. */
static size_t n_copied OVS_GUARDED_BY(mutex);       /* Those that are not
                                                     * MISSING, and */
static size_t names_size OVS_GUARDED_BY(mutex);     /* memory for their
                                                     * names. */
static unsigned int next_serial OVS_GUARDED_BY(mutex);
static int systemd = -1;        /* Constant after _open(), as are */
static size_t systemd_max = SIZE_MAX;   /* the number of sockets that it takes,
                                         * and */
static int queue[2] = { -1, -1 };       /* the monitor's store. */
static size_t n_messages OVS_GUARDED_BY(mutex);     /* In 'queue'. */
static bool changed OVS_GUARDED_BY(mutex);  /* Some are MISSING or GONE. */
static long long int retry_at OVS_GUARDED_BY(mutex) = LLONG_MIN;
static int last_error OVS_GUARDED_BY(mutex);
static bool left OVS_GUARDED_BY(mutex);
static long long int clear_until OVS_GUARDED_BY(mutex) = LLONG_MIN;

static bool
exists(void)
{
    return systemd >= 0 || queue[0] >= 0;
}

/* Entries. */

static struct entry *
find(uint32_t pid)
    OVS_REQUIRES(mutex)
{
    struct entry *entry;

    HMAP_FOR_EACH_WITH_HASH (entry, node, hash_int(pid, 0), &entries) {
        if (entry->pid == pid && entry->state != GONE) {
            return entry;
        }
    }
    return NULL;
}

/* Memory that systemd needs for the name of 'entry', with a separator. */
static size_t
name_size(const struct entry *entry)
{
    return snprintf(NULL, 0, NAME_FORMAT, entry->dp_ifindex, entry->port_no,
                    entry->pid) + 1;
}

static void
set_state(struct entry *entry, enum entry_state state)
    OVS_REQUIRES(mutex)
{
    if (entry->state == MISSING && state != MISSING) {
        n_copied++;
        names_size += name_size(entry);
    } else if (entry->state != MISSING && state == MISSING) {
        n_copied--;
        names_size -= name_size(entry);
    }
    n_found -= entry->state == FOUND;
    n_found += state == FOUND;
    upcall_fd_limit_set_found(n_found);
    entry->state = state;
}

static struct entry *
insert(enum entry_state state, int fd, int dp_ifindex, uint32_t port_no,
       uint32_t pid)
    OVS_REQUIRES(mutex)
{
    struct entry *entry = xmalloc(sizeof *entry);

    *entry = (struct entry) {
        .state = MISSING,
        .fd = fd,
        .dp_ifindex = dp_ifindex,
        .port_no = port_no,
        .pid = pid,
        .serial = next_serial++,
    };
    set_state(entry, state);
    hmap_insert(&entries, &entry->node, hash_int(pid, 0));
    return entry;
}

static void
delete(struct entry *entry)
    OVS_REQUIRES(mutex)
{
    set_state(entry, MISSING);
    hmap_remove(&entries, &entry->node);
    free(entry);
}

/* Forgets 'entry', whose socket is no longer needed. */
static void
forget(struct entry *entry)
    OVS_REQUIRES(mutex)
{
    if (systemd >= 0 && entry->state != MISSING) {
        set_state(entry, GONE);
        changed = true;
    } else {
        delete(entry);
    }
}

/* True if 'fd' is a socket for upcalls with port id 'pid'. */
static bool
is_socket_of(int fd, uint32_t pid)
{
    struct sockaddr_nl addr = { .nl_family = AF_UNSPEC };
    socklen_t len = sizeof addr;
    int protocol;
    socklen_t protocol_len = sizeof protocol;

    return (!getsockname(fd, (struct sockaddr *) &addr, &len)
            && addr.nl_family == AF_NETLINK && addr.nl_pid == pid
            && !getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol,
                           &protocol_len)
            && protocol == NETLINK_GENERIC);
}

/* Notes 'fd', which was found as 'name'.  Returns false if it is not one of
 * our sockets.  'uncopied' says that systemd's store does not have it. */
static bool
found(int fd, const char *name, bool uncopied)
    OVS_REQUIRES(mutex)
{
    uint32_t port_no, pid;
    int dp_ifindex, n = 0;

    if (sscanf(name, NAME_FORMAT"%n", &dp_ifindex, &port_no, &pid, &n) != 3
        || name[n] || !is_socket_of(fd, pid) || find(pid)) {
        return false;
    }
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    insert(FOUND, fd, dp_ifindex, port_no, pid)->uncopied = uncopied;
    return true;
}

/* Messages. */

/* Sends 'len' bytes at 'text' to socket 'sock', with descriptor 'fd' unless
 * that is -1.  Returns 0 or a positive errno value; EAGAIN if it would block
 * and 'flags' has MSG_DONTWAIT.  */
static int
send_text(int sock, const char *text, size_t len, int fd, int flags)
{
    union {
        struct cmsghdr align;
        char buf[CMSG_SPACE(sizeof fd)];
    } control = { .buf = { 0 } };
    struct iovec iov = { .iov_base = CONST_CAST(char *, text),
                         .iov_len = len };
    struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

    if (fd >= 0) {
        struct cmsghdr *cmsg;

        msg.msg_control = control.buf;
        msg.msg_controllen = sizeof control.buf;
        cmsg = CMSG_FIRSTHDR(&msg);
        cmsg->cmsg_level = SOL_SOCKET;
        cmsg->cmsg_type = SCM_RIGHTS;
        cmsg->cmsg_len = CMSG_LEN(sizeof fd);
        memcpy(CMSG_DATA(cmsg), &fd, sizeof fd);
    }
    return sendmsg(sock, &msg, flags | MSG_NOSIGNAL) < 0 ? errno : 0;
}

/* Sends 'entry', whose descriptor is 'fd', to socket 'sock'. */
static int
send_entry(int sock, const struct entry *entry, int fd, int flags)
{
    char record[RECORD_SIZE] = "";

    snprintf(record, sizeof record, NAME_FORMAT, entry->dp_ifindex,
             entry->port_no, entry->pid);
    record[RECORD_UNCOPIED] = entry->state == MISSING || entry->uncopied;
    return send_text(sock, record, sizeof record, fd, flags);
}

/* Puts 'entry', whose descriptor is 'fd', into the monitor's store. */
static int
enqueue(const struct entry *entry, int fd)
    OVS_REQUIRES(mutex)
{
    int error = send_entry(queue[0], entry, fd, MSG_DONTWAIT);

    n_messages += !error;
    return error;
}

/* Receives a message of send_entry() from socket 'sock'.  Returns its
 * descriptor and stores the name in 'record', or returns a negative errno
 * value, -EAGAIN if there is none. */
static int
receive_entry(int sock, char record[RECORD_SIZE + 1], int flags)
{
    union {
        struct cmsghdr align;
        char buf[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec iov = { .iov_base = record, .iov_len = RECORD_SIZE };
    struct msghdr msg = {
        .msg_iov = &iov,
        .msg_iovlen = 1,
        .msg_control = control.buf,
        .msg_controllen = sizeof control.buf,
    };
    const struct cmsghdr *cmsg;
    int fd;

    if (recvmsg(sock, &msg, flags | MSG_CMSG_CLOEXEC) <= 0) {
        return -EAGAIN;
    }
    record[RECORD_SIZE] = '\0';
    cmsg = CMSG_FIRSTHDR(&msg);
    if (!cmsg || cmsg->cmsg_type != SCM_RIGHTS) {
        return -EMFILE;         /* No descriptor was left for it. */
    }
    memcpy(&fd, CMSG_DATA(cmsg), sizeof fd);
    return fd;
}

/* Takes the first message of the monitor's store. */
static int
dequeue(char record[RECORD_SIZE + 1])
    OVS_REQUIRES(mutex)
{
    int fd = receive_entry(queue[1], record, MSG_DONTWAIT);

    n_messages -= fd != -EAGAIN && n_messages > 0;
    return fd;
}

/* Removes messages that are no longer needed from the monitor's store: reads
 * each message and sends it again if it is still needed. */
static void
sort_queue(void)
    OVS_REQUIRES(mutex)
{
    char record[RECORD_SIZE + 1];

    for (size_t n = n_messages; n > 0; n--) {
        int fd = dequeue(record);
        struct entry *entry;
        uint32_t pid;

        if (fd < 0) {
            continue;
        }
        if (sscanf(record, "kdp-%*d-%*u-%"SCNu32, &pid) == 1
            && (entry = find(pid)) && entry->state != MISSING
            && enqueue(entry, fd)) {
            set_state(entry, MISSING);
            changed = true;
        }
        close(fd);
    }
}

/* Copies 'entry' to each store.  Returns 0 or a positive errno value. */
static int
keep(const struct entry *entry)
    OVS_REQUIRES(mutex)
{
    char text[RECORD_SIZE];
    int error = 0;

    if (systemd >= 0) {
        int len = snprintf(text, sizeof text,
                           "FDSTORE=1\nFDPOLL=0\nFDNAME="NAME_FORMAT,
                           entry->dp_ifindex, entry->port_no, entry->pid);

        /* systemd closes descriptors for which it has no room, without an
         * error. */
        error = (n_copied >= systemd_max
                 || names_size + name_size(entry) > NAMES_SIZE ? ENOSPC
                 : send_text(systemd, text, len, entry->fd, MSG_DONTWAIT));
    }
    return error || queue[0] < 0 ? error : enqueue(entry, entry->fd);
}

static int
remove_from_systemd(const struct entry *entry, int flags)
    OVS_REQUIRES(mutex)
{
    char text[RECORD_SIZE];
    int len = snprintf(text, sizeof text, "FDSTOREREMOVE=1\nFDNAME="
                       NAME_FORMAT, entry->dp_ifindex, entry->port_no,
                       entry->pid);

    return send_text(systemd, text, len, -1, flags);
}

/* Brings the stores up to date.  Returns 0 or a positive errno value. */
static int
update(void)
    OVS_REQUIRES(mutex)
{
    struct entry *entry;
    int error = 0;

    changed = false;
    HMAP_FOR_EACH_SAFE (entry, node, &entries) {
        int entry_error = 0;

        if (entry->state == GONE) {
            entry_error = remove_from_systemd(entry, MSG_DONTWAIT);
            if (!entry_error) {
                delete(entry);
            }
        } else if (entry->state == MISSING) {
            entry_error = keep(entry);
            if (!entry_error) {
                set_state(entry, KEPT);
            }
        }
        if (entry_error) {
            error = entry_error;
            changed = true;
            if (error == EAGAIN) {
                break;
            }
        }
    }
    if (queue[0] >= 0
        && n_messages > 2 * hmap_count(&entries) + QUEUE_SPARE) {
        sort_queue();
    }
    return error;
}

/* Beginning. */

/* Connects to systemd if it wants messages. */
static void
open_systemd(void)
{
    const char *path = getenv("NOTIFY_SOCKET");
    const char *max = getenv("FDSTORE");
    struct sockaddr_un addr = { .sun_family = AF_UNIX };
    size_t len = path ? strlen(path) : 0;

    if (!len || len >= sizeof addr.sun_path) {
        return;
    }
    memcpy(addr.sun_path, path, len);
    if (addr.sun_path[0] == '@') {
        addr.sun_path[0] = '\0';
    }
    systemd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (systemd >= 0
        && connect(systemd, (struct sockaddr *) &addr,
                   offsetof(struct sockaddr_un, sun_path) + len)) {
        VLOG_WARN("%s: connecting to the service manager failed (%s): sockets "
                  "for upcalls go with the daemon", path,
                  ovs_strerror(errno));
        close(systemd);
        systemd = -1;
    }
    if (max) {
        systemd_max = strtoul(max, NULL, 10);
    }
}

/* Creates the store of a monitor. */
static void
open_queue(void)
{
    const int size = QUEUE_SIZE;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, queue)) {
        VLOG_WARN("making a pair of sockets failed (%s): sockets for upcalls "
                  "go with the daemon", ovs_strerror(errno));
    } else if (setsockopt(queue[0], SOL_SOCKET, SO_SNDBUFFORCE, &size,
                          sizeof size)) {
        setsockopt(queue[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    }
}

/* Finds the descriptors that systemd has passed.  systemd passed them to a
 * script that started this process, so LISTEN_PID does not matter. */
static void
take_passed(void)
    OVS_REQUIRES(mutex)
{
    const char *n_passed = getenv("LISTEN_FDS");
    const char *passed_names = getenv("LISTEN_FDNAMES");
    int n = n_passed ? atoi(n_passed) : 0;
    char *names = xstrdup(passed_names ? passed_names : "");
    char *rest = names;

    for (int fd = FIRST_PASSED; fd < FIRST_PASSED + n && rest; fd++) {
        found(fd, strsep(&rest, ":"), false);
    }
    free(names);
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_FDNAMES");
}

void
upcall_store_open(bool monitored)
{
    ovs_mutex_lock(&mutex);
    open_systemd();
    if (monitored) {
        open_queue();
    }
    take_passed();
    if (queue[0] >= 0) {
        struct entry *entry;

        /* The monitor must not have them open, because it would never close
         * them. */
        HMAP_FOR_EACH_SAFE (entry, node, &entries) {
            enqueue(entry, entry->fd);
            close(entry->fd);
            delete(entry);
        }
    }
    ovs_mutex_unlock(&mutex);
}

void
upcall_store_start(void)
{
    char record[RECORD_SIZE + 1];
    struct entry *entry;
    int n_bytes, fd;

    ovs_mutex_lock(&mutex);
    if (queue[0] >= 0 && !ioctl(queue[1], SIOCINQ, &n_bytes)) {
        upcall_fd_limit_ensure("store", n_bytes / RECORD_SIZE, 0);
        while ((fd = dequeue(record)) != -EAGAIN) {
            if (fd >= 0 && !found(fd, record, false)) {
                close(fd);
            }
        }
        n_messages = 0;
        HMAP_FOR_EACH (entry, node, &entries) {
            enqueue(entry, entry->fd);
        }
    }
    if (!hmap_is_empty(&entries)) {
        VLOG_INFO("found %"PRIuSIZE" sockets for upcalls of a previous run",
                  hmap_count(&entries));
    }
    ovs_mutex_unlock(&mutex);
}

/* Sockets. */

void
upcall_store_add(int fd, int dp_ifindex, uint32_t port_no, uint32_t pid)
{
    ovs_mutex_lock(&mutex);
    if (!find(pid)) {
        insert(exists() ? MISSING : KEPT, fd, dp_ifindex, port_no, pid);
        changed |= exists();
        retry_at = LLONG_MIN;
    }
    ovs_mutex_unlock(&mutex);
}

void
upcall_store_remove(uint32_t pid)
{
    struct entry *entry;

    ovs_mutex_lock(&mutex);
    entry = find(pid);
    if (entry && !left) {
        forget(entry);
    }
    ovs_mutex_unlock(&mutex);
}

static bool
is_found(const struct entry *entry, int dp_ifindex, uint32_t port_no)
{
    return (entry->state == FOUND && entry->dp_ifindex == dp_ifindex
            && entry->port_no == port_no);
}

/* The last entry that was found for a port, or NULL. */
static struct entry *
find_last(int dp_ifindex, uint32_t port_no)
    OVS_REQUIRES(mutex)
{
    struct entry *entry, *last = NULL;

    if (!n_found) {
        return NULL;            /* Nearly always. */
    }
    HMAP_FOR_EACH (entry, node, &entries) {
        if (is_found(entry, dp_ifindex, port_no)
            && (!last || entry->serial > last->serial)) {
            last = entry;
        }
    }
    return last;
}

int
upcall_store_take(int dp_ifindex, uint32_t port_no, uint32_t pid)
{
    struct entry *entry;
    int fd = -1;

    ovs_mutex_lock(&mutex);
    entry = pid ? find(pid) : find_last(dp_ifindex, port_no);
    if (entry && is_found(entry, dp_ifindex, port_no)) {
        fd = entry->fd;
        set_state(entry, entry->uncopied && exists() ? MISSING : KEPT);
        changed |= entry->state == MISSING;
        entry->uncopied = false;
    }
    ovs_mutex_unlock(&mutex);
    return fd;
}

bool
upcall_store_has_found(void)
{
    bool has;

    ovs_mutex_lock(&mutex);
    has = n_found > 0;
    ovs_mutex_unlock(&mutex);
    return has;
}

void
upcall_store_end(void)
{
    struct entry *entry;

    ovs_mutex_lock(&mutex);
    if (n_found) {
        VLOG_INFO("closing %"PRIuSIZE" sockets of a previous run that no port "
                  "sends upcalls to", n_found);
        HMAP_FOR_EACH_SAFE (entry, node, &entries) {
            if (entry->state == FOUND) {
                close(entry->fd);
                forget(entry);
            }
        }
    }
    ovs_mutex_unlock(&mutex);
}

void
upcall_store_clear_at_end(void)
{
    ovs_mutex_lock(&mutex);
    clear_until = time_msec() + CLEAR_MSEC;
    ovs_mutex_unlock(&mutex);
}

void
upcall_store_leave(void)
{
    upcall_store_run();
    ovs_mutex_lock(&mutex);
    if (n_copied && systemd >= 0 && time_msec() < clear_until) {
        const struct entry *entry;

        VLOG_INFO("removing %"PRIuSIZE" sockets for upcalls from the store of "
                  "the service manager, as \"handover/clear-sockets\" asked",
                  n_copied);
        HMAP_FOR_EACH (entry, node, &entries) {
            if (entry->state != MISSING) {
                remove_from_systemd(entry, 0);
            }
        }
    }
    left |= systemd >= 0;       /* The monitor ends with the daemon. */
    ovs_mutex_unlock(&mutex);
}

bool
upcall_store_is_left(void)
{
    bool retval;

    ovs_mutex_lock(&mutex);
    retval = left;
    ovs_mutex_unlock(&mutex);
    return retval;
}

/* Handing over. */

int
upcall_store_send(int sock)
{
    struct entry *entry;
    int error, n;

    ovs_mutex_lock(&mutex);
    left = true;
    n = hmap_count(&entries);
    error = send_text(sock, (const char *) &n, sizeof n, -1, 0);
    HMAP_FOR_EACH (entry, node, &entries) {
        error = error ? error : send_entry(sock, entry, (entry->state == GONE
                                                         ? -1 : entry->fd), 0);
    }
    ovs_mutex_unlock(&mutex);
    return error;
}

int
upcall_store_receive(int sock)
{
    char record[RECORD_SIZE + 1];
    int n;

    if (recv(sock, &n, sizeof n, 0) != sizeof n) {
        return EPROTO;
    }
    ovs_mutex_lock(&mutex);
    upcall_fd_limit_ensure("handover", n, 0);
    for (; n > 0; n--) {
        int fd = receive_entry(sock, record, 0);

        if (fd == -EAGAIN) {
            break;
        } else if (fd >= 0 && !found(fd, record, record[RECORD_UNCOPIED])) {
            close(fd);
        }
    }
    ovs_mutex_unlock(&mutex);
    return n ? EPROTO : 0;
}

void
upcall_store_return(void)
{
    ovs_mutex_lock(&mutex);
    left = false;
    ovs_mutex_unlock(&mutex);
}

void
upcall_store_notify(const char *text)
{
    int error = (systemd < 0 ? 0
                 : send_text(systemd, text, strlen(text), -1, 0));

    if (error) {
        VLOG_WARN("%s: telling the service manager failed (%s)", text,
                  ovs_strerror(error));
    }
}

void
upcall_store_get_info(struct upcall_store_info *info)
{
    const struct entry *entry;

    ovs_mutex_lock(&mutex);
    *info = (struct upcall_store_info) { .exists = exists() };
    HMAP_FOR_EACH (entry, node, &entries) {
        info->n_kept += exists() && entry->state == KEPT;
        info->n_missing += entry->state == MISSING && last_error;
    }
    info->error = info->n_missing ? last_error : 0;
    ovs_mutex_unlock(&mutex);
}

/* The main loop. */

void
upcall_store_run(void)
{
    static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(1, 1);

    ovs_mutex_lock(&mutex);
    if (changed && !left && time_msec() >= retry_at) {
        int error = update();

        last_error = error == EAGAIN ? last_error : error;
        if (error && error != EAGAIN) {
            VLOG_WARN_RL(&rl, "keeping a socket for upcalls failed (%s): a "
                         "restart loses packets of new flows; trying again",
                         ovs_strerror(error));
        }
        retry_at = (!error ? LLONG_MIN
                    : time_msec() + (error == EAGAIN ? RETRY_BUSY
                                     : RETRY_FAILED));
    }
    ovs_mutex_unlock(&mutex);
}

void
upcall_store_wait(void)
{
    ovs_mutex_lock(&mutex);
    if (changed && !left) {
        poll_timer_wait_until(retry_at);
    }
    ovs_mutex_unlock(&mutex);
}
