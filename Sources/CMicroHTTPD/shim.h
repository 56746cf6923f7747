#pragma once

#include <gnutls/gnutls.h>
#include <microhttpd.h>

typedef void *(*hc_http_target_callback)(void *context, const char *target,
                                         struct MHD_Connection *connection);

// MHD_start_daemon is variadic, which Swift cannot call. Without certificate and key (both NULL)
// the server speaks plain HTTP. It has no listening socket: connections are handed to it.
static inline struct MHD_Daemon *hc_http_start(void *context, MHD_AccessHandlerCallback answer,
                                               hc_http_target_callback target,
                                               MHD_RequestCompletedCallback completed,
                                               unsigned int connections, unsigned int idle_seconds,
                                               size_t stack_bytes, const char *certificate,
                                               const char *key) {
  struct MHD_OptionItem options[] = {
      {MHD_OPTION_URI_LOG_CALLBACK, (intptr_t)target, context},
      {MHD_OPTION_NOTIFY_COMPLETED, (intptr_t)completed, context},
      {MHD_OPTION_CONNECTION_LIMIT, (intptr_t)connections, NULL},
      {MHD_OPTION_CONNECTION_TIMEOUT, (intptr_t)idle_seconds, NULL},
      {MHD_OPTION_THREAD_STACK_SIZE, (intptr_t)stack_bytes, NULL},
      {MHD_OPTION_END, 0, NULL},
      {MHD_OPTION_END, 0, NULL},
      {MHD_OPTION_END, 0, NULL},
  };
  unsigned int flags =
      MHD_USE_POLL_INTERNAL_THREAD | MHD_USE_THREAD_PER_CONNECTION | MHD_USE_NO_LISTEN_SOCKET;
  if (certificate && key) {
    flags |= MHD_USE_TLS;
    options[5] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)certificate};
    options[6] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)key};
  }
  return MHD_start_daemon(flags, 0, NULL, NULL, answer, context, MHD_OPTION_ARRAY, options,
                          MHD_OPTION_END);
}

// MHD_get_connection_info is variadic.
static inline int hc_http_descriptor(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  return info ? info->connect_fd : -1;
}

// The TLS session of a connection; NULL where it is plain.
static inline void *hc_http_tls_session(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
  return info ? info->tls_session : NULL;
}

// MHD_set_connection_option is variadic. Restarts the idle time of a connection: taking the limit
// away and giving it back is how libmicrohttpd offers that.
static inline void hc_http_restart_idle_time(struct MHD_Connection *connection,
                                             unsigned int seconds) {
  MHD_set_connection_option(connection, MHD_CONNECTION_OPTION_TIMEOUT, 0u);
  MHD_set_connection_option(connection, MHD_CONNECTION_OPTION_TIMEOUT, seconds);
}

// Sends through a TLS session: the number of bytes taken, 0 when the socket is full, or -1.
static inline ssize_t hc_http_tls_send(void *session, const void *bytes, size_t count) {
  ssize_t sent = gnutls_record_send((gnutls_session_t)session, bytes, count);
  if (sent == GNUTLS_E_AGAIN || sent == GNUTLS_E_INTERRUPTED) return 0;
  return sent < 0 ? -1 : sent;
}
