#pragma once

// Documentation/openapi.json, which the compiler embeds, with a null at its end.
const char *hc_openapi_document(void);
