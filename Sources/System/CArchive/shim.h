#pragma once

#include <archive.h>
#include <archive_entry.h>

// archive_set_error is variadic, which Swift cannot call. The text is an argument of a fixed
// format, so that a percent sign in it is harmless.
static inline void hc_archive_set_error(struct archive *archive, int number, const char *text) {
  archive_set_error(archive, number, "%s", text);
}

// The AE_IF* file types are macros with casts, which Swift does not import.
static inline unsigned int hc_archive_type_regular(void) { return (unsigned int)AE_IFREG; }
static inline unsigned int hc_archive_type_directory(void) { return (unsigned int)AE_IFDIR; }
static inline unsigned int hc_archive_type_symlink(void) { return (unsigned int)AE_IFLNK; }
static inline unsigned int hc_archive_type_character(void) { return (unsigned int)AE_IFCHR; }
static inline unsigned int hc_archive_type_block(void) { return (unsigned int)AE_IFBLK; }
static inline unsigned int hc_archive_type_fifo(void) { return (unsigned int)AE_IFIFO; }
static inline unsigned int hc_archive_type_socket(void) { return (unsigned int)AE_IFSOCK; }

#include <locale.h>

// libarchive converts the names in zip, pax and xar archives to the thread's locale. In the C
// locale, non-ASCII names are lost. Therefore, each reader sets a UTF-8 locale for the thread
// during a call. The locale of the process, which belongs to the program, does not change.
static inline locale_t hc_utf8_locale_create(void) {
  return newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
}
static inline void hc_utf8_locale_free(locale_t locale) { freelocale(locale); }
static inline locale_t hc_locale_use(locale_t locale) { return uselocale(locale); }
