import HostedModel

/// The URLs of the requests of one fetch, which may expire.
struct RequestURLs {
  /// The file's path in the store.
  let path: String
  /// The lasting addresses, without secrets, for choices and messages.
  let addresses: [WebURL]
  /// Nil if the addresses are the URLs.
  let lease: URLLease?
  /// The rate of one request in bytes per second, at first an assumption.
  private var rate = 256e3

  /// A range takes at most this share of the remaining lifetime at the measured rate.
  private static let usedShare = 0.8
  /// Fewer bytes measure the latency, not the rate.
  private static let minimumSample: Int64 = 64 << 10

  init(of path: String, at addresses: [WebURL], lease: URLLease?) {
    self.path = path
    self.addresses = addresses
    self.lease = lease
  }

  /// Returns a request at `mirror` for `bytes` or more, or nil while its URL is renewed.
  ///
  /// Then `waiter` gets an event at the end of the renewal.
  func request(at mirror: Int, _ bytes: Int, _ waiter: Handover) throws -> ExchangeRequest? {
    var request = ExchangeRequest(url: addresses[mirror])
    guard let lease else { return request }
    guard let grant = try lease.grant(for: Double(bytes) / rate, waiter: waiter) else { return nil }
    let urls = grant.urls[path] ?? []
    if let url = urls.indices.contains(mirror) ? urls[mirror] : urls.first { request.url = url }
    request.grant = grant
    return request
  }

  /// Returns the bytes that arrive before the URL of `request` expires.
  func limit(of request: ExchangeRequest, at now: Double) -> Int64 {
    let lifetime = (request.grant?.expiresAt ?? .infinity) - max(now, request.notBefore)
    return Int64(min(max(0, lifetime * rate * Self.usedShare), 1e15))
  }

  /// Measures the rate of a request that ended now.
  mutating func measure(_ received: Int64, since start: Double, at now: Double) {
    guard lease != nil, received >= Self.minimumSample, now > start else { return }
    rate = Double(received) / (now - start)
  }

  /// Whether a request that ended with `fault` is sent again with a new URL.
  ///
  /// This is not an attempt, and does not delay the mirror. A mirror that refuses two new grants in
  /// a row is not used again. Throws `accessDenied` if no other server is left.
  func renews(
    after fault: TransferFault, of request: PieceRequest, _ end: ExchangeEnd,
    _ mirrors: inout MirrorBook
  ) throws -> Bool {
    guard let lease, let grant = request.exchange.grant?.number else { return false }
    if fault.kind == .expired { return true }
    guard case .status(let status) = fault.kind, [401, 403, 410].contains(status) else {
      return false
    }
    guard lease.refuse(grant) else { return true }
    mirrors.refuse(at: request.mirror, startedAt: end.startedAt)
    guard mirrors.allRefuse else { return true }
    throw ContentError(
      .accessDenied, "\(end.url) was answered with status \(status), even with a new URL",
      remedy: "Ask the store's owner to check the secret and the clock of the content server",
      subject: path)
  }
}
