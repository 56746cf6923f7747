#pragma once

// Swift's Glibc is imported without _GNU_SOURCE, so Linux's own calls are wrapped here.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

// renameat2(2) with RENAME_NOREPLACE: fails with EEXIST instead of replacing.
static inline int hc_rename_without_replacing(int from_folder, const char *from, int to_folder,
                                              const char *to) {
  return renameat2(from_folder, from, to_folder, to, RENAME_NOREPLACE);
}

// syncfs(2): writes everything of the file system that holds the descriptor.
static inline int hc_sync_file_system(int descriptor) { return syncfs(descriptor); }

static inline ssize_t hc_copy_file_range(int from, int to, size_t length) {
  return copy_file_range(from, NULL, to, NULL, length, 0);
}
