/* A file system that fails, for tests: preloaded before libc, it counts the calls that change files
 * below one folder, lets the n-th fail, and can write down what was done in which order.
 *
 *   faults_arm(folder, n, error)   the n-th call from now fails with this errno; 0: none does.
 *                                  After it every further write fails too, as on a full disk, if
 *                                  the error is ENOSPC or EROFS. -ENOSPC: if it is a write, the
 *                                  first half of its bytes still finds room.
 *   faults_count()                 calls so far
 *   faults_record(folder, store)   from now on, a line in store/trace for each call, and what a
 *                                  file held when it was brought to disk in store/N
 *
 * What copies within the kernel (sendfile, copy_file_range) is a write like any other.
 *
 * Built with: cc -shared -fPIC -O1 -o faults.so faults.c -ldl
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static char folder[PATH_MAX], store[PATH_MAX];
static atomic_long calls, fails_at, kept;
static int failure, half, trace = -1;

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

void faults_arm(const char* below, long n, int error) {
    snprintf(folder, sizeof folder, "%s/", below);
    calls = 0;
    fails_at = n;
    half = error < 0;
    failure = half ? -error : error;
}

long faults_count(void) { return calls; }

void faults_record(const char* below, const char* to) {
    snprintf(folder, sizeof folder, "%s/", below);
    snprintf(store, sizeof store, "%s", to);
    char name[PATH_MAX + 8];
    snprintf(name, sizeof name, "%s/trace", to);
    trace = REAL(open)(name, O_CREAT | O_WRONLY | O_APPEND, 0600);
}

/* Whether a path is the folder, or below it. */
static int below(const char* path) {
    size_t size = strlen(folder);
    if (!size || strncmp(path, folder, size - 1)) return 0;
    return !path[size - 1] || path[size - 1] == '/';
}

static int path_of(int fd, char* path) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t size = readlink(link, path, PATH_MAX - 1);
    if (size < 0) return 0;
    path[size] = 0;
    return below(path);
}

/* Whole paths only; hale and its libraries use them. */
static int path_at(int at, const char* name, char* path) {
    if (name[0] == '/' || at == AT_FDCWD) {
        if (name[0] == '/') {
            snprintf(path, PATH_MAX, "%s", name);
        } else {
            if (!getcwd(path, PATH_MAX)) return 0;
            strncat(path, "/", PATH_MAX - strlen(path) - 1);
            strncat(path, name, PATH_MAX - strlen(path) - 1);
        }
    } else {
        char link[64];
        snprintf(link, sizeof link, "/proc/self/fd/%d", at);
        ssize_t size = readlink(link, path, PATH_MAX - 1);
        if (size < 0) return 0;
        path[size] = 0;
        strncat(path, "/", PATH_MAX - strlen(path) - 1);
        strncat(path, name, PATH_MAX - strlen(path) - 1);
    }
    return below(path);
}

static int fails(void) {
    long number = ++calls, n = fails_at;
    if (!n || number < n) return 0;
    if (number > n && failure != ENOSPC && failure != EROFS) return 0;
    errno = failure;
    return 1;
}

/* Of a write that fails just now: how many of its bytes find room all the same. */
static size_t room(size_t size) { return half && calls == fails_at ? size / 2 : 0; }

static void tell(const char* what, const char* one, const char* other) {
    if (trace < 0) return;
    char line[2 * PATH_MAX + 32];
    int size = snprintf(line, sizeof line, "%s\t%s\t%s\n", what, one, other);
    int before = errno;
    REAL(write)(trace, line, size);
    errno = before;
}

/* What a file holds at this moment, under a number. */
static void keep(const char* path) {
    if (trace < 0) return;
    int before = errno;
    char name[PATH_MAX + 32], number[24], part[65536];
    snprintf(number, sizeof number, "%ld", ++kept);
    snprintf(name, sizeof name, "%s/%s", store, number);
    int from = REAL(open)(path, O_RDONLY), to = REAL(open)(name, O_CREAT | O_WRONLY, 0600);
    ssize_t size;
    while (from >= 0 && to >= 0 && (size = read(from, part, sizeof part)) > 0) {
        REAL(write)(to, part, size);
    }
    if (from >= 0) close(from);
    if (to >= 0) close(to);
    errno = before;
    tell("sync", path, number);
}

