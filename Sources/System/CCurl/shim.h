#pragma once

#include <curl/curl.h>

// curl_easy_setopt, curl_easy_getinfo and curl_multi_setopt are variadic, which Swift cannot call.
// There is one function per argument type. The names are in parentheses to bypass libcurl's
// type-checking macros, which need constants.

static inline CURLcode hc_easy_set_long(CURL *easy, CURLoption option, long value) {
  return (curl_easy_setopt)(easy, option, value);
}
static inline CURLcode hc_easy_set_offset(CURL *easy, CURLoption option, curl_off_t value) {
  return (curl_easy_setopt)(easy, option, value);
}
static inline CURLcode hc_easy_set_string(CURL *easy, CURLoption option, const char *value) {
  return (curl_easy_setopt)(easy, option, value);
}
static inline CURLcode hc_easy_set_pointer(CURL *easy, CURLoption option, void *value) {
  return (curl_easy_setopt)(easy, option, value);
}
static inline CURLcode hc_easy_set_list(CURL *easy, CURLoption option, struct curl_slist *value) {
  return (curl_easy_setopt)(easy, option, value);
}
static inline CURLcode hc_easy_set_write(CURL *easy, CURLoption option,
                                         curl_write_callback value) {
  return (curl_easy_setopt)(easy, option, value);
}
static inline CURLcode hc_easy_set_opensocket(CURL *easy, CURLoption option,
                                              curl_opensocket_callback value) {
  return (curl_easy_setopt)(easy, option, value);
}
static inline CURLcode hc_easy_get_long(CURL *easy, CURLINFO info, long *value) {
  return (curl_easy_getinfo)(easy, info, value);
}
static inline CURLcode hc_easy_get_offset(CURL *easy, CURLINFO info, curl_off_t *value) {
  return (curl_easy_getinfo)(easy, info, value);
}
static inline CURLcode hc_easy_get_string(CURL *easy, CURLINFO info, char **value) {
  return (curl_easy_getinfo)(easy, info, value);
}
static inline CURLcode hc_easy_get_pointer(CURL *easy, CURLINFO info, void **value) {
  return (curl_easy_getinfo)(easy, info, value);
}
// The fields of the server's own certificate, or NULL if CURLOPT_CERTINFO was not set. libcurl owns
// the list.
static inline struct curl_slist *hc_easy_get_certificate(CURL *easy) {
  struct curl_certinfo *info = NULL;
  CURLcode code = (curl_easy_getinfo)(easy, CURLINFO_CERTINFO, &info);
  return code == CURLE_OK && info != NULL && info->num_of_certs > 0 ? info->certinfo[0] : NULL;
}
static inline CURLMcode hc_multi_set_long(CURLM *multi, CURLMoption option, long value) {
  return (curl_multi_setopt)(multi, option, value);
}
