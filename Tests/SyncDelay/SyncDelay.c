// Delays and records the calls of fsync(2) and fdatasync(2) of a program; for LD_PRELOAD.
//
// The file that SYNC_DELAY names has the delay in milliseconds. It is read again during the delay,
// so that a test can end it. The file that SYNC_RECORD names gets these lines, with the times of
// CLOCK_MONOTONIC in nanoseconds:
//
//   begin PID TIME 0 PATH       before the delay
//   end PID BEGIN TIME PATH     after the call has succeeded, before it returns

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static long long now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void record(const char *kind, long long begin, long long end, const char *path) {
  const char *name = getenv("SYNC_RECORD");
  char line[PATH_MAX + 128];
  int length =
      snprintf(line, sizeof line, "%s %d %lld %lld %s\n", kind, (int)getpid(), begin, end, path);
  int file = name ? open(name, O_WRONLY | O_APPEND | O_CLOEXEC) : -1;
  if (file < 0 || length <= 0 || length >= (int)sizeof line) {
    // The test would wait for this line, or would not find the sync.
    fprintf(stderr, "SyncDelay: cannot record a sync of %s\n", path);
    if (file >= 0) close(file);
    return;
  }
  // One call, so that lines of several threads and processes are not mixed.
  if (write(file, line, length) != length) fprintf(stderr, "SyncDelay: cannot write a line\n");
  close(file);
}

// The delay in nanoseconds.
static long long delay(void) {
  const char *name = getenv("SYNC_DELAY");
  int file = name ? open(name, O_RDONLY | O_CLOEXEC) : -1;
  if (file < 0) return 0;
  char text[32];
  ssize_t length = read(file, text, sizeof text - 1);
  close(file);
  text[length > 0 ? length : 0] = 0;
  return atoll(text) * 1000000LL;
}

static int sync_late(int descriptor, long call) {
  char link[64], path[PATH_MAX] = "?";
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length > 0) path[length] = 0;
  long long begin = now();
  record("begin", begin, 0, path);
  while (now() - begin < delay()) {
    struct timespec pause = {0, 2000000};
    nanosleep(&pause, NULL);
  }
  int result = (int)syscall(call, descriptor);
  int error = errno;
  if (result == 0) record("end", begin, now(), path);
  errno = error;
  return result;
}

int fsync(int descriptor) { return sync_late(descriptor, SYS_fsync); }

int fdatasync(int descriptor) { return sync_late(descriptor, SYS_fdatasync); }
