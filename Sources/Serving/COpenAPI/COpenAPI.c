#include "COpenAPI.h"

// The compiler of Swift 6.3 supports this directive in every version of C.
#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char document[] = {
#embed "../../../Documentation/openapi.json" suffix(, 0)
};

const char *hc_openapi_document(void) { return (const char *)document; }
