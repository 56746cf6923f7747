import HostedModel
import ContentStore
import HostedFileIO
import FoundationEssentials
import Glibc
import HostedContent

/// Measures what a catalog costs its publisher and its clients, by its number of products.
///
/// `Benchmarks/run trust` calls it. Each figure is one line: `NAME: VALUE UNIT`.
@main
enum TrustBenchmark {
  static func main() throws {
    let words = Array(CommandLine.arguments.dropFirst())
    guard (3...4).contains(words.count), let count = Int(words[2]), count > 0 else {
      exitWithUsage()
    }
    let store = try SampleStore(words[1], products: count, url: words.dropFirst(3).first)
    var figures = Figures()
    switch words[0] {
    case "make": try store.make()
    case "measure":
      try publish(store, &figures)
      try refreshWithoutChanges(store, &figures)
      try inNewProcesses("lookup", store, &figures)
      try firstRefreshEver(store, &figures)
      try inNewProcesses("list", store, &figures)
    case "lookup": try lookup(store, &figures)
    case "list": try list(store, &figures)
    default: exitWithUsage()
    }
    figures.print()
    fflush(nil)
    // Without exit handlers: the thread of a session may still run.
    _exit(0)
  }

  private static func exitWithUsage() -> Never {
    print("Usage: HostedTrustBenchmark make|measure|lookup|list FOLDER PRODUCTS [URL]")
    print("URL is that of FOLDER/store on a web server")
    exit(2)
  }

  /// The number of runs of each measurement.
  private static let runs = 5
  /// The trust folder of a client that keeps its catalog.
  private static let knownClient = "trust"

  // MARK: Publishing

  /// Publishes a changed product, and refreshes a client that has the catalog from before.
  private static func publish(_ store: SampleStore, _ figures: inout Figures) throws {
    let client = try SampleClient(store, trustFolder: knownClient)
    _ = try client.catalog.refresh().product(store.middleProduct)
    for run in 1...runs {
      let product = try store.product(run * store.products / (runs + 1))
      let price = Decimal(Int.random(in: 10_000..<100_000))
      let before = try store.publishedFiles(of: product)
      let wall = try seconds {
        let folder = try StoreFolder.open(at: store.path)
        try folder.add(product, details: ProductDetails(price: price))
      }
      let files = try store.publishedFiles(of: product).filter { before[$0.key] != $0.value }
      let written: Int64 = files.values.reduce(0) { $0 + $1.size }
      figures.add("publish one product, wall", wall * 1000, "ms")
      figures.add("publish one product, written", kilobytes(written), "kB")
      _ = client.fetcher.take()
      let found = try client.catalog.refresh().product(product).price
      guard found?.amount == price else { throw wrong("The client has an old record") }
      let fetched = client.fetcher.take()
      figures.add("publish one product, fetched by a client", kilobytes(fetched.bytes), "kB")
      figures.add("publish one product, requests of a client", Double(fetched.requests), "requests")
    }
    // So that a new process has the newest record of this product.
    _ = try client.catalog.refresh().product(store.middleProduct)
  }

  // MARK: Refreshes

  private static func refreshWithoutChanges(_ store: SampleStore, _ figures: inout Figures) throws {
    let client = try SampleClient(store, trustFolder: knownClient)
    _ = try client.catalog.refresh()
    for _ in 0..<50 {
      _ = client.fetcher.take()
      let cpu = try processorSeconds { _ = try client.catalog.refresh() }
      let fetched = client.fetcher.take()
      figures.add("refresh without changes, CPU", cpu * 1000, "ms")
      figures.add("refresh without changes, requests", Double(fetched.requests), "requests")
      figures.add("refresh without changes, bytes", Double(fetched.bytes), "bytes")
    }
  }

  /// The first refresh of a client without a catalog, and the lookup of one product.
  private static func firstRefreshEver(_ store: SampleStore, _ figures: inout Figures) throws {
    for _ in 0..<runs {
      let name = "trust-first"
      try store.folder.removeTree(name)
      var fetched = CountingFetcher.Count()
      let wall = try seconds {
        let client = try SampleClient(store, trustFolder: name)
        _ = try client.catalog.refresh().product(store.middleProduct)
        fetched = client.fetcher.take()
      }
      figures.add("first refresh ever, wall", wall * 1000, "ms")
      figures.add("first refresh ever, bytes", kilobytes(fetched.bytes), "kB")
      figures.add("first refresh ever, requests", Double(fetched.requests), "requests")
    }
  }

  // MARK: New processes

  /// Runs a subcommand in new processes, and adds their figures.
  private static func inNewProcesses(
    _ subcommand: String, _ store: SampleStore, _ figures: inout Figures
  ) throws {
    for _ in 0..<runs {
      try figures.add(printedBy: ownProcess([subcommand] + store.words))
    }
  }

  /// The first refresh of a process that has the catalog on disk, and the lookup of one product.
  private static func lookup(_ store: SampleStore, _ figures: inout Figures) throws {
    let cpu = try processorSeconds {
      let client = try SampleClient(store, trustFolder: knownClient)
      _ = try client.catalog.refresh().product(store.middleProduct)
    }
    figures.add("first refresh of a process, CPU", cpu * 1000, "ms")
    figures.add("first refresh of a process, resident memory", try memory("VmRSS"), "MB")
    figures.add("first refresh of a process, peak memory", try memory("VmHWM"), "MB")
  }

  /// All products, with a client without a catalog.
  private static func list(_ store: SampleStore, _ figures: inout Figures) throws {
    let name = "trust-list"
    try store.folder.removeTree(name)
    let client = try SampleClient(store, trustFolder: name)
    var count = 0
    let wall = try seconds {
      try client.catalog.refresh().forEachList { products, failures in
        if let failure = failures.first { throw failure }
        count += products.count
      }
    }
    guard count == store.products else { throw wrong("The list has \(count) products") }
    let fetched = client.fetcher.take()
    figures.add("complete listing, wall", wall * 1000, "ms")
    figures.add("complete listing, bytes", kilobytes(fetched.bytes), "kB")
    figures.add("complete listing, requests", Double(fetched.requests), "requests")
    figures.add("complete listing, peak memory", try memory("VmHWM"), "MB")
  }

  private static func kilobytes(_ bytes: some BinaryInteger) -> Double { Double(bytes) / 1000 }
}

/// The result of a measured operation is wrong.
func wrong(_ message: String) -> ContentError {
  ContentError(.inconsistent, message, remedy: "Make the store again")
}
