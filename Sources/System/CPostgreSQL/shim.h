#pragma once

#include <postgresql/libpq-fe.h>

// PG_DIAG_SQLSTATE and PG_DIAG_MESSAGE_PRIMARY are macros of characters, which Swift does not
// import. The result is NULL if the failure was not reported by the server.
static inline const char *hc_pq_state(const PGresult *result) {
  return PQresultErrorField(result, PG_DIAG_SQLSTATE);
}
static inline const char *hc_pq_message(const PGresult *result) {
  return PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
}

static inline void hc_pq_ignore_notice(void *context, const char *message) {
  (void)context;
  (void)message;
}
// By default, libpq writes notices of the server to standard error.
static inline void hc_pq_ignore_notices(PGconn *connection) {
  PQsetNoticeProcessor(connection, hc_pq_ignore_notice, NULL);
}
