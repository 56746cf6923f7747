import ContentModel
import ContentTrust
import Digests
import FileIO
import FoundationEssentials
import Glibc
import Concurrency

/// Measures refreshes of a catalog with many products: trust-benchmark FOLDER PRODUCTS.
@main
enum TrustBenchmark {
  static func main() throws {
    let words = CommandLine.arguments
    guard words.count == 3, let count = Int(words[2]) else {
      print("Usage: trust-benchmark FOLDER PRODUCTS")
      exit(2)
    }
    let folder = try FileSystem.real.directory(at: words[1], creating: true)
    let store = try SampleCatalog(products: count)
    let fetcher = CountingFetcher()
    fetcher.put(try store.published(1))
    let client = { TrustClient(trustFolder: folder, fetcher: fetcher, now: { Date() }) }

    let first = client()
    let initial = try measured { _ = try first.refresh(initialRoot: store.root()) }
    report("first refresh of \(count) products", initial, fetcher.take())

    var times: [Double] = []
    var requests: [CountingFetcher.Count] = []
    for _ in 0..<50 {
      times.append(try measured { _ = try first.refresh(initialRoot: nil) })
      requests.append(fetcher.take())
    }
    times.sort()
    let least = milliseconds(times[0])
    let (median, most) = (milliseconds(times[25]), milliseconds(times[49]))
    print(
      "nothing new, same process, 50 times: CPU \(least) / \(median) / \(most) ms, "
        + "\(requests[0].files) requests, \(requests[0].bytes) bytes")

    let another = client()
    let cold = try measured { _ = try another.refresh(initialRoot: nil) }
    report("nothing new, first refresh of another process", cold, fetcher.take())

    fetcher.put(try store.published(2))
    let changed = try measured { _ = try first.refresh(initialRoot: nil) }
    report("after one product changed", changed, fetcher.take())

    for bits in [4, 6, 8, 10] { try print(store.hashBins(bits)) }
  }

  private static func report(_ what: String, _ time: Double, _ count: CountingFetcher.Count) {
    print("\(what): CPU \(milliseconds(time)) ms, \(count.files) requests, \(count.bytes) bytes")
  }

  private static func milliseconds(_ seconds: Double) -> Double {
    (seconds * 100_000).rounded() / 100
  }

  /// Returns the CPU time of the whole process for `body`, in seconds.
  private static func measured(_ body: () throws -> Void) throws -> Double {
    func now() -> Double {
      var time = timespec()
      clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
      return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
    let start = now()
    try body()
    return now() - start
  }
}

/// A store in memory that counts fetches.
final class CountingFetcher: MetadataFetcher {
  struct Count {
    var files = 0
    var bytes = 0
  }

  private let state = Mutex((files: [String: [UInt8]](), count: Count()))

  func put(_ files: [String: [UInt8]]) { state.withLock { $0.files.merge(files) { $1 } } }

  func take() -> Count {
    state.withLock { state in
      defer { state.count = Count() }
      return state.count
    }
  }

  func fetch(_ path: String, limit: Int64) throws -> [UInt8]? {
    state.withLock { state in
      state.count.files += 1
      let bytes = state.files[path]
      state.count.bytes += bytes?.count ?? 0
      return bytes
    }
  }
}

/// A catalog as a store publishes it, with one version of one content per product.
struct SampleCatalog {
  private let count: Int
  private let key: SigningKey
  private let expires = Date(
    timeIntervalSince1970: (Date().timeIntervalSince1970 + 1e7).rounded(.down))

  init(products count: Int) throws {
    self.count = count
    key = try SigningKey.generate()
  }

  private var signer: RoleSigner { RoleSigner(keys: [key]) }

  func root() throws -> [UInt8] {
    let keys = RoleName.allCases.reduce(into: [:]) { $0[$1] = key.publicKey }
    return try signer.sign(RootRole(version: 1, expires: expires, keys: keys))
  }

  /// Returns the targets of products; the first one has `version`.
  private func targets(_ numbers: some Sequence<Int>, _ version: Int64) throws
    -> [String: TargetFile]
  {
    var files: [String: TargetFile] = [:]
    for number in numbers {
      let product = try ProductIdentifier(validating: "com.example.product-\(number)")
      let content = ContentCustom(
        productIdentifier: product,
        version: try ContentVersion(validating: "1.\(number == 0 ? version : 1)"),
        installedSize: 1_000_000)
      let digest = try Digest(of: Array("\(number) \(content.version)".utf8))
      let owner = JSONValue.object(["productIdentifier": .string(product.rawValue)])
      let name = StoreTargetName.package(product, product, content.version)
      files[name] = TargetFile(length: 1_000_000, digest: digest, custom: content.json)
      files[content.index] = TargetFile(length: 10_000, digest: digest, custom: owner)
      files[StoreTargetName.record(product)] = TargetFile(
        length: 300, digest: digest, custom: owner)
    }
    return files
  }

  func published(_ version: Int64) throws -> [String: [UInt8]] {
    let role = TargetsRole(
      version: version, expires: expires, targets: try targets(0..<count, version))
    let targets = try signer.sign(role)
    let snapshot = try signer.sign(
      SnapshotRole(
        version: version, expires: expires,
        targets: MetadataFile(version: version, bytes: targets)))
    let timestamp = try signer.sign(
      TimestampRole(
        version: version, expires: expires,
        snapshot: MetadataFile(version: version, bytes: snapshot)))
    return [
      "metadata/timestamp.json": timestamp, "metadata/\(version).snapshot.json": snapshot,
      "metadata/\(version).targets.json": targets,
    ]
  }

  /// Returns the bytes fetched for one changed product if 2^`bits` roles share the products.
  func hashBins(_ bits: Int) throws -> String {
    let bins = 1 << bits
    let bin = try signer.sign(
      TargetsRole(
        version: 1, expires: expires,
        targets: targets(stride(from: 0, to: count, by: bins), 1)))
    let promise = try MetadataFile(version: 1000, bytes: bin)
    let others = (0..<bins).reduce(into: [String: MetadataFile]()) {
      $0["bin-\(String($1 + 0x1000, radix: 16).dropFirst()).json"] = promise
    }
    let snapshot = try signer.sign(
      SnapshotRole(version: 1, expires: expires, targets: promise, others: others))
    let timestamp = try published(1)["metadata/timestamp.json"]?.count ?? 0
    return
      "hash bins, calculated, \(bins) of them: \(timestamp + snapshot.count + bin.count) bytes "
      + "(timestamp \(timestamp), snapshot \(snapshot.count), one bin \(bin.count))"
  }
}
