import HostedCOpenAPI

/// The description of the API (OpenAPI 3.1).
package enum OpenAPIDocument {
  /// The JSON of `Documentation/openapi.json`.
  package static let bytes = Array(String(cString: hc_openapi_document()).utf8)
}
