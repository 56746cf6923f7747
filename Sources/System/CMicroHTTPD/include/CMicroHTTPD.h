#pragma once

// What StoreServer needs of libmicrohttpd, without its variadic functions.
//
// A compiled target with a header of its own types only: microhttpd.h brings the system's socket
// headers along, and then it depends on the order of compilation which module the compiler finds
// their names in, this one or Glibc.

#include <stddef.h>
#include <stdint.h>

typedef struct MHD_Daemon hc_http_daemon;
typedef struct MHD_Connection hc_http_connection;
typedef struct MHD_Response hc_http_response;

// What a daemon calls; must live as long as it does.
typedef struct {
  void *context;
  // The target of a new request, as it was sent; returns the exchange that the others are given.
  void *(*begin)(void *context, const char *target);
  // The head has come, or *uploaded more bytes of a body (to be set to 0 when they were taken), or
  // its end. Returns 0 to close the connection.
  int (*proceed)(void *context, void *exchange, hc_http_connection *connection, const char *method,
                 const char *version, size_t *uploaded);
  // The exchange has ended, however; called once for each.
  void (*complete)(void *context, void *exchange, hc_http_connection *connection);
  // A connection has ended; its descriptor is closed after this call.
  void (*closed)(void *context, int descriptor);
} hc_http_callbacks;

// Starts a daemon with a thread for each connection and no listening socket. Without certificate
// and key (both NULL) it speaks plain HTTP.
hc_http_daemon *hc_http_start(const hc_http_callbacks *callbacks, unsigned int idle_seconds,
                              size_t stack_bytes, const char *certificate, const char *key);

// Takes over a connected, non-blocking socket, which it closes in any case; 0 when it did at once,
// without a call of `closed`.
int hc_http_add(hc_http_daemon *daemon, int descriptor);

// Closes all connections and waits for their threads.
void hc_http_stop(hc_http_daemon *daemon);

// MARK: A connection, within `proceed`

// Calls `field` with each header field of the request; a value may be NULL. Returns 0 if a field has
// more than one line, a NUL, or an end of line without CR.
int hc_http_each_header(hc_http_connection *connection, void *context,
                        void (*field)(void *context, const char *name, const char *value));

int hc_http_descriptor(hc_http_connection *connection);

// The TLS session; NULL where the connection is plain.
void *hc_http_tls_session(hc_http_connection *connection);

// Sends through a TLS session: the number of bytes taken, 0 when the socket is full, or -1.
ptrdiff_t hc_http_tls_send(void *session, const void *bytes, size_t count);

// Counts the idle time of the connection from now.
void hc_http_restart_idle_time(hc_http_connection *connection, unsigned int seconds);

// MARK: Responses

hc_http_response *hc_http_response_empty(void);

// A part of a file, by sendfile(2) where that can be; takes over the descriptor.
hc_http_response *hc_http_response_file(uint64_t length, int descriptor, uint64_t offset);

// `read` fills the start of the buffer and returns how many bytes, or a negative number to close the
// connection; `done` is called when the response is gone, also when it could not be made.
hc_http_response *hc_http_response_stream(uint64_t length, size_t buffer, void *context,
                                          ptrdiff_t (*read)(void *context, char *buffer,
                                                            size_t count),
                                          void (*done)(void *context));

void hc_http_response_add_header(hc_http_response *response, const char *name, const char *value);

// Queues the response and gives it up; 0 when it cannot be sent.
int hc_http_send(hc_http_connection *connection, unsigned int status, hc_http_response *response);

// The reason phrase of a status; never NULL.
const char *hc_http_reason(unsigned int status);
