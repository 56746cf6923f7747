package import HostedHTTPValues
import HostedModel
import HostedTrust
import FoundationEssentials

extension GrantIssuer {
  /// Decides for nginx's module auth_request whether a request of the content host is allowed.
  ///
  /// `originalURI` is the request target as the client sent it. Packages and indexes need a grant;
  /// metadata and records are public. 401 without a grant, 403 with an invalid one or for a path
  /// that nginx could normalize.
  package func authorize(originalURI: String?) -> HTTPResponse<APIBody> {
    let uri = originalURI ?? ""
    let parts = uri.utf8.split(
      separator: UInt8(ascii: "?"), maxSplits: 1, omittingEmptySubsequences: false
    ).map { String(decoding: $0, as: UTF8.self) }
    guard uri.utf8.count <= Self.maximumURI, let path = parts.first, Self.isPlain(path) else {
      return Self.refused
    }
    let file = self.file(at: path)
    // Only packages and indexes need a grant: clients read the records before they buy.
    guard let gate, file.pathComponents().contains(StorePath.folder), !file.hasSuffix(".json")
    else { return Self.allowed(Self.cacheSeconds) }
    guard gate.module == .authRequest else { return Self.refused }
    // The grant must be the whole query, since nginx and this server could choose another one.
    guard parts.count == 2, parts[1].hasPrefix("grant=") else {
      return HTTPResponse(
        401, headers: ["Cache-Control": "no-store", "WWW-Authenticate": "Grant"])
    }
    let grant = String(parts[1].dropFirst("grant=".count))
    guard let expires = try? GrantSignature.expiry(of: grant, path: file, secret: gate.secret)
    else { return Self.refused }
    let remaining = Double(expires) - now().timeIntervalSince1970
    return remaining > 0
      ? Self.allowed(max(0, min(Int(remaining) - 1, Self.cacheSeconds))) : Self.refused
  }

  /// The response that nginx may use for a number of seconds without asking again.
  private static func allowed(_ seconds: Int) -> HTTPResponse<APIBody> {
    HTTPResponse(204, headers: ["Cache-Control": "max-age=\(seconds)"])
  }

  private static let refused = HTTPResponse<APIBody>(403, headers: ["Cache-Control": "no-store"])

  /// One less than the documented 30 s: nginx counts whole seconds, and uses an answer until the
  /// end of the last one.
  private static let cacheSeconds = 29
  private static let maximumURI = 8_192

  /// Whether nginx uses the path as it is.
  ///
  /// nginx decodes escapes, merges slashes, resolves dot segments, and ends a path at `#`.
  private static func isPlain(_ path: String) -> Bool {
    let components = path.pathComponents(omittingEmpty: false)
    return components.count > 1 && components[0].isEmpty
      && !components.dropFirst().dropLast().contains("")
      && !components.contains { $0 == "." || $0 == ".." }
      && PercentEncoding.path(path).hasSameBytes(as: path)
  }

  /// Returns the path below the store, if it is in the folder of one of the content URLs.
  private func file(at path: String) -> String {
    let folders = addresses.map(\.folder).filter { path.hasPrefix($0) }
    return String(path.dropFirst(folders.map(\.count).max() ?? 0))
  }
}
