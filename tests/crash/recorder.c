/* Loaded into the server by LD_PRELOAD. It puts all that the server does to the files below RECORD_ROOT, and all that it sends over
 * sockets, into one order, and writes it to RECORD_LOG; and it kills the process before the file operation number RECORD_KILL_AT,
 * counted from 1, or in the middle of it where that is a write and RECORD_KILL_TORN is set. Or it makes the operation number
 * RECORD_FAIL_AT fail with the error RECORD_FAIL_ERRNO, and with RECORD_FAIL_EVER all that follow; counted are those of the kinds in
 * RECORD_FAIL_AMONG. With RECORD_FAIL_SHORT that operation, a write, does half of its work, and the next one fails.
 *
 * A record is: kind u8, a i64, b i64, length of the first text u32, of the second u32, both texts; in the machine's byte order.
 * Every operation is done and recorded under one lock, except syncs, whose begin and end are two records. So what is recorded
 * before something was done before it, or at the same time.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* The same numbers stand in tests/crash/power/record.rs. */
enum kind { PROCESS = 1, OPEN, CREATE, CLOSE, WRITE, TRUNCATE, SYNC, SYNCED, RENAME, UNLINK, MKDIR, SEND };

/* Kinds of operations, as a set in RECORD_FAIL_AMONG. */
enum operation { WRITES = 1, SYNCS = 2, OTHERS = 4 };
/* No errno. */
#define HALF (-1)

#define FILES 4096
#define PATH 1024
/* Out of the way of all that the server opens. */
#define LOG_FD 1000

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static char root[PATH];
static size_t root_length;
static int log_fd = -1;
static long kill_at, kill_torn, operations;
static long fail_at, fail_errno, fail_ever, fail_among, fail_short, candidates;
static int64_t syncs;
/* By descriptor: whether it is a file or folder below the root. */
static unsigned char tracked[FILES];

static void record(enum kind kind, int64_t a, int64_t b, const void *first, size_t first_length, const void *second,
                   size_t second_length) {
    if (log_fd < 0) return;
    char head[25];
    uint32_t lengths[2] = {(uint32_t)first_length, (uint32_t)second_length};
    head[0] = (char)kind;
    memcpy(head + 1, &a, 8);
    memcpy(head + 9, &b, 8);
    memcpy(head + 17, lengths, 8);
    struct iovec parts[3] = {{head, sizeof head}, {(void *)first, first_length}, {(void *)second, second_length}};
    if (syscall(SYS_writev, log_fd, parts, 3) != (long)(sizeof head + first_length + second_length)) abort();
}

static long setting(const char *name) {
    const char *text = getenv(name);
    return text ? atol(text) : 0;
}

static void begin(void) {
    const char *folder = getenv("RECORD_ROOT"), *path = getenv("RECORD_LOG");
    if (!folder) return;
    root_length = (size_t)snprintf(root, sizeof root, "%s", folder);
    kill_at = setting("RECORD_KILL_AT");
    kill_torn = setting("RECORD_KILL_TORN");
    fail_at = setting("RECORD_FAIL_AT");
    fail_errno = setting("RECORD_FAIL_ERRNO");
    fail_ever = setting("RECORD_FAIL_EVER");
    fail_among = setting("RECORD_FAIL_AMONG");
    fail_short = setting("RECORD_FAIL_SHORT");
    if (path) {
        int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0644);
        log_fd = (int)syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, LOG_FD);
        syscall(SYS_close, fd);
        if (log_fd < 0) abort();
        record(PROCESS, 0, 0, NULL, 0, NULL, 0);
    }
}

static void lock(void) {
    pthread_once(&once, begin);
    pthread_mutex_lock(&mutex);
}

static void unlock(void) {
    int error = errno;
    pthread_mutex_unlock(&mutex);
    errno = error;
}

static void die(void) {
    syscall(SYS_kill, syscall(SYS_getpid), SIGKILL);
    for (;;) pause();
}

static int is_last(void) { return ++operations == kill_at; }

/* What an operation has to fail with, or 0. */
static int fault(enum operation operation) {
    if (!fail_at || !(operation & fail_among)) return 0;
    candidates++;
    if (fail_short && candidates == fail_at) return HALF;
    int due = candidates == fail_at + (fail_short != 0) || (fail_ever && candidates > fail_at);
    return due ? (int)fail_errno : 0;
}

