import HostedHTTPValues
import HostedModel
import HostedTransfer
import HostedTrust
package import FoundationEssentials

/// Checks how a store is served, from outside, as a client sees it.
///
/// Requests are sent one after the other; their number and size are limited, unless all files are
/// compared. Use it once.
package struct HostingCheck {
  static let noCache = [HTTPHeader("Cache-Control", "no-cache")]

  private let session: HTTPSession
  let store: WebURL
  /// Whether requests have a token or headers.
  let isAuthorized: Bool
  private let trustedRoot: [UInt8]?
  let comparesAll: Bool
  private let now: Date
  var report: HostingReport
  /// The verified timestamp, to compare the answers for other spellings of its name.
  var timestamp: [UInt8]?
  /// Whether the server cannot be asked for anything else.
  private var isOver = false

  /// Creates a check of the store at a URL.
  ///
  /// Without `trustedRoot`, the check trusts the store's first root. With `comparesAll`, every list
  /// and file of the catalog is fetched and compared, otherwise some. Throws `usage` for a folder.
  package init(
    at location: StoreLocation, trustedRoot: [UInt8]? = nil, comparesAll: Bool = false,
    network: NetworkSettings = NetworkSettings(), now: Date = Date()
  ) throws {
    guard case .web(let url) = location.place else {
      throw ContentError(
        .usage, "\(location.description.printable(limit: 200)) is not an http or https URL",
        remedy: "Give the URL at which clients find the store",
        subject: location.description.printable(limit: 200))
    }
    session = try network.session(for: [url])
    store = url
    isAuthorized = network.bearerToken != nil || !network.headers.isEmpty
    self.trustedRoot = trustedRoot
    self.comparesAll = comparesAll
    self.now = now
    report = HostingReport(url: url.description)
  }

  /// Runs the check; blocks.
  ///
  /// Throws an error of the group network if the server cannot be reached, and `rootInvalid` if the
  /// given root is not a root.
  package mutating func run() throws -> HostingReport {
    defer { session.close() }
    if var trusted = try checkRoots(), let targets = try checkMetadata(&trusted) {
      try checkCatalog(targets, of: trusted)
    }
    if !isOver { try checkNames() }
    report.sort()
    return report
  }

  // MARK: Requests

  /// Returns the answer for `path` below the store.
  mutating func answer(
    for path: String, headers: [HTTPHeader] = [], limit: Int64, isHead: Bool = false
  ) throws -> TransferResponse {
    var request = TransferRequest(
      try store.appending(path), headers: headers, limit: Int(clamping: limit))
    if isHead { request.method = "HEAD" }
    return try answer(to: request)
  }

  mutating func answer(to request: TransferRequest) throws -> TransferResponse {
    report.requests += 1
    return try session.examine(request)
  }

  /// Returns the whole file at `path` with a signed `length`, or nil after a finding.
  ///
  /// Caches should keep metadata that `neverChanges`.
  mutating func contents(
    of path: String, length: Int64?, limit: Int64, neverChanges: Bool = false
  ) throws -> [UInt8]? {
    // Only metadata: other files of this length are compared in parts.
    let maximum = RoleName.targets.limit
    guard length ?? 0 <= maximum else {
      report.add(HostingRules.tooLong(path, maximum: maximum))
      return nil
    }
    let answer = try answer(for: path, limit: length ?? limit)
    let wrongFile =
      HostingRules.file(answer, path)
      ?? length.flatMap { HostingRules.length(answer, path, expected: $0) }
      ?? HostingRules.connection(answer, path)
    if report.add(wrongFile) { return nil }
    report.add(HostingRules.type(answer, path))
    if neverChanges { report.add(HostingRules.uncached(answer, path, now: now)) }
    guard !answer.isCut else {
      report.add(HostingRules.wrongBytes(path, from: "its signed digest: it is longer"))
      return nil
    }
    if let length, Int64(answer.body.count) != length {
      report.add(HostingRules.wrongLength(path, Int64(answer.body.count), expected: length))
      return nil
    }
    return answer.body
  }

  /// Returns whether `body` accepts the bytes of `path`; adds a finding if it does not.
  mutating func isAccepted(_ path: String, _ body: () throws -> Void) throws -> Bool {
    do {
      try body()
      return true
    } catch let error as ContentError where error.group == .trust {
      let isDamaged = error.code == .digestMismatch
      report.add(
        isDamaged ? HostingRules.wrongBytes(path) : HostingRules.invalid(path, error))
      return false
    }
  }

  // MARK: Roots

  /// Returns the newest root; nil if no root can be trusted.
  private mutating func checkRoots() throws -> TrustedMetadata? {
    let given = try trustedRoot.map(TrustedMetadata.init(given:))
    let served = try checkFirstRoot(given)
    guard !isOver, var trusted = given ?? served else { return nil }
    // Clients that trust an earlier root need all roots up to the given one.
    let last = min(given?.root.version ?? 1, Int64(MetadataLimits.rootSteps))
    for version in stride(from: Int64(2), through: last, by: 1) {
      let path = MetadataName.root.path(version: version)
      let finding = HostingRules.file(try answer(for: path, limit: 1024), path)
      report.add(finding?.kind == .fileMissing ? Self.gap(path) : finding)
    }
    try followRoots(&trusted)
    check(.root, MetadataName.root.path(version: trusted.root.version), trusted.root.expires)
    return trusted
  }

  private static func gap(_ path: String) -> HostingFinding {
    HostingRules.rootMissing(path, "clients that trust an earlier root cannot read the store")
  }

  /// Asks for the first root, with the first request of the check, and returns it.
  private mutating func checkFirstRoot(_ given: TrustedMetadata?) throws -> TrustedMetadata? {
    let path = MetadataName.root.path(version: 1)
    var request = TransferRequest(try store.appending(path), limit: Int(RoleName.root.limit))
    request.readsCertificate = true
    let answer = try answer(to: request)
    if let fault = answer.fault, fault.isOfAddress {
      throw ContentError(fault, from: answer.url, subject: store.description)
    }
    report.add(HostingRules.certificate(answer, now: now))
    if answer.status != 0, answer.url != request.url {
      report.add(HostingRules.redirected(path, to: answer.url))
    }
    if let finding = HostingRules.file(answer, path) ?? HostingRules.connection(answer, path) {
      if finding.kind == .fileMissing {
        report.add(HostingRules.rootMissing(path, "new clients cannot start to trust the store"))
      } else {
        report.add(finding)
        isOver = true
      }
      return nil
    }
    if let given, given.root.version == 1, answer.body != trustedRoot {
      report.add(HostingRules.wrongBytes(path, from: "the given root"))
    }
    var served: TrustedMetadata?
    _ = try isAccepted(path) { served = try TrustedMetadata(root: answer.body) }
    return served
  }

  /// Follows the chain of roots to its end, past a gap.
  private mutating func followRoots(_ trusted: inout TrustedMetadata) throws {
    for _ in 0..<MetadataLimits.rootSteps {
      let path = MetadataName.root.path(version: trusted.root.version + 1)
      let url = try store.appending(path)
      let answer = try answer(for: path, headers: Self.noCache, limit: RoleName.root.limit)
      if [200, 203].contains(answer.status), Self.isRoot(answer) {
        guard try isAccepted(path, { try trusted.update(root: answer.body) }) else { return }
        continue
      }
      if [403, 404, 410].contains(answer.status),
        let later = try root(after: trusted.root.version + 1)
      {
        report.add(Self.gap(path))
        trusted = later
        continue
      }
      let wrongAnswer = HostingRules.missing(
        answer, path, askedFor: url, isAuthorized: isAuthorized)
      report.add(wrongAnswer ?? HostingRules.cache(answer, path, now: now))
      return
    }
  }

  private static func isRoot(_ answer: TransferResponse) -> Bool {
    answer.fault == nil && (try? TrustedMetadata(root: answer.body)) != nil
  }

  /// Returns one of the two roots after `version`, which is missing.
  private mutating func root(after version: Int64) throws -> TrustedMetadata? {
    for next in [version + 1, version + 2] {
      let answer = try answer(
        for: MetadataName.root.path(version: next), limit: RoleName.root.limit)
      if answer.status == 200, let root = try? TrustedMetadata(root: answer.body) { return root }
    }
    return nil
  }

  // MARK: Timestamp, snapshot, targets

  /// Returns the verified targets; nil after a finding.
  ///
  /// Expired metadata is accepted, so that the rest can be checked.
  private mutating func checkMetadata(_ trusted: inout TrustedMetadata) throws -> TargetsRole? {
    guard let timestamp = try checkTimestamp(&trusted) else { return nil }
    let isConsistent = trusted.root.usesConsistentSnapshots
    func path(_ role: MetadataName, _ file: MetadataFile) -> String {
      role.path(version: isConsistent ? file.version : nil)
    }
    let snapshotPath = path(.snapshot, timestamp.snapshot)
    let hasSnapshot = try fetch(
      snapshotPath, timestamp.snapshot, limit: MetadataLimits.unlistedSnapshotLength
    ) {
      try trusted.update(snapshot: $0, now: .distantPast)
    }
    guard hasSnapshot, let snapshot = trusted.snapshot else { return nil }
    check(.snapshot, snapshotPath, snapshot.expires)
    let targetsPath = path(.targets, snapshot.targets)
    let hasTargets = try fetch(targetsPath, snapshot.targets, limit: RoleName.targets.limit) {
      try trusted.update(targets: $0, now: .distantPast)
    }
    guard hasTargets, let targets = trusted.targets else { return nil }
    check(.targets, targetsPath, targets.expires)
    return targets
  }

  /// Fetches metadata for `accept`; returns false after a finding.
  private mutating func fetch(
    _ path: String, _ file: MetadataFile, limit: Int64, accept: ([UInt8]) throws -> Void
  ) throws -> Bool {
    guard let bytes = try contents(of: path, length: file.length, limit: limit) else {
      return false
    }
    return try isAccepted(path) { try accept(bytes) }
  }

  /// Adds a finding if the metadata of `role` has expired, or was not renewed in time.
  mutating func check(_ role: MetadataName, _ path: String, _ expires: Date) {
    report.add(HostingRules.expiry(role, path, expires, now: now))
  }

  /// Returns the verified timestamp, and compares it with those that caches have.
  private mutating func checkTimestamp(_ trusted: inout TrustedMetadata) throws -> TimestampRole? {
    let (path, limit) = (MetadataName.timestamp.path(), RoleName.timestamp.limit)
    // The first request fills a cache like the request of a browser.
    let kept = try self.answer(for: path, limit: limit)
    let answer = try self.answer(for: path, headers: Self.noCache, limit: limit)
    if report.add(HostingRules.file(answer, path) ?? HostingRules.connection(answer, path)) {
      return nil
    }
    report.add(HostingRules.type(answer, path))
    report.add(HostingRules.cache(answer, path, now: now))
    report.add(HostingRules.age(answer, path))
    guard
      try isAccepted(path, { _ = try trusted.update(timestamp: answer.body, now: .distantPast) }),
      let timestamp = trusted.timestamp
    else { return nil }
    self.timestamp = answer.body
    check(.timestamp, path, timestamp.expires)
    let keys = trusted
    func version(_ answer: TransferResponse) -> Int64? {
      let role: TimestampRole? = try? keys.verified(answer.body)
      return role?.version
    }
    if let old = version(kept), old < timestamp.version {
      report.add(
        HostingRules.stale(
          .warning, path,
          "A cache keeps version \(old) of \(path), although version \(timestamp.version) exists"))
    }
    if let newest = try newestVersion(path, version), newest > timestamp.version {
      report.add(
        HostingRules.stale(
          .error, path,
          "A cache answers with version \(timestamp.version) of \(path), although version "
            + "\(newest) exists"))
    }
    return timestamp
  }

  /// Returns the version that a request which no cache knows gets, if clients do not get it now.
  private mutating func newestVersion(
    _ path: String, _ version: (TransferResponse) -> Int64?
  ) throws -> Int64? {
    guard !store.text.contains("?") else { return nil }
    let plain = try store.appending(path).text
    let url = try WebURL("\(plain)?\(randomIdentifier())")
    let request = TransferRequest(url, headers: Self.noCache, limit: Int(RoleName.timestamp.limit))
    let unknown = try answer(to: request)
    guard unknown.status == 200, let newest = version(unknown), let timestamp else { return nil }
    if unknown.body == timestamp { return nil }
    // Another publication may have happened since.
    let again = try answer(for: path, headers: Self.noCache, limit: RoleName.timestamp.limit)
    return (version(again) ?? 0) < newest ? newest : nil
  }
}

extension TransferFault {
  /// Whether the address is wrong or nothing listens there, so that nothing can be checked.
  fileprivate var isOfAddress: Bool {
    switch kind {
    case .unusableURL, .unresolved, .refused, .connectTimeout, .proxy, .proxyRefused, .network,
      .tooManyFiles, .outOfMemory, .authorities, .clientCertificate:
      true
    default: false
    }
  }
}
