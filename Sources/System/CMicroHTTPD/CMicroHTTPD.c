// For RTLD_NEXT.
#define _GNU_SOURCE

#include "CMicroHTTPD.h"

#include <dlfcn.h>
#include <gnutls/gnutls.h>
#include <limits.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

// MARK: Responses of libmicrohttpd itself

// The callbacks of the daemon whose connections this thread serves, if it refuses requests itself.
static _Thread_local const hc_http_callbacks *refuser;

static enum MHD_Result (*queue_response)(struct MHD_Connection *, unsigned int,
                                         struct MHD_Response *);

__attribute__((constructor)) static void find_queue_response(void) {
  void *found = dlsym(RTLD_NEXT, "MHD_queue_response");
  memcpy(&queue_response, &found, sizeof found);
}

// libmicrohttpd has no option for its responses to heads that are malformed or too long, which are
// pages in HTML. It queues them through the dynamic linker, which finds this function first:
// `hc_http_send` calls the library's own function. The daemon sends its response to the socket,
// whose buffer is empty. A response in the queue would not do: after an invalid Content-Length,
// libmicrohttpd 0.9.75 sends its head twice.
enum MHD_Result MHD_queue_response(struct MHD_Connection *connection, unsigned int status,
                                   struct MHD_Response *response) {
  if (!queue_response) return MHD_NO;
  if (!refuser) return queue_response(connection, status, response);
  refuser->refuse(refuser->context, hc_http_descriptor(connection), status);
  return MHD_NO;
}

// MARK: Callbacks

static void *begin(void *context, const char *target, struct MHD_Connection *connection) {
  (void)connection;
  const hc_http_callbacks *callbacks = context;
  // The next text of the request line is its version. Otherwise the target contains a NUL, and no
  // path is valid.
  int is_whole = target && strncmp(target + strlen(target) + 1, "HTTP/", 5) == 0;
  void *exchange = callbacks->begin(callbacks->context, is_whole ? target : "");
  // libmicrohttpd 0.9.75 parses the query next, into the memory of the connection. If it does not
  // fit, the request is never answered. The servers parse it themselves, so hide it. The target is
  // in the connection's read buffer, which is not constant.
  char *query = target ? strchr(target, '?') : NULL;
  if (query) query[query[1] != 0] = 0;
  return exchange;
}

static enum MHD_Result proceed(void *context, struct MHD_Connection *connection, const char *url,
                               const char *method, const char *version, const char *upload,
                               size_t *uploaded, void **exchange) {
  (void)url;
  const hc_http_callbacks *callbacks = context;
  return callbacks->proceed(callbacks->context, *exchange, connection, method, version, upload,
                            uploaded)
             ? MHD_YES
             : MHD_NO;
}

static void complete(void *context, struct MHD_Connection *connection, void **exchange,
                     enum MHD_RequestTerminationCode code) {
  (void)code;
  const hc_http_callbacks *callbacks = context;
  if (*exchange) callbacks->complete(callbacks->context, *exchange, connection);
  *exchange = NULL;
}

static void notify(void *context, struct MHD_Connection *connection, void **own,
                   enum MHD_ConnectionNotificationCode code) {
  (void)own;
  const hc_http_callbacks *callbacks = context;
  if (code == MHD_CONNECTION_NOTIFY_STARTED) refuser = callbacks->refuse ? callbacks : NULL;
  if (code != MHD_CONNECTION_NOTIFY_CLOSED) return;
  callbacks->closed(callbacks->context, hc_http_descriptor(connection));
}

// MARK: Daemon

static hc_http_daemon *start(unsigned int flags, const hc_http_callbacks *callbacks,
                             unsigned int idle_seconds, const struct MHD_OptionItem *more) {
  void *context = (void *)callbacks;
  struct MHD_OptionItem options[] = {
      {MHD_OPTION_URI_LOG_CALLBACK, (intptr_t)begin, context},
      {MHD_OPTION_NOTIFY_COMPLETED, (intptr_t)complete, context},
      {MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)notify, context},
      // The caller that adds connections limits them.
      {MHD_OPTION_CONNECTION_LIMIT, INT_MAX, NULL},
      {MHD_OPTION_CONNECTION_TIMEOUT, (intptr_t)idle_seconds, NULL},
      {MHD_OPTION_END, 0, NULL},
  };
  return MHD_start_daemon(flags | MHD_USE_NO_LISTEN_SOCKET, 0, NULL, NULL, proceed, context,
                          MHD_OPTION_ARRAY, options, MHD_OPTION_ARRAY, more, MHD_OPTION_END);
}

hc_http_daemon *hc_http_start(const hc_http_callbacks *callbacks, unsigned int idle_seconds,
                              size_t stack_bytes, const char *certificate, const char *key) {
  int has_tls = certificate && key;
  struct MHD_OptionItem options[] = {
      {MHD_OPTION_THREAD_STACK_SIZE, (intptr_t)stack_bytes, NULL},
      {has_tls ? MHD_OPTION_HTTPS_MEM_CERT : MHD_OPTION_END, 0, (void *)certificate},
      {MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)key},
      {MHD_OPTION_END, 0, NULL},
  };
  unsigned int flags = MHD_USE_POLL_INTERNAL_THREAD | MHD_USE_THREAD_PER_CONNECTION;
  return start(has_tls ? flags | MHD_USE_TLS : flags, callbacks, idle_seconds, options);
}