#define BY_FD(what, fd, call)                         \
    char path[PATH_MAX];                              \
    int ours = path_of(fd, path);                     \
    if (ours && fails()) return -1;                   \
    __typeof__(call) done = call;                     \
    if (ours && done >= 0) tell(what, path, "");      \
    return done;

#define WRITE(call)                                   \
    char path[PATH_MAX];                              \
    int ours = path_of(fd, path);                     \
    if (ours && fails() && !(size = room(size))) return -1; \
    ssize_t done = call;                              \
    if (ours && done >= 0) tell("write", path, "");   \
    return done;

ssize_t write(int fd, const void* data, size_t size) { WRITE(REAL(write)(fd, data, size)) }
ssize_t writev(int fd, const struct iovec* parts, int count) {
    size_t whole = 0;
    for (int i = 0; i < count; i++) whole += parts[i].iov_len;
    size_t size = whole;
    /* Of the half that finds room, what the first part holds: fewer bytes may always be written. */
    WRITE(size == whole ? REAL(writev)(fd, parts, count)
                        : REAL(write)(fd, parts[0].iov_base,
                                      size < parts[0].iov_len ? size : parts[0].iov_len))
}
/* Callers ask for more than there is: how many bytes a file has behind a place. */
static size_t behind(int from, const off64_t* at, size_t size) {
    struct stat told;
    off_t place = at ? *at : lseek(from, 0, SEEK_CUR);
    if (place < 0 || fstat(from, &told) || !S_ISREG(told.st_mode)) return size;
    size_t rest = told.st_size > place ? told.st_size - place : 0;
    return size < rest ? size : rest;
}
ssize_t sendfile(int fd, int from, off_t* at, size_t size) {
    size = behind(from, at, size);
    WRITE(REAL(sendfile)(fd, from, at, size))
}
ssize_t sendfile64(int fd, int from, off64_t* at, size_t size) {
    size = behind(from, at, size);
    WRITE(REAL(sendfile64)(fd, from, at, size))
}
ssize_t copy_file_range(int from, off64_t* at, int fd, off64_t* to, size_t size, unsigned flags) {
    size = behind(from, at, size);
    WRITE(REAL(copy_file_range)(from, at, fd, to, size, flags))
}
ssize_t pwrite(int fd, const void* data, size_t size, off_t at) {
    WRITE(REAL(pwrite)(fd, data, size, at))
}
ssize_t pwrite64(int fd, const void* data, size_t size, off64_t at) {
    WRITE(REAL(pwrite64)(fd, data, size, at))
}
int ftruncate(int fd, off_t size) { BY_FD("write", fd, REAL(ftruncate)(fd, size)) }
int ftruncate64(int fd, off64_t size) { BY_FD("write", fd, REAL(ftruncate64)(fd, size)) }

#define SYNC(name)                                    \
    int name(int fd) {                                \
        char path[PATH_MAX];                          \
        int ours = path_of(fd, path);                 \
        if (ours && fails()) return -1;               \
        int done = REAL(name)(fd);                    \
        struct stat told;                             \
        if (ours && !done && !fstat(fd, &told)) {     \
            if (S_ISDIR(told.st_mode)) {              \
                tell("syncdir", path, "");            \
            } else {                                  \
                keep(path);                           \
            }                                         \
        }                                             \
        return done;                                  \
    }
SYNC(fsync)
SYNC(fdatasync)

#define TWO_PATHS(at, from, other, to, call)                        \
    char one[PATH_MAX], two[PATH_MAX];                              \
    int mine = path_at(at, from, one), ours = path_at(other, to, two); \
    if ((mine || ours) && fails()) return -1;                       \
    int done = call;                                                \
    if ((mine || ours) && !done) tell("rename", one, two);          \
    return done;

