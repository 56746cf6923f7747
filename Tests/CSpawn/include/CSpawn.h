#ifndef CSPAWN_H
#define CSPAWN_H

#include <spawn.h>

// Functions that glibc declares only with _GNU_SOURCE.

/// The new process starts in `folder`.
int cspawn_add_folder(posix_spawn_file_actions_t *actions, const char *folder);

/// Descriptors from `first` on are closed in the new process.
int cspawn_add_close_from(posix_spawn_file_actions_t *actions, int first);

/// The number of heaps (arenas) of glibc in this process, by malloc_info(3); -1 if it is unknown.
///
/// malloc.h is not part of the module Glibc.
int hc_heap_count(void);

#endif
