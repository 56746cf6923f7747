import HostedHTTPValues
package import HostedCatalog
import HostedDigests
import HostedModel
import HostedTransfer
import HostedTrust
package import FoundationEssentials

/// Checks how a store is served, from outside, as a client sees it.
///
/// Requests are sent one after the other; their number and size are limited, unless all files are
/// compared. Use it once.
package struct HostingCheck {
  private static let noCache = [HTTPHeader("Cache-Control", "no-cache")]

  private let session: HTTPSession
  private let store: WebURL
  /// Whether requests have a token or headers.
  private let isAuthorized: Bool
  private let trustedRoot: [UInt8]?
  private let comparesAll: Bool
  private let now: Date
  var report: HostingReport
  /// The verified timestamp, to compare the answers for other spellings of its name.
  private var timestamp: [UInt8]?
  /// Whether the server cannot be asked for anything else.
  private var isOver = false

  /// Creates a check of the store that `reader` reads at a URL; mirrors and library are not used.
  ///
  /// Without a trusted root, the check trusts the store's first root. With `comparesAll`, every
  /// list and file of the catalog is fetched and compared, otherwise some. Throws `usage` for a
  /// folder.
  package init(_ reader: StoreReader, comparesAll: Bool = false, now: Date = Date()) throws {
    guard case .web(let url) = reader.store.place else {
      let location = reader.store.description.printable(limit: 200)
      throw ContentError(
        .usage, "\(location) is not an http or https URL",
        remedy: "Give the URL at which clients find the store", subject: location)
    }
    session = try reader.network.session(for: [url])
    store = url
    isAuthorized = reader.network.bearerToken != nil || !reader.network.headers.isEmpty
    trustedRoot = reader.trustedRoot
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
  private mutating func answer(
    for path: String, headers: [HTTPHeader] = [], limit: Int64, isHead: Bool = false
  ) throws -> TransferResponse {
    var request = TransferRequest(
      try store.appending(path), headers: headers, limit: Int(clamping: limit))
    if isHead { request.method = "HEAD" }
    return try answer(to: request)
  }

  private mutating func answer(to request: TransferRequest) throws -> TransferResponse {
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
  private mutating func isAccepted(_ path: String, _ body: () throws -> Void) throws -> Bool {
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
      report.add(finding?.hostingRule == .fileMissing ? Self.gap(path) : finding)
    }
    try followRoots(&trusted)
    check(.root, MetadataName.root.path(version: trusted.root.version), trusted.root.expires)
    return trusted
  }

  private static func gap(_ path: String) -> Finding {
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
      if finding.hostingRule == .fileMissing {
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
  private mutating func check(_ role: MetadataName, _ path: String, _ expires: Date) {
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

  // MARK: The lists of the signed catalog: one, or hash bins

  /// The number of lists, and of files of each kind, that are compared by default.
  private static let sampleSize = 16

  /// Compares some or all lists and the files that they name with what is signed.
  private mutating func checkCatalog(_ role: TargetsRole, of trusted: TrustedMetadata) throws {
    let catalog = TrustedTargets(role, of: trusted, fetcher: FetchedFile())
    let names = try catalog.lists
    report.catalogLists = names.count
    let sampled = sample(names, Self.sampleSize)
    // The files are distributed over the lists.
    let filesPerList = max(1, Self.sampleSize / max(1, sampled.count))
    var progress = Progress()
    for name in sampled {
      guard let list = try fetchList(name, role, trusted) else { continue }
      report.comparedLists += 1
      try checkFiles(of: list, catalog, filesPerList, &progress)
    }
    if let folder = progress.firstFolder { try checkListing("targets/", has: folder) }
  }

  /// What is checked only for the first file of its kind.
  private struct Progress {
    var hasRecords = false
    var hasContent = false
    /// The first name in the folder `targets`.
    var firstFolder: String?
  }

  /// Returns `count` elements, or all if all files are compared.
  private func sample<Element>(_ elements: [Element], _ count: Int) -> [Element] {
    comparesAll ? elements : HostingRules.sample(elements, count)
  }

  /// Returns the list `name`; nil after a finding.
  ///
  /// A bin is fetched. An expired one is accepted, so that the rest can be checked.
  private mutating func fetchList(
    _ name: MetadataName, _ role: TargetsRole, _ trusted: TrustedMetadata
  ) throws -> CatalogList? {
    guard case .delegated = name else { return CatalogList(name, role) }
    guard let file = trusted.snapshot?.files[name.fileName] else {
      report.add(HostingRules.unlisted(name))
      return nil
    }
    let path = name.path(version: trusted.root.usesConsistentSnapshots ? file.version : nil)
    guard
      let bytes = try contents(
        of: path, length: file.length, limit: RoleName.targets.limit, neverChanges: true)
    else { return nil }
    let catalog = TrustedTargets(
      role, of: trusted, fetcher: FetchedFile(path: path, bytes: bytes))
    var found: CatalogList?
    guard try isAccepted(path, { found = try catalog.list(name) }), let list = found else {
      return nil
    }
    check(name, path, list.role.expires)
    return list
  }

  /// Returns the records in the records file of `list`, by digest; empty after a finding.
  private mutating func fetchRecords(of list: CatalogList, _ progress: inout Progress) throws
    -> [Digest: [UInt8]]
  {
    // The content of an empty file is known.
    guard let details = list.role.details, details.hasFile else { return [:] }
    report.catalogFiles += 1
    let file = HostedFile(
      path: RecordsFile.path(details.digest),
      file: TargetFile(length: details.length, digest: details.digest))
    guard let bytes = try compareWhole(file, neverChanges: true) else { return [:] }
    if !progress.hasRecords { try checkCompression(file) }
    progress.hasRecords = true
    return try RecordsFile.records(in: bytes)
  }

  /// Compares the records file of `list`, and `count` of its targets, archives and indexes.
  private mutating func checkFiles(
    of list: CatalogList, _ catalog: TrustedTargets, _ count: Int, _ progress: inout Progress
  ) throws {
    var records = try fetchRecords(of: list, &progress)
    let names = list.role.targets.keys.sorted()
    progress.firstFolder = progress.firstFolder ?? names.first?.pathComponents().first
    report.catalogFiles += names.count
    for name in sample(names, count) {
      guard let file = list.role.targets[name] else { continue }
      let listed = HostedFile(path: catalog.path(of: name, file), file: file)
      // If the records file is missing, these records are known nevertheless.
      if let bytes = try compareWhole(listed), let digest = file.digest { records[digest] = bytes }
    }
    let offers = try knownOffers(of: list, catalog, records)
    report.catalogFiles += 2 * offers.count
    for offer in sample(offers, count) {
      try checkContent(of: offer, isFirst: !progress.hasContent)
      progress.hasContent = true
    }
  }

  /// Returns the versions that the known `records` of `list` name, sorted by product.
  private mutating func knownOffers(
    of list: CatalogList, _ catalog: TrustedTargets, _ records: [Digest: [UInt8]]
  ) throws -> [ContentOffer] {
    var offers: [ContentOffer] = []
    for (product, file) in list.products.sorted(by: { $0.key < $1.key }) {
      guard let record = file.digest.flatMap({ records[$0] }) else { continue }
      do {
        offers += try CatalogRecord(json: record, of: product).offers
      } catch let error as ContentError where error.code == .storeDamaged {
        let path = catalog.path(of: StorePath.entry(product), file)
        report.add(HostingRules.unreadable(path, error))
      }
    }
    return offers
  }

  // MARK: Files, compared with their signed lengths and digests

  /// The maximum length of a file that is compared in memory, in bytes.
  private static let memoryLimit: Int64 = 64 << 20
  /// The length of the ranges of a whole package, in bytes.
  private static let rangeLength: Int64 = 4 << 20
  /// Packages of at most this length are compared as a whole.
  private static let smallLength: Int64 = 256 << 10

  /// A part of a package, with its signed digest if it is known.
  private struct Part {
    let range: Range<Int64>
    let digest: Digest?
  }

  /// Compares the index and the archive of a version.
  ///
  /// For the first one, also examines compression and HEAD.
  private mutating func checkContent(of offer: ContentOffer, isFirst: Bool) throws {
    let index = HostedFile(offer.index)
    let bytes = try compareWhole(index)
    if isFirst, bytes != nil { try checkCompression(index) }
    try checkPackage(
      HostedFile(offer.package), bytes.flatMap { try? PackageIndex(encoded: $0) },
      isFirst: isFirst)
  }

  /// Fetches a file, compares it, and returns its bytes; nil after a finding.
  ///
  /// Caches should keep metadata that `neverChanges`.
  private mutating func compareWhole(_ listed: HostedFile, neverChanges: Bool = false) throws
    -> [UInt8]?
  {
    let (path, length) = (listed.path, listed.file.length)
    guard length <= Self.memoryLimit else {
      report.add(
        Finding(
          .note, .notCompared, path,
          "\(path) was not compared as a whole, because it is longer than "
            + "\(Self.memoryLimit) bytes and cannot be fetched in parts",
          remedy: "Compare the file on the server"))
      return nil
    }
    report.comparedFiles += 1
    guard
      let bytes = try contents(
        of: path, length: length, limit: length, neverChanges: neverChanges),
      try isAccepted(path, { try listed.file.check(bytes, of: path) })
    else { return nil }
    return bytes
  }

  /// Examines whether the server compresses the file for programs that accept it.
  private mutating func checkCompression(_ listed: HostedFile) throws {
    let answer = try answer(
      for: listed.path, headers: [HTTPHeader("Accept-Encoding", "gzip")], limit: 1)
    report.add(HostingRules.compression(answer, listed.path))
  }

  private mutating func checkPackage(
    _ listed: HostedFile, _ index: PackageIndex?, isFirst: Bool
  ) throws {
    let (path, length) = (listed.path, listed.file.length)
    let parts = Self.parts(of: listed.file, index)
    guard let first = parts.first else {
      _ = try compareWhole(listed)
      return
    }
    let answer = try answer(for: path, range: first.range)
    let wrongFile =
      HostingRules.file(answer, path) ?? HostingRules.length(answer, path, expected: length)
    if report.add(wrongFile) { return }
    report.add(HostingRules.type(answer, path))
    report.add(HostingRules.validators(answer, path))
    if isFirst {
      try checkCompression(listed)
      let head = try self.answer(for: path, limit: 0, isHead: true)
      report.add(HostingRules.head(head, path, length: length))
    }
    if report.add(HostingRules.range(answer, path, first.range, length: length)) {
      _ = try compareWhole(listed)
      return
    }
    report.comparedFiles += 1
    if comparesAll {
      try compareAll(listed)
      return
    }
    guard isEqual(answer, first, path) else { return }
    for part in parts.dropFirst() {
      let answer = try self.answer(for: path, range: part.range)
      let wrongPart =
        HostingRules.file(answer, path)
        ?? HostingRules.range(answer, path, part.range, length: length)
      if report.add(wrongPart) { return }
      guard isEqual(answer, part, path) else { return }
    }
  }

  private mutating func answer(for path: String, range: Range<Int64>) throws -> TransferResponse {
    let header = HTTPHeader("Range", "bytes=\(range.lowerBound)-\(range.upperBound - 1)")
    return try answer(for: path, headers: [header], limit: Int64(range.count))
  }

  /// Returns whether the answer has the bytes of `part`; adds a finding if it does not.
  private mutating func isEqual(_ answer: TransferResponse, _ part: Part, _ path: String) -> Bool {
    if report.add(HostingRules.connection(answer, path)) { return false }
    let isEqual =
      answer.body.count == part.range.count && !answer.isCut
      && (part.digest == nil || (try? Digest(of: answer.body)) == part.digest)
    if !isEqual {
      let range = "\(part.range.lowerBound) to \(part.range.upperBound - 1)"
      report.add(HostingRules.wrongBytes(path, from: "its signed digest in bytes \(range)"))
    }
    return isEqual
  }

  /// Fetches all parts of a package, and compares its digest.
  private mutating func compareAll(_ listed: HostedFile) throws {
    var hashing = FileHashing(listed.file.hashes)
    let (path, length) = (listed.path, listed.file.length)
    for start in stride(from: 0, to: length, by: Int(Self.rangeLength)) {
      let part = Part(range: start..<min(start + Self.rangeLength, length), digest: nil)
      let answer = try answer(for: path, range: part.range)
      if report.add(HostingRules.file(answer, path)) { return }
      guard isEqual(answer, part, path) else { return }
      try answer.body.withUnsafeBytes { try hashing.update($0) }
    }
    if try hashing.difference() != nil { report.add(HostingRules.wrongBytes(path)) }
  }

  /// Returns the first and the last part of a package that have digests.
  private static func parts(of file: TargetFile, _ index: PackageIndex?) -> [Part] {
    guard file.length > 0 else { return [] }
    if file.length <= smallLength, let digest = file.digest {
      return [Part(range: 0..<file.length, digest: digest)]
    }
    let start = [Part(range: 0..<min(file.length, smallLength), digest: nil)]
    guard let index, index.packageLength == file.length else { return start }
    guard let payload = index.payload else {
      return Set([0, index.blocks.count - 1]).sorted().map {
        Part(range: index.range(ofBlock: $0), digest: index.blocks[$0])
      }
    }
    guard let first = payload.members.first, let last = payload.members.last else { return start }
    let end = payload.offset + payload.packedLength
    return [
      Part(
        range: payload.offset..<(payload.offset + Int64(first.packedLength)),
        digest: first.digest),
      Part(range: (end - Int64(last.packedLength))..<end, digest: last.digest),
    ]
  }

  // MARK: Names that the store does not have, or must not show

  /// The maximum bytes of a page that is searched for names.
  private static let pageLimit: Int64 = 256 << 10

  /// Asks for missing files, keys, hidden files, lists and other spellings.
  private mutating func checkNames() throws {
    let name = randomIdentifier()
    for path in ["metadata/\(name).json", "targets/\(name)/\(name).content.pkg"] {
      let answer = try answer(for: path, limit: 1024)
      report.add(
        HostingRules.missing(
          answer, path, askedFor: try store.appending(path), isAuthorized: isAuthorized))
    }
    try checkKeys()
    for name in HostingRules.hiddenFiles.keys.sorted() {
      report.add(HostingRules.hidden(try answer(for: name, limit: 1024), name))
    }
    guard let timestamp else { return }
    try checkListing("metadata/", has: "timestamp.json")
    try checkSpellings(timestamp)
  }

  private mutating func checkListing(_ path: String, has entry: String) throws {
    let answer = try answer(for: path, limit: Self.pageLimit)
    report.add(HostingRules.listing(answer, path, has: entry))
  }

  /// The store's URL in two parts: without a slash at its end, and the query.
  private var address: (base: Substring, query: Substring) {
    var (base, query) = store.parts
    while base.hasSuffix("/") { base = base.dropLast() }
    return (base, query)
  }

  /// Asks for keys beside and below the store.
  private mutating func checkKeys() throws {
    let (base, query) = address
    var folders = ["\(base)/store.keys", "\(base)/keys"]
    // The folder beside the store has a URL only if the store's URL has a path.
    if base.dropFirst("\(store.scheme)://".count).contains("/") {
      folders.insert("\(base).keys", at: 0)
    }
    for folder in folders {
      for name in ["timestamp.pem", "targets.pem", "root/root.pem", "published.json", ""] {
        let url = try WebURL("\(folder)/\(name)\(query)")
        let answer = try answer(to: TransferRequest(url, limit: Int(Self.pageLimit)))
        // One file is enough to say so.
        if report.add(HostingRules.keys(answer, url.description)) { break }
      }
    }
  }

  /// Asks for the timestamp in upper case, and with a percent-encoded letter.
  private mutating func checkSpellings(_ timestamp: [UInt8]) throws {
    let (base, query) = address
    let encoded = try WebURL("\(base)/metadata/%74imestamp.json\(query)")
    let limit = timestamp.count + 1024
    let decoded = try answer(to: TransferRequest(encoded, headers: Self.noCache, limit: limit))
    if decoded.status != 200 {
      report.add(
        Finding(
          .warning, .percentEncoding, encoded.description,
          "The server does not decode percent-encoded letters in names (status \(decoded.status))",
          remedy: "nginx: do not build file names from $request_uri; use $uri"))
    }
    let path = "metadata/TIMESTAMP.JSON"
    let upper = try answer(for: path, headers: Self.noCache, limit: Int64(limit))
    if upper.status == 200, upper.body == timestamp {
      report.add(
        Finding(
          .note, .caseIgnored, path,
          "The server ignores the case of names, so identifiers that differ only in case collide",
          remedy: "Store the files on a file system that distinguishes case"))
    }
  }
}

/// A file that signed metadata or a signed record names.
private struct HostedFile {
  /// The path below the store.
  let path: String
  let file: TargetFile
}

extension HostedFile {
  init(_ file: SignedFile) {
    self.init(path: file.path, file: TargetFile(length: file.length, digest: file.digest))
  }
}

/// A file that the check has fetched, so that `TrustedTargets` verifies it like a client.
///
/// The check fetches it itself, because it examines the whole answer.
private struct FetchedFile: MetadataFetcher {
  /// The path below the store; nil without a file.
  var path: String?
  var bytes: [UInt8] = []

  func fetch(_ path: String, limit: Int64) throws -> [UInt8]? { path == self.path ? bytes : nil }
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
