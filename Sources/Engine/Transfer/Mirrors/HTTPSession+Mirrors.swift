package import HostedHTTPValues
import HostedConcurrency
import HostedModel

extension HTTPSession {
  /// Returns `mirrors` with recently failed hosts last.
  package func ordered(_ mirrors: [WebURL]) -> [WebURL] {
    guard mirrors.count > 1 else { return mirrors }
    let failures = health.withLock { table in mirrors.map { table[$0.origin]?.failures ?? 0 } }
    let order = mirrors.indices.sorted { (failures[$0], $0) < (failures[$1], $1) }
    return order.map { mirrors[$0] }
  }

  /// Returns all bytes of the file at `path` below `mirror`, or nil if it does not exist.
  ///
  /// Blocks. Makes at most `attempts` attempts, by default those of the retry policy. Throws
  /// `limitExceeded` for more than `limit` bytes, `answerUnusable` for a web page instead of the
  /// file, and the errors of `send`.
  package func contents(
    of path: String, at mirror: WebURL, limit: Int, attempts: Int? = nil,
    headers: [HTTPHeader] = []
  ) throws -> [UInt8]? {
    var request = TransferRequest(try mirror.appending(path), headers: headers, limit: limit)
    request.attempts = attempts
    request.refusesPages = true
    let response = try send(request)
    switch response.status {
    case 200, 203: return response.body
    case 404, 410: return nil
    // Buckets answer 403 for a missing file if the client may not list them.
    case 403 where configuration.secrets(for: mirror).isEmpty: return nil
    default:
      let fault = TransferFault(response)
      throw ContentError(fault, from: response.url, subject: request.url.description)
    }
  }
}
