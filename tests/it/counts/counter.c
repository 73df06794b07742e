/* Loaded into the server by LD_PRELOAD. It counts what the server does in the file COUNT_FILE: syncs, then allocations, each an
 * uint64_t in the machine's byte order. A sync takes COUNT_SYNC_MS longer, so that on a fast disk, too, work gathers behind it. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct counts {
    _Atomic uint64_t syncs, allocations;
};

static struct counts *counts;
static long sync_ms;

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("COUNT_FILE"), *delay = getenv("COUNT_SYNC_MS");
    sync_ms = delay ? atol(delay) : 0;
    int file = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (file < 0) return;
    void *mapped = mmap(NULL, sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (mapped != MAP_FAILED) counts = mapped;
}

static int synced(long call, int file) {
    if (counts) atomic_fetch_add(&counts->syncs, 1);
    struct timespec delay = {sync_ms / 1000, sync_ms % 1000 * 1000000};
    nanosleep(&delay, NULL);
    return (int)syscall(call, file);
}

int fsync(int file) { return synced(SYS_fsync, file); }

int fdatasync(int file) { return synced(SYS_fdatasync, file); }

static void allocated(void) {
    if (counts) atomic_fetch_add(&counts->allocations, 1);
}

void *malloc(size_t size) {
    allocated();
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
    allocated();
    return __libc_calloc(count, size);
}

void *realloc(void *old, size_t size) {
    allocated();
    return __libc_realloc(old, size);
}

int posix_memalign(void **at, size_t alignment, size_t size) {
    allocated();
    *at = __libc_memalign(alignment, size);
    return *at ? 0 : ENOMEM;
}
