#include "CTLSClient.h"

#include <gnutls/gnutls.h>
#include <stdlib.h>

struct hc_tls_client {
  gnutls_session_t session;
  gnutls_certificate_credentials_t credentials;
};

hc_tls_client *hc_tls_connect(int descriptor, const char *host, const char *trusted,
                              size_t trusted_length, const char **error) {
  hc_tls_client *client = calloc(1, sizeof *client);
  gnutls_datum_t pem = {(unsigned char *)trusted, (unsigned int)trusted_length};
  gnutls_certificate_allocate_credentials(&client->credentials);
  gnutls_certificate_set_x509_trust_mem(client->credentials, &pem, GNUTLS_X509_FMT_PEM);
  gnutls_init(&client->session, GNUTLS_CLIENT);
  gnutls_set_default_priority(client->session);
  gnutls_credentials_set(client->session, GNUTLS_CRD_CERTIFICATE, client->credentials);
  gnutls_session_set_verify_cert(client->session, host, 0);
  gnutls_transport_set_int(client->session, descriptor);
  gnutls_handshake_set_timeout(client->session, 30000);
  int result;
  do {
    result = gnutls_handshake(client->session);
  } while (result < 0 && !gnutls_error_is_fatal(result));
  if (result == 0) return client;
  *error = gnutls_strerror(result);
  hc_tls_free(client);
  return NULL;
}

ptrdiff_t hc_tls_send(hc_tls_client *client, const void *bytes, size_t count) {
  return gnutls_record_send(client->session, bytes, count);
}

ptrdiff_t hc_tls_receive(hc_tls_client *client, void *bytes, size_t count) {
  ssize_t received;
  do {
    received = gnutls_record_recv(client->session, bytes, count);
  } while (received == GNUTLS_E_AGAIN || received == GNUTLS_E_INTERRUPTED);
  return received;
}

void hc_tls_free(hc_tls_client *client) {
  gnutls_deinit(client->session);
  gnutls_certificate_free_credentials(client->credentials);
  free(client);
}
