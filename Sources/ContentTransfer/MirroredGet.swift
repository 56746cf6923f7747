import ContentModel

extension HTTPSession {
  /// All bytes of the file at `path` below the first of `mirrors` that answers; nil where it is not.
  ///
  /// Blocks. A mirror that fails in a way that may pass makes room for the next one; the last is
  /// tried as often as the retry policy has it. Throws `limitExceeded` for more than `limit` bytes,
  /// and what `get` throws.
  package func contents(of path: String, at mirrors: [WebURL], limit: Int) throws -> [UInt8]? {
    for mirror in mirrors.dropLast() {
      do {
        return try contents(of: path, at: mirror, limit: limit, attempts: 1)
      } catch let error as ContentError where error.isRetryable && error.code != .stopped {
        continue
      }
    }
    return try mirrors.last.flatMap {
      try contents(of: path, at: $0, limit: limit, attempts: nil)
    }
  }

  private func contents(
    of path: String, at mirror: WebURL, limit: Int, attempts: Int?
  ) throws -> [UInt8]? {
    var request = HTTPRequest(try mirror.appending(path), limit: limit)
    request.attempts = attempts
    request.refusesPages = true
    let response = try get(request)
    switch response.status {
    case 200, 203: return response.body
    case 404, 410: return nil
    // What buckets say of a file that is not there to whoever may not list them.
    case 403 where configuration.secrets(for: mirror).isEmpty: return nil
    default:
      let fault = TransferFault(response)
      throw ContentError(fault, from: response.url, subject: request.url.description)
    }
  }
}
