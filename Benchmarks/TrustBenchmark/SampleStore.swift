import HostedConcurrency
import HostedModel
import ContentStore
import HostedTransfer
import HostedTrust
import HostedFileIO
import FoundationEssentials
import HostedContent

/// A store with products without content, and the folders of its clients.
struct SampleStore {
  /// The folder that has the store, its keys, and the trust folders of clients.
  let folder: Directory
  /// The number of products.
  let products: Int
  /// The URL of the store; nil if clients read its folder.
  private let url: String?

  init(_ path: String, products: Int, url: String?) throws {
    folder = try FileSystem.real.directory(at: path, creating: true)
    (self.products, self.url) = (products, url)
  }

  /// The path of the store.
  var path: String { folder.path(of: "store") }

  /// The arguments with which a subcommand uses this store.
  var words: [String] { [folder.path, "\(products)"] + (url.map { [$0] } ?? []) }

  func product(_ number: Int) throws -> ProductIdentifier {
    try ProductIdentifier(validating: "com.example.book.chapter-\(number)")
  }

  /// The product that clients look up.
  var middleProduct: ProductIdentifier { get throws { try product(products / 2) } }

  /// Creates the store with all products in one step.
  func make() throws {
    let store = try StoreFolder.create(at: path)
    var details: [ProductIdentifier: ProductDetails] = [:]
    for number in 0..<products {
      details[try product(number)] = ProductDetails(
        title: "Chapter \(number): the story goes on",
        description: "What happens in chapter \(number), in one or two sentences of usual length. "
          + "Readers of the chapters before it will like this one, too.",
        price: Decimal(299) / 100)
    }
    let wall = try seconds { try store.add(details) }
    print("publish all products in one step: \(Figures.text(wall)) s")
  }

  /// Returns the files that a publication of `product` can write, by path.
  func publishedFiles(of product: ProductIdentifier) throws -> [String: FileIdentity] {
    let store = try folder.directory("store")
    var files: [String: FileIdentity] = [:]
    for path in [["metadata"], ["targets", product.rawValue]] {
      let folder = try store.directory(at: path)
      for entry in try folder.entries() {
        files[folder.path(of: entry.name)] = try folder.status(of: entry.name)?.identity
      }
    }
    return files
  }

  /// The first root, with which clients start.
  func root() throws -> [UInt8] {
    try folder.directory(at: ["store", "metadata"])
      .contents(of: "1.root.json", limit: RoleName.root.limit)
  }

  /// Returns a new connection to the store.
  func fetcher() throws -> any MetadataFetcher {
    guard let url else { return FolderFetcher(try folder.directory("store")) }
    return try WebFetcher(session: HTTPSession(), server: WebURL(url))
  }
}

/// A client of a sample store.
struct SampleClient {
  let catalog: Catalog
  let fetcher: CountingFetcher

  /// Creates a client that keeps its catalog in the folder `name`, beside the store.
  init(_ store: SampleStore, trustFolder name: String) throws {
    let fetcher = CountingFetcher(try store.fetcher())
    catalog = Catalog(
      client: TrustClient(
        trustFolder: try store.folder.createDirectory(name), fetcher: fetcher, now: { Date() }),
      trustedRoot: try store.root())
    self.fetcher = fetcher
  }
}

/// Fetches a store's files from a web server.
private struct WebFetcher: MetadataFetcher {
  let session: HTTPSession
  let server: WebURL

  func fetch(_ path: String, limit: Int64) throws -> [UInt8]? {
    try session.contents(of: path, at: server, limit: Int(clamping: limit))
  }
}

/// Counts the files that another fetcher fetches.
final class CountingFetcher: MetadataFetcher {
  struct Count {
    var requests = 0
    /// The bytes of the files, without headers.
    var bytes = 0
  }

  private let fetcher: any MetadataFetcher
  private let count = Mutex(Count())

  init(_ fetcher: any MetadataFetcher) { self.fetcher = fetcher }

  /// Returns the count since the last call.
  func take() -> Count {
    count.withLock { count in
      defer { count = Count() }
      return count
    }
  }

  func fetch(_ path: String, limit: Int64) throws -> [UInt8]? {
    let bytes = try fetcher.fetch(path, limit: limit)
    count.withLock { count in
      count.requests += 1
      count.bytes += bytes?.count ?? 0
    }
    return bytes
  }
}
