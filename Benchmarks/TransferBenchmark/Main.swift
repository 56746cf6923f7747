import HostedModel
import HostedTransfer
import Dispatch
import HostedFileIO
import Glibc
import HostedConcurrency

/// Fetches files from a web server into a folder and verifies every piece.
///
/// This is what a download does before unpacking. `Benchmarks/run transfer` compares it with curl.
@main
enum TransferBenchmark {
  static func main() throws {
    let words = Array(CommandLine.arguments.dropFirst())
    switch (words.first, words.count) {
    case ("index", 2): try index(words[1])
    case ("fetch", 5): try fetch(words[1], words[2], words[3], downloads: Int(words[4]) ?? 1)
    default:
      print("Usage: HostedTransferBenchmark index FOLDER | fetch URL FOLDER OUTPUT DOWNLOADS")
      exit(2)
    }
  }

  /// Writes `FOLDER.index`: the digests of each file's blocks.
  private static func index(_ path: String) throws {
    let folder = try FileSystem.real.directory(at: path)
    let names = try folder.entries().map(\.name).sorted()
    let bytes = try names.flatMap { try Entry(of: $0, in: folder).encoded }
    let (parent, name) = (path + "/..", path.split(separator: "/").last.map(String.init) ?? "")
    try FileSystem.real.directory(at: parent).replaceFile("\(name).index", with: bytes)
  }

  /// Fetches with this number of concurrent downloads, each on its own thread as in the engine.
  ///
  /// The session's limits determine how many connections they share.
  private static func fetch(
    _ url: String, _ path: String, _ output: String, downloads: Int
  ) throws {
    let entries = try Entry.read("\(path).index")
    let session = try HTTPSession()
    let source = try HTTPPieceSource(session, mirrors: [WebURL(url)])
    let folder = try FileSystem.real.directory(at: output)
    let next = Atomic(0)
    let failure = Mutex<(any Error)?>(nil)
    let group = DispatchGroup()
    for number in 0..<min(downloads, entries.count) {
      DispatchQueue(label: "download \(number)").async(group: group) {
        do {
          while let entry = entries.at(next.add(1, ordering: .relaxed).oldValue) {
            try fetch(entry, source, into: folder)
          }
        } catch {
          failure.withLock { $0 = error }
        }
      }
    }
    group.wait()
    if let failure = failure.withLock({ $0 }) { throw failure }
    let statistics = session.statistics
    print(
      "received \(statistics.bytesReceived), fetched \(statistics.bytesFetched), requests "
        + "\(statistics.requests), failures \(statistics.failures.values.reduce(0, +))")
  }

  private static func fetch(_ entry: Entry, _ source: HTTPPieceSource, into folder: Directory)
    throws
  {
    let file = try folder.createFile(entry.name)
    let signed = SignedFile(
      path: entry.name, length: entry.length, digest: entry.blocks[0])
    try source.fetch(entry.pieces, of: signed, ticket: TransferTicket()) { piece, bytes in
      try bytes.withBytes { try file.write($0, at: piece.offset) }
    }
  }
}

extension Array {
  fileprivate func at(_ index: Int) -> Element? { indices.contains(index) ? self[index] : nil }
}
