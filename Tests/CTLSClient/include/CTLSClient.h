#pragma once

// A TLS client over GnuTLS, for tests of servers. In C with types of its own only, for the reason
// that CMicroHTTPD.h gives.

#include <stddef.h>

typedef struct hc_tls_client hc_tls_client;

// Shakes hands over a connected socket and checks the certificate for `host` against the one that
// is trusted. On failure NULL, with GnuTLS's own words in *error.
hc_tls_client *hc_tls_connect(int descriptor, const char *host, const char *trusted,
                              size_t trusted_length, const char **error);
ptrdiff_t hc_tls_send(hc_tls_client *client, const void *bytes, size_t count);
// Bytes received; 0 at an orderly end of TLS, negative at any other.
ptrdiff_t hc_tls_receive(hc_tls_client *client, void *bytes, size_t count);
void hc_tls_free(hc_tls_client *client);