hc_http_daemon *hc_http_start_single(const hc_http_callbacks *callbacks, unsigned int idle_seconds,
                                     size_t connection_bytes) {
  struct MHD_OptionItem options[] = {
      {MHD_OPTION_CONNECTION_MEMORY_LIMIT, (intptr_t)connection_bytes, NULL},
      {MHD_OPTION_END, 0, NULL},
  };
  return start(MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME, callbacks, idle_seconds,
               options);
}

int hc_http_add(hc_http_daemon *daemon, int descriptor) {
  struct sockaddr_storage address = {0};
  socklen_t length = sizeof address;
  // A client that has already disconnected has no address. The daemon detects this later.
  if (getpeername(descriptor, (struct sockaddr *)&address, &length) != 0) {
    address.ss_family = AF_INET;
    length = sizeof(struct sockaddr);
  }
  return MHD_add_connection(daemon, descriptor, (struct sockaddr *)&address, length) == MHD_YES;
}

void hc_http_stop(hc_http_daemon *daemon) { MHD_stop_daemon(daemon); }

void hc_http_suspend(hc_http_connection *connection) { MHD_suspend_connection(connection); }

void hc_http_resume(hc_http_connection *connection) { MHD_resume_connection(connection); }

// MARK: Connection

struct visitor {
  void *context;
  void (*field)(void *context, const char *name, const char *value);
  int checks_lines;
  int is_malformed;
};

// libmicrohttpd 0.9.75 ends a value at a NUL, and appends a second line (obs-fold, RFC 9112 §5.2)
// to the name of the field. The returned name and value do not show either. It parses a head in
// place, with zeros instead of CR LF, and at least one line follows, so the bytes after a value
// show both.
static int is_whole_line(const char *value) {
  const char *end = value + strlen(value);
  return end[1] == 0 && end[2] != ' ' && end[2] != '\t';
}

static enum MHD_Result visit(void *context, enum MHD_ValueKind kind, const char *name,
                             const char *value) {
  (void)kind;
  struct visitor *visitor = context;
  if (visitor->checks_lines && value && !is_whole_line(value)) visitor->is_malformed = 1;
  visitor->field(visitor->context, name, value);
  return MHD_YES;
}

int hc_http_each_header(hc_http_connection *connection, void *context,
                        void (*field)(void *context, const char *name, const char *value)) {
  struct visitor visitor = {context, field, strcmp(MHD_get_version(), "0.9.75") == 0, 0};
  MHD_get_connection_values(connection, MHD_HEADER_KIND, visit, &visitor);
  return !visitor.is_malformed;
}

int hc_http_descriptor(hc_http_connection *connection) {
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  return info ? info->connect_fd : -1;
}

void *hc_http_tls_session(hc_http_connection *connection) {
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
  return info ? info->tls_session : NULL;
}

ptrdiff_t hc_http_tls_send(void *session, const void *bytes, size_t count) {
  ssize_t sent = gnutls_record_send((gnutls_session_t)session, bytes, count);
  if (sent == GNUTLS_E_AGAIN || sent == GNUTLS_E_INTERRUPTED) return 0;
  return sent < 0 ? -1 : sent;
}

void hc_http_restart_idle_time(hc_http_connection *connection, unsigned int seconds) {
  // libmicrohttpd restarts the idle time when the timeout is removed and set again.
  MHD_set_connection_option(connection, MHD_CONNECTION_OPTION_TIMEOUT, 0u);
  MHD_set_connection_option(connection, MHD_CONNECTION_OPTION_TIMEOUT, seconds);
}

// MARK: Responses

hc_http_response *hc_http_response_bytes(const void *bytes, size_t count) {
  return MHD_create_response_from_buffer(count, (void *)bytes, MHD_RESPMEM_MUST_COPY);
}

hc_http_response *hc_http_response_file(uint64_t length, int descriptor, uint64_t offset) {
  return MHD_create_response_from_fd_at_offset64(length, descriptor, offset);
}

struct stream {
  void *context;
  ptrdiff_t (*read)(void *context, char *buffer, size_t count);
  void (*done)(void *context);
};

static ssize_t read_stream(void *context, uint64_t offset, char *buffer, size_t count) {
  (void)offset;
  const struct stream *stream = context;
  ptrdiff_t filled = stream->read(stream->context, buffer, count);
  if (filled == -2) return MHD_CONTENT_READER_END_OF_STREAM;
  return filled < 0 ? MHD_CONTENT_READER_END_WITH_ERROR : filled;
}

static void free_stream(void *context) {
  struct stream *stream = context;
  stream->done(stream->context);
  free(stream);
}

hc_http_response *hc_http_response_stream(uint64_t length, size_t buffer, void *context,
                                          ptrdiff_t (*read)(void *context, char *buffer,
                                                            size_t count),
                                          void (*done)(void *context)) {
  struct stream *stream = malloc(sizeof *stream);
  if (!stream) {
    done(context);
    return NULL;
  }
  *stream = (struct stream){context, read, done};
  hc_http_response *response =
      MHD_create_response_from_callback(length, buffer, read_stream, stream, free_stream);
  if (!response) free_stream(stream);
  return response;
}

void hc_http_response_add_header(hc_http_response *response, const char *name, const char *value) {
  MHD_add_response_header(response, name, value);
}

int hc_http_send(hc_http_connection *connection, unsigned int status, hc_http_response *response) {
  enum MHD_Result result =
      queue_response ? queue_response(connection, status, response) : MHD_NO;
  MHD_destroy_response(response);
  return result == MHD_YES;
}
