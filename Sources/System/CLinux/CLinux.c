#define _GNU_SOURCE

#include "CLinux.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <linux/tcp.h>
#include <malloc.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

int hc_rename_without_replacing(int from_folder, const char *from, int to_folder, const char *to) {
  return renameat2(from_folder, from, to_folder, to, RENAME_NOREPLACE);
}

int hc_sync_file_system(int descriptor) { return syncfs(descriptor); }

int hc_begin_writing_back(int descriptor) {
  return sync_file_range(descriptor, 0, 0, SYNC_FILE_RANGE_WRITE);
}

int hc_set_attribute(int descriptor, const char *name, const char *text, size_t count) {
  return fsetxattr(descriptor, name, text, count, 0);
}

int hc_avoid_copy_on_write(int descriptor) {
  int flags = 0;
  if (ioctl(descriptor, FS_IOC_GETFLAGS, &flags) != 0) return -1;
  flags |= FS_NOCOW_FL;
  return ioctl(descriptor, FS_IOC_SETFLAGS, &flags);
}

int64_t hc_birth_time(int folder, const char *name) {
  struct statx status;
  if (statx(folder, name, AT_SYMLINK_NOFOLLOW, STATX_BTIME, &status) != 0) return -1;
  if ((status.stx_mask & STATX_BTIME) == 0) return 0;
  return status.stx_btime.tv_sec * 1000000000 + status.stx_btime.tv_nsec;
}

int hc_accept(int listening) {
  return accept4(listening, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

long hc_tcp_round_trip(int socket) {
  struct tcp_info info = {0};
  socklen_t length = sizeof info;
  if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return -1;
  // Older kernels fill less of the struct. Without a measurement, the value is the maximum.
  if (length < offsetof(struct tcp_info, tcpi_min_rtt) + sizeof info.tcpi_min_rtt) return -1;
  return info.tcpi_min_rtt == ~0U ? -1 : (long)info.tcpi_min_rtt;
}

short hc_poll_peer_closed(void) { return POLLRDHUP; }

long hc_utime_now(void) { return UTIME_NOW; }

long hc_utime_omit(void) { return UTIME_OMIT; }

void hc_set_batch_scheduling(void) {
  struct sched_param none = {0};
  sched_setscheduler(0, SCHED_BATCH, &none);
}

long hc_process_limit(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NPROC, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return -1;
  return limit.rlim_cur > LONG_MAX ? -1 : (long)limit.rlim_cur;
}

void hc_limit_arenas(int count) { mallopt(M_ARENA_MAX, count); }
