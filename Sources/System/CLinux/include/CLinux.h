#pragma once

// Linux's own calls, which Swift's Glibc hides because it is imported without _GNU_SOURCE.
//
// A compiled target rather than a header of inline functions: with _GNU_SOURCE some system types
// are spelled otherwise, and two modules that import them in both spellings contradict each other.

#include <stddef.h>
#include <stdint.h>

// renameat2(2) with RENAME_NOREPLACE: fails with EEXIST instead of replacing.
int hc_rename_without_replacing(int from_folder, const char *from, int to_folder, const char *to);

// syncfs(2): writes everything of the file system that holds the descriptor.
int hc_sync_file_system(int descriptor);

// sync_file_range(2) of the whole file with SYNC_FILE_RANGE_WRITE: begins to write what is in memory.
int hc_begin_writing_back(int descriptor);

// fsetxattr(2) of a text; sys/xattr.h is not part of Swift's Glibc.
int hc_set_attribute(int descriptor, const char *name, const char *text, size_t count);

// FS_IOC_SETFLAGS with FS_NOCOW_FL: no copy-on-write for an empty file on btrfs.
// Most other file systems refuse it.
int hc_avoid_copy_on_write(int descriptor);

// accept4(2) with SOCK_NONBLOCK and SOCK_CLOEXEC, of which no child process inherits a connection.
int hc_accept(int listening);

// The shortest round trip of a TCP connection so far, in microseconds; negative when nobody knows.
// glibc's own struct tcp_info ends before it.
long hc_tcp_round_trip(int socket);

// POLLRDHUP of poll(2): the other side has closed its connection or its half of it.
short hc_poll_peer_closed(void);

// UTIME_NOW and UTIME_OMIT, macros that Swift does not import.
long hc_utime_now(void);
long hc_utime_omit(void);

// sched_setscheduler(2) with SCHED_BATCH: from now on this thread does not push aside others when it is woken.
// Where a system forbids it, it stays as it is.
void hc_set_batch_scheduling(void);

// getrlimit(2) of RLIMIT_NPROC, which Swift does not import: the soft limit, or -1 for none.
long hc_process_limit(void);

// mallopt(3) with M_ARENA_MAX: no more heaps than that; malloc.h is not part of Swift's Glibc.
void hc_limit_arenas(int count);
