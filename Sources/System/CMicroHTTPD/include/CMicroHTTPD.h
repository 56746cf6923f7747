#pragma once

// The part of libmicrohttpd that the servers need, without variadic functions.
//
// This is a compiled target whose header only has its own types. microhttpd.h includes the system's
// socket headers. Then the order of compilation would determine whether the compiler finds their
// names in this module or in Glibc.

#include <stddef.h>
#include <stdint.h>

typedef struct MHD_Daemon hc_http_daemon;
typedef struct MHD_Connection hc_http_connection;
typedef struct MHD_Response hc_http_response;

// The callbacks of a daemon. They must outlive it.
typedef struct {
  void *context;
  // Gets the unparsed target of a new request. Returns the exchange that the other callbacks get.
  void *(*begin)(void *context, const char *target);
  // Called when the head has arrived, when there are *uploaded more bytes of the body (set to 0
  // after they were taken), and at its end. If the connection was suspended at the end, called
  // again after it was resumed. Returns 0 to close the connection.
  int (*proceed)(void *context, void *exchange, hc_http_connection *connection, const char *method,
                 const char *version, const char *upload, size_t *uploaded);
  // The exchange has ended for any reason. Called once per exchange.
  void (*complete)(void *context, void *exchange, hc_http_connection *connection);
  // A connection has ended. Its descriptor is closed after this call.
  void (*closed)(void *context, int descriptor);
  // libmicrohttpd refuses a request itself, such as one with a head that is too long. Sends a
  // response to the descriptor; the connection closes after the call. May be NULL: libmicrohttpd's
  // page in HTML. Only called for a daemon with one thread and without TLS.
  void (*refuse)(void *context, int descriptor, unsigned int status);
} hc_http_callbacks;

// Starts a daemon with a thread per connection and no listening socket. If certificate and key are
// NULL, it uses plain HTTP.
hc_http_daemon *hc_http_start(const hc_http_callbacks *callbacks, unsigned int idle_seconds,
                              size_t stack_bytes, const char *certificate, const char *key);

// Starts a daemon with one thread for all connections, plain HTTP, and no listening socket. Each
// connection has connection_bytes for its head and buffers; a longer head is refused with 431.
hc_http_daemon *hc_http_start_single(const hc_http_callbacks *callbacks, unsigned int idle_seconds,
                                     size_t connection_bytes);

// Takes ownership of a connected, non-blocking socket, and closes it in any case. Returns 0 if it
// was closed at once, without a call of `closed`.
int hc_http_add(hc_http_daemon *daemon, int descriptor);

// Closes all connections and waits for their threads. No connection may be suspended.
void hc_http_stop(hc_http_daemon *daemon);

// Suspends a connection of a daemon with one thread: no callback is called for it until it is
// resumed, not even if the client disconnects. Only call it in `proceed` at the end of the request,
// or in `read` of a response, which then returns 0.
void hc_http_suspend(hc_http_connection *connection);

// Resumes a suspended connection. Call it from any thread.
void hc_http_resume(hc_http_connection *connection);

// MARK: Connection, within `proceed`

// Calls `field` with each header field of the request. A value may be NULL. Returns 0 if a field
// has several lines, a NUL, or a line end without CR.
int hc_http_each_header(hc_http_connection *connection, void *context,
                        void (*field)(void *context, const char *name, const char *value));

int hc_http_descriptor(hc_http_connection *connection);

// The TLS session, or NULL for a plain connection.
void *hc_http_tls_session(hc_http_connection *connection);

// Sends through a TLS session. Returns the number of bytes sent, 0 if the socket is full, or -1.
ptrdiff_t hc_http_tls_send(void *session, const void *bytes, size_t count);

// Restarts the idle time of the connection.
void hc_http_restart_idle_time(hc_http_connection *connection, unsigned int seconds);

// MARK: Responses

// A copy of the bytes.
hc_http_response *hc_http_response_bytes(const void *bytes, size_t count);

// A part of a file, sent with sendfile(2) if possible. Takes ownership of the descriptor.
hc_http_response *hc_http_response_file(uint64_t length, int descriptor, uint64_t offset);

// `read` fills the start of the buffer and returns the number of bytes, -1 to close the connection,
// -2 at the end of a body of unknown length (UINT64_MAX), or 0 if it has suspended the connection.
// `done` is called when the response is freed, even if it cannot be created.
hc_http_response *hc_http_response_stream(uint64_t length, size_t buffer, void *context,
                                          ptrdiff_t (*read)(void *context, char *buffer,
                                                            size_t count),
                                          void (*done)(void *context));

void hc_http_response_add_header(hc_http_response *response, const char *name, const char *value);

// Queues the response and releases it. Returns 0 if it cannot be sent.
int hc_http_send(hc_http_connection *connection, unsigned int status, hc_http_response *response);