int rename(const char* from, const char* to) {
    TWO_PATHS(AT_FDCWD, from, AT_FDCWD, to, REAL(rename)(from, to))
}
int renameat(int at, const char* from, int other, const char* to) {
    TWO_PATHS(at, from, other, to, REAL(renameat)(at, from, other, to))
}
int renameat2(int at, const char* from, int other, const char* to, unsigned flags) {
    char one[PATH_MAX], two[PATH_MAX];
    int mine = path_at(at, from, one), ours = path_at(other, to, two);
    if ((mine || ours) && fails()) return -1;
    int done = REAL(renameat2)(at, from, other, to, flags);
    if ((mine || ours) && !done) tell(flags & RENAME_EXCHANGE ? "swap" : "rename", one, two);
    return done;
}

#define ONE_PATH(what, at, name, call)               \
    char path[PATH_MAX];                             \
    int ours = path_at(at, name, path);              \
    if (ours && fails()) return -1;                  \
    int done = call;                                 \
    if (ours && !done) tell(what, path, "");         \
    return done;

int mkdir(const char* name, mode_t mode) { ONE_PATH("mkdir", AT_FDCWD, name, REAL(mkdir)(name, mode)) }
int mkdirat(int at, const char* name, mode_t mode) {
    ONE_PATH("mkdir", at, name, REAL(mkdirat)(at, name, mode))
}
int unlink(const char* name) { ONE_PATH("unlink", AT_FDCWD, name, REAL(unlink)(name)) }
int unlinkat(int at, const char* name, int flags) {
    ONE_PATH("unlink", at, name, REAL(unlinkat)(at, name, flags))
}
int rmdir(const char* name) { ONE_PATH("unlink", AT_FDCWD, name, REAL(rmdir)(name)) }

#define OPEN(name, AT, declared, passed)                                 \
    int name declared {                                                  \
        mode_t mode = 0;                                                 \
        if (flags & (O_CREAT | O_TMPFILE)) {                             \
            va_list rest;                                                \
            va_start(rest, flags);                                       \
            mode = va_arg(rest, mode_t);                                 \
            va_end(rest);                                                \
        }                                                                \
        char path[PATH_MAX];                                             \
        int ours = (flags & O_ACCMODE) != O_RDONLY && path_at(AT, file, path); \
        if (ours && fails()) return -1;                                  \
        int done = REAL(name) passed;                                    \
        if (ours && done >= 0) tell(flags & O_TRUNC ? "empty" : "open", path, ""); \
        return done;                                                     \
    }
OPEN(open, AT_FDCWD, (const char* file, int flags, ...), (file, flags, mode))
OPEN(open64, AT_FDCWD, (const char* file, int flags, ...), (file, flags, mode))
OPEN(openat, at, (int at, const char* file, int flags, ...), (at, file, flags, mode))
OPEN(openat64, at, (int at, const char* file, int flags, ...), (at, file, flags, mode))

/* Streams of libc, which call what is above by names of their own: an index is written by one. */
#define STREAM(name)                                                     \
    FILE* name(const char* file, const char* mode) {                     \
        char path[PATH_MAX];                                             \
        int ours = mode[0] != 'r' && path_at(AT_FDCWD, file, path);      \
        if (ours && fails()) return NULL;                                \
        FILE* done = REAL(name)(file, mode);                             \
        if (ours && done) tell(mode[0] == 'w' ? "empty" : "open", path, ""); \
        return done;                                                     \
    }
STREAM(fopen)
STREAM(fopen64)

size_t fwrite(const void* data, size_t size, size_t count, FILE* file) {
    char path[PATH_MAX];
    int full = __fpending(file) + size * count > __fbufsize(file);  /* else it writes nothing yet */
    int ours = full && path_of(fileno(file), path);
    if (ours && fails() && !(count = room(size * count) / (size ? size : 1))) return 0;
    size_t done = REAL(fwrite)(data, size, count, file);
    if (ours && done) tell("write", path, "");
    return done;
}

/* What it still holds back is lost where it fails. */
int fclose(FILE* file) {
    char path[PATH_MAX];
    int lost = path_of(fileno(file), path) && __fpending(file) && fails(), why = errno;
    if (lost) __fpurge(file);
    int done = REAL(fclose)(file);
    if (!lost) return done;
    errno = why;
    return EOF;
}
