#pragma once

// System calls of Linux that Swift's Glibc hides, since it is imported without _GNU_SOURCE.
//
// This is a compiled target instead of a header of inline functions, because _GNU_SOURCE changes
// the definition of some system types, and two modules that import both definitions conflict.

#include <stddef.h>
#include <stdint.h>

// renameat2(2) with RENAME_NOREPLACE: fails with EEXIST instead of replacing.
int hc_rename_without_replacing(int from_folder, const char *from, int to_folder, const char *to);

// syncfs(2): writes all data of the file system that contains the descriptor.
int hc_sync_file_system(int descriptor);

// sync_file_range(2) with SYNC_FILE_RANGE_WRITE for the whole file: starts to write cached data.
int hc_begin_writing_back(int descriptor);

// fsetxattr(2) with a string. sys/xattr.h is not part of Swift's Glibc.
int hc_set_attribute(int descriptor, const char *name, const char *text, size_t count);

// FS_IOC_SETFLAGS with FS_NOCOW_FL: no copy-on-write for an empty file on btrfs.
// Most other file systems refuse it.
int hc_avoid_copy_on_write(int descriptor);

// statx(2): when a file was created, in nanoseconds since 1970, or 0 if the file system does not
// record it; -1 with errno on failure.
int64_t hc_birth_time(int folder, const char *name);

// accept4(2) with SOCK_NONBLOCK and SOCK_CLOEXEC, so that child processes inherit no connection.
int hc_accept(int listening);

// The minimum round-trip time of a TCP connection in microseconds, or a negative number if it is
// unknown. glibc's struct tcp_info does not contain it.
long hc_tcp_round_trip(int socket);

// POLLRDHUP of poll(2): the peer has closed its connection or the writing half of it.
short hc_poll_peer_closed(void);

// UTIME_NOW and UTIME_OMIT, macros that Swift does not import.
long hc_utime_now(void);
long hc_utime_omit(void);

// sched_setscheduler(2) with SCHED_BATCH: the thread does not preempt others when it wakes up. If
// the system forbids it, nothing changes.
void hc_set_batch_scheduling(void);

// getrlimit(2) for RLIMIT_NPROC, which Swift does not import: the soft limit, or -1 for no limit.
long hc_process_limit(void);

// mallopt(3) with M_ARENA_MAX: limits the number of heaps. malloc.h is not part of Swift's Glibc.
void hc_limit_arenas(int count);