/* Counts an operation that is no write; the process may not come back from this. Says whether it fails. */
static int fails(enum operation operation) {
    if (is_last()) die();
    int error = fault(operation);
    if (error) errno = error;
    return error != 0;
}

static int below(const char *path, char *full) {
    if (path[0] == '/') {
        snprintf(full, PATH, "%s", path);
    } else {
        char folder[PATH / 2];
        if (!getcwd(folder, sizeof folder)) return 0;
        snprintf(full, PATH, "%s/%s", folder, path);
    }
    return root_length > 0 && strncmp(full, root, root_length) == 0 &&
           (full[root_length] == '/' || full[root_length] == '\0');
}

static int is_tracked(int fd) { return fd >= 0 && fd < FILES && tracked[fd]; }

static int is_socket(int fd) {
    struct stat stat;
    return log_fd >= 0 && fd != log_fd && fstat(fd, &stat) == 0 && S_ISSOCK(stat.st_mode);
}

static int open_file(int folder, const char *path, int flags, mode_t mode) {
    char full[PATH];
    lock();
    if (folder != AT_FDCWD || !below(path, full)) {
        unlock();
        return (int)syscall(SYS_openat, folder, path, flags, mode);
    }
    struct stat stat;
    int existed = lstat(full, &stat) == 0, changes = (!existed && flags & O_CREAT) || (existed && flags & O_TRUNC);
    int fd = changes && fails(OTHERS) ? -1 : (int)syscall(SYS_openat, folder, path, flags, mode);
    if (fd >= 0 && fd < FILES) {
        tracked[fd] = 1;
        record(existed ? OPEN : CREATE, fd, (flags & O_TRUNC) != 0, full, strlen(full), NULL, 0);
    }
    unlock();
    return fd;
}

#define OPEN_MODE                                  \
    mode_t mode = 0;                               \
    if (flags & (O_CREAT | __O_TMPFILE)) {         \
        va_list list;                              \
        va_start(list, flags);                     \
        mode = va_arg(list, mode_t);               \
        va_end(list);                              \
    }

int open(const char *path, int flags, ...) { OPEN_MODE return open_file(AT_FDCWD, path, flags, mode); }
int open64(const char *path, int flags, ...) { OPEN_MODE return open_file(AT_FDCWD, path, flags, mode); }
int openat(int folder, const char *path, int flags, ...) { OPEN_MODE return open_file(folder, path, flags, mode); }
int openat64(int folder, const char *path, int flags, ...) { OPEN_MODE return open_file(folder, path, flags, mode); }

int close(int fd) {
    lock();
    if (is_tracked(fd) || is_socket(fd)) record(CLOSE, fd, 0, NULL, 0, NULL, 0);
    if (fd >= 0 && fd < FILES) tracked[fd] = 0;
    int result = (int)syscall(SYS_close, fd);
    unlock();
    return result;
}

static ssize_t write_at(int fd, const void *bytes, size_t length, off_t offset) {
    int last = is_last();
    if (last && !kill_torn) die();
    int error = fault(WRITES);
    if (error > 0) {
        errno = error;
        return -1;
    }
    ssize_t written = syscall(SYS_pwrite64, fd, bytes, last || error == HALF ? length / 2 : length, offset);
    if (last) die();
    if (written > 0) record(WRITE, fd, offset, bytes, (size_t)written, NULL, 0);
    return written;
}

ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t offset) {
    lock();
    ssize_t written = is_tracked(fd) ? write_at(fd, bytes, length, offset) : syscall(SYS_pwrite64, fd, bytes, length, offset);
    unlock();
    return written;
}
ssize_t pwrite(int fd, const void *bytes, size_t length, off_t offset) { return pwrite64(fd, bytes, length, offset); }

ssize_t write(int fd, const void *bytes, size_t length) {
    lock();
    ssize_t written;
    if (is_tracked(fd)) {
        off_t offset = syscall(SYS_lseek, fd, 0, syscall(SYS_fcntl, fd, F_GETFL) & O_APPEND ? SEEK_END : SEEK_CUR);
        written = write_at(fd, bytes, length, offset);
        if (written > 0) syscall(SYS_lseek, fd, offset + written, SEEK_SET);
    } else {
        written = syscall(SYS_write, fd, bytes, length);
        if (written > 0 && is_socket(fd)) record(SEND, fd, 0, bytes, (size_t)written, NULL, 0);
    }
    unlock();
    return written;
}

