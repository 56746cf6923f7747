#define _GNU_SOURCE
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "CSpawn.h"

int cspawn_add_folder(posix_spawn_file_actions_t *actions, const char *folder) {
  return posix_spawn_file_actions_addchdir_np(actions, folder);
}

int cspawn_add_close_from(posix_spawn_file_actions_t *actions, int first) {
  return posix_spawn_file_actions_addclosefrom_np(actions, first);
}

int hc_heap_count(void) {
  char *text = NULL;
  size_t length = 0;
  FILE *stream = open_memstream(&text, &length);
  if (stream == NULL) return -1;
  int failure = malloc_info(0, stream);
  if (fclose(stream) != 0 || failure != 0) {
    free(text);
    return -1;
  }
  int count = 0;
  for (const char *found = text; (found = strstr(found, "<heap nr=")) != NULL; found++) count++;
  free(text);
  return count;
}
