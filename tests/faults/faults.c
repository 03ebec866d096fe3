/* Make the n-th call of a kind fail, for tests. Loaded before the C library (LD_PRELOAD), it sees the calls of Python, of
 * the kernel and of polars. Calls on files count only below the watched folder, allocations only from a size on.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum kind { OPEN, READ, WRITE, RENAME, SYNC, CLOSE, MAP, STAT, ALLOCATE, RESERVE, KINDS };

struct state {
  atomic_long calls[KINDS];
  atomic_long failed;
  char crashed[PATH_MAX];
};

static struct state *shared;     /* with the process that forked this one */
static int armed, lasting, code; /* code 0: half of the bytes are read or written */
static enum kind chosen;
static long turn;
static size_t least;
static char folder[PATH_MAX];
static unsigned char watched[1 << 16];

static void *find(void **known, const char *name) { return *known ? *known : (*known = dlsym(RTLD_NEXT, name)); }
#define REAL(name) ((__typeof__(&name))find(&real_##name, #name))
#define DECLARE(name) static void *real_##name
DECLARE(read);

/* Allocate what is shared; must be called before a fork. */
void faults_share(void) {
  shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

/* Note the library whose code crashed, or called the C library or Python to its harm, and crash. */
static void note_crash(int number, siginfo_t *info, void *context) {
  (void)info, (void)context;
  armed = 0;
  signal(number, SIG_DFL);
  void *frames[64];
  void *passed[] = {(void *)note_crash, (void *)REAL(read), dlsym(RTLD_DEFAULT, "PyErr_NoMemory")};
  Dl_info other, found;
  int count = backtrace(frames, 64), crashed = 0;
  for (int i = 0; i < count && !crashed; i++) {
    crashed = dladdr(frames[i], &found);
    for (int k = 0; k < 3; k++) crashed &= !dladdr(passed[k], &other) || other.dli_fbase != found.dli_fbase;
  }
  if (crashed) strncpy(shared->crashed, found.dli_fname, sizeof shared->crashed - 1);
  raise(number);
}

static void watch_crashes(void) {
  void *frames[1];
  backtrace(frames, 1); /* its first call loads a library */
  struct sigaction action = {.sa_sigaction = note_crash, .sa_flags = SA_SIGINFO | SA_NODEFER};
  sigaction(SIGSEGV, &action, NULL);
  sigaction(SIGBUS, &action, NULL);
}

void faults_arm(const char *place, int kind, long n, int error, int lasts, size_t size) {
  strncpy(folder, place, sizeof folder - 1);
  chosen = kind, turn = n, code = error, lasting = lasts, least = size;
  memset(shared, 0, sizeof *shared);
  watch_crashes();
  armed = 1;
}

long faults_calls(int kind) { return shared->calls[kind]; }
long faults_failed(void) { return shared->failed; }
const char *faults_crashed(void) { return shared->crashed; }

/* Count a call; whether it shall fail. */
static int strike(enum kind kind) {
  long n = atomic_fetch_add(&shared->calls[kind], 1) + 1;
  if (kind != chosen || (lasting ? n < turn : n != turn)) return 0;
  atomic_fetch_add(&shared->failed, 1);
  errno = code;
  return 1;
}

static int is_watched(int file) { return armed && file >= 0 && file < (int)sizeof watched && watched[file]; }
static int is_inside(const char *path) {
  return armed && path && (path[0] != '/' || strncmp(path, folder, strlen(folder)) == 0);
}
static int watch(int file, const char *path) {
  if (file >= 0 && file < (int)sizeof watched) watched[file] = is_inside(path);
  return file;
}

static mode_t mode_of(int flags, va_list more) {
  return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(more, mode_t) : 0;
}

#define OPENS(name)                                                    \
  DECLARE(name);                                                       \
  int name(const char *path, int flags, ...) {                         \
    va_list more;                                                      \
    va_start(more, flags);                                             \
    mode_t mode = mode_of(flags, more);                                \
    va_end(more);                                                      \
    if (is_inside(path) && strike(OPEN)) return -1;                    \
    return watch(REAL(name)(path, flags, mode), path);                 \
  }
#define OPENS_AT(name)                                                 \
  DECLARE(name);                                                       \
  int name(int at, const char *path, int flags, ...) {                 \
    va_list more;                                                      \
    va_start(more, flags);                                             \
    mode_t mode = mode_of(flags, more);                                \
    va_end(more);                                                      \
    if (is_inside(path) && strike(OPEN)) return -1;                    \
    return watch(REAL(name)(at, path, flags, mode), path);             \
  }
OPENS(open)
OPENS(open64)
OPENS_AT(openat)
OPENS_AT(openat64)

/* Half of the bytes if `code` is 0, at least one. */
#define MOVES(name, kind, buffer)                                                                   \
  DECLARE(name);                                                                                    \
  ssize_t name(int file, buffer data, size_t size) {                                                \
    if (is_watched(file) && size && strike(kind)) {                                                 \
      if (code) return -1;                                                                          \
      size = size > 1 ? size / 2 : size;                                                            \
    }                                                                                               \
    return REAL(name)(file, data, size);                                                            \
  }
#define MOVES_AT(name, kind, buffer)                                                                \
  DECLARE(name);                                                                                    \
  ssize_t name(int file, buffer data, size_t size, off_t place) {                                   \
    if (is_watched(file) && size && strike(kind)) {                                                 \
      if (code) return -1;                                                                          \
      size = size > 1 ? size / 2 : size;                                                            \
    }                                                                                               \
    return REAL(name)(file, data, size, place);                                                     \
  }
#define MOVES_MANY(name, kind)                                                                      \
  DECLARE(name);                                                                                    \
  ssize_t name(int file, const struct iovec *parts, int count) {                                    \
    if (is_watched(file) && strike(kind)) {                                                         \
      if (code) return -1;                                                                          \
      count = count > 1 ? count / 2 : count;                                                        \
    }                                                                                               \
    return REAL(name)(file, parts, count);                                                          \
  }
MOVES(read, READ, void *)
MOVES_AT(pread, READ, void *)
MOVES_AT(pread64, READ, void *)
MOVES_MANY(readv, READ)
MOVES(write, WRITE, const void *)
MOVES_AT(pwrite, WRITE, const void *)
MOVES_AT(pwrite64, WRITE, const void *)
MOVES_MANY(writev, WRITE)

DECLARE(rename);
int rename(const char *from, const char *to) {
  if (is_inside(to) && strike(RENAME)) return -1;
  return REAL(rename)(from, to);
}

DECLARE(renameat);
int renameat(int at, const char *from, int there, const char *to) {
  if (is_inside(to) && strike(RENAME)) return -1;
  return REAL(renameat)(at, from, there, to);
}

DECLARE(fsync);
int fsync(int file) { return is_watched(file) && strike(SYNC) ? -1 : REAL(fsync)(file); }

DECLARE(fdatasync);
int fdatasync(int file) { return is_watched(file) && strike(SYNC) ? -1 : REAL(fdatasync)(file); }

/* The file is closed all the same, as Linux does. */
DECLARE(close);
int close(int file) {
  int fails = is_watched(file) && strike(CLOSE);
  if (file >= 0 && file < (int)sizeof watched) watched[file] = 0;
  int done = REAL(close)(file);
  if (!fails) return done;
  errno = code;
  return -1;
}

#define STATS(name, place, kind)                              \
  DECLARE(name);                                              \
  int name(place at, struct kind *found) {                    \
    if (STATS_##place(at) && strike(STAT)) return -1;         \
    return REAL(name)(at, found);                             \
  }
typedef const char *path_t;
typedef int file_t;
#define STATS_path_t is_inside
#define STATS_file_t is_watched
STATS(stat, path_t, stat)
STATS(lstat, path_t, stat)
STATS(fstat, file_t, stat)
STATS(stat64, path_t, stat64)
STATS(lstat64, path_t, stat64)
STATS(fstat64, file_t, stat64)

DECLARE(statx);
int statx(int at, const char *restrict path, int flags, unsigned mask, struct statx *restrict found) {
  if ((*path ? is_inside(path) : is_watched(at)) && strike(STAT)) return -1;
  return REAL(statx)(at, path, flags, mask, found);
}

#define MAPS(name)                                                                                  \
  DECLARE(name);                                                                                    \
  void *name(void *at, size_t size, int protection, int flags, int file, off_t place) {             \
    if (is_watched(file) && strike(MAP)) return MAP_FAILED;                                         \
    if (armed && file < 0 && protection != PROT_NONE && size >= least && strike(RESERVE)) return MAP_FAILED; \
    return REAL(name)(at, size, protection, flags, file, place);                                    \
  }
MAPS(mmap)
MAPS(mmap64)

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static int refuse(size_t size) { return armed && size >= least && strike(ALLOCATE); }

void *malloc(size_t size) { return refuse(size) ? NULL : __libc_malloc(size); }
void *calloc(size_t count, size_t size) {
  return size && refuse(count * size) ? NULL : __libc_calloc(count, size);
}
void *realloc(void *old, size_t size) { return refuse(size) ? NULL : __libc_realloc(old, size); }
void *aligned_alloc(size_t bound, size_t size) { return refuse(size) ? NULL : __libc_memalign(bound, size); }
int posix_memalign(void **found, size_t bound, size_t size) {
  if (refuse(size)) return ENOMEM;
  *found = __libc_memalign(bound, size);
  return *found ? 0 : ENOMEM;
}