/* What was sent, part by part. */
static void record_parts(int fd, const struct iovec *parts, size_t number, ssize_t sent) {
    for (size_t part = 0; part < number && sent > 0; part++) {
        size_t length = parts[part].iov_len < (size_t)sent ? parts[part].iov_len : (size_t)sent;
        if (length > 0) record(SEND, fd, 0, parts[part].iov_base, length, NULL, 0);
        sent -= (ssize_t)length;
    }
}

ssize_t writev(int fd, const struct iovec *parts, int number) {
    lock();
    /* The server writes its files with single buffers; this must not pass unseen. */
    if (is_tracked(fd)) abort();
    ssize_t sent = syscall(SYS_writev, fd, parts, number);
    if (sent > 0 && is_socket(fd)) record_parts(fd, parts, (size_t)number, sent);
    unlock();
    return sent;
}

ssize_t sendto(int fd, const void *bytes, size_t length, int flags, const struct sockaddr *to, socklen_t to_length) {
    lock();
    ssize_t sent = syscall(SYS_sendto, fd, bytes, length, flags, to, to_length);
    if (sent > 0 && log_fd >= 0) record(SEND, fd, 0, bytes, (size_t)sent, NULL, 0);
    unlock();
    return sent;
}
ssize_t send(int fd, const void *bytes, size_t length, int flags) { return sendto(fd, bytes, length, flags, NULL, 0); }

ssize_t sendmsg(int fd, const struct msghdr *message, int flags) {
    lock();
    ssize_t sent = syscall(SYS_sendmsg, fd, message, flags);
    if (sent > 0 && log_fd >= 0) record_parts(fd, message->msg_iov, message->msg_iovlen, sent);
    unlock();
    return sent;
}

int ftruncate64(int fd, off64_t length) {
    lock();
    int result = is_tracked(fd) && fails(OTHERS) ? -1 : (int)syscall(SYS_ftruncate, fd, length);
    if (result == 0 && is_tracked(fd)) record(TRUNCATE, fd, length, NULL, 0, NULL, 0);
    unlock();
    return result;
}
int ftruncate(int fd, off_t length) { return ftruncate64(fd, length); }

static int sync_file(int fd, long number) {
    lock();
    int is_ours = is_tracked(fd);
    int64_t id = ++syncs;
    if (is_ours) {
        if (fails(SYNCS)) {
            unlock();
            return -1;
        }
        record(SYNC, fd, id, NULL, 0, NULL, 0);
    }
    unlock();
    int result = (int)syscall(number, fd);
    if (is_ours && result == 0) {
        int error = errno;
        lock();
        record(SYNCED, fd, id, NULL, 0, NULL, 0);
        unlock();
        errno = error;
    }
    return result;
}
int fsync(int fd) { return sync_file(fd, SYS_fsync); }
int fdatasync(int fd) { return sync_file(fd, SYS_fdatasync); }

int rename(const char *from, const char *to) {
    char full_from[PATH], full_to[PATH];
    lock();
    int is_ours = below(from, full_from) && below(to, full_to);
    int result = is_ours && fails(OTHERS) ? -1 : (int)syscall(SYS_rename, from, to);
    if (result == 0 && is_ours) record(RENAME, 0, 0, full_from, strlen(full_from), full_to, strlen(full_to));
    unlock();
    return result;
}

int unlink(const char *path) {
    char full[PATH];
    lock();
    int is_ours = below(path, full);
    int result = is_ours && fails(OTHERS) ? -1 : (int)syscall(SYS_unlink, path);
    if (result == 0 && is_ours) record(UNLINK, 0, 0, full, strlen(full), NULL, 0);
    unlock();
    return result;
}

int mkdir(const char *path, mode_t mode) {
    char full[PATH];
    lock();
    int is_ours = below(path, full);
    int result = is_ours && fails(OTHERS) ? -1 : (int)syscall(SYS_mkdir, path, mode);
    if (result == 0 && is_ours) record(MKDIR, 0, 0, full, strlen(full), NULL, 0);
    unlock();
    return result;
}
