import ContentModel
import ContentTransfer
import Digests
import Dispatch
import FileIO
import Foundation
import Locks

/// Fetches files from a web server into a folder, every piece verified.
///
/// That is what a download does before it unpacks. `Benchmarks/run transfer` compares it with curl.
@main
enum TransferBenchmark {
  /// As long as the pieces of packages that our builder makes.
  private static let blockLength = 128 << 10

  static func main() throws {
    let words = Array(CommandLine.arguments.dropFirst())
    switch (words.first, words.count) {
    case ("index", 2): try index(words[1])
    case ("fetch", 5): try fetch(words[1], words[2], words[3], workers: Int(words[4]) ?? 1)
    default:
      throw ContentError(
        .usage, "transfer-benchmark was called wrongly",
        remedy: "Use: transfer-benchmark index FOLDER | fetch URL FOLDER OUTPUT WORKERS")
    }
  }

  /// A file of the folder as an index names it.
  private struct Entry: Codable {
    let name: String
    let length: Int64
    let digest: Digest
    let blocks: [Digest]
  }

  /// Writes `FOLDER.index`: the digests of each file's blocks.
  private static func index(_ path: String) throws {
    let folder = try FileSystem.real.directory(at: path)
    let entries = try folder.entries().map(\.name).sorted().map { name in
      let file = try folder.file(name)
      let length = try file.status().size
      let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: blockLength, alignment: 4096)
      defer { buffer.deallocate() }
      var blocks: [Digest] = []
      for offset in stride(from: 0, to: length, by: blockLength) {
        let count = try file.read(into: buffer, at: offset)
        blocks.append(try Digest(of: UnsafeRawBufferPointer(rebasing: buffer[..<count])))
      }
      return Entry(name: name, length: length, digest: blocks[0], blocks: blocks)
    }
    try JSONEncoder().encode(entries).write(to: URL(filePath: "\(path).index"))
  }

  private static func fetch(_ url: String, _ path: String, _ output: String, workers: Int) throws {
    let entries = try JSONDecoder().decode(
      [Entry].self, from: Data(contentsOf: URL(filePath: "\(path).index")))
    let session = try HTTPSession()
    let source = try HTTPPieceSource(session, mirrors: [WebURL(url)])
    let folder = try FileSystem.real.directory(at: output, creating: true)
    let next = Atomic(0)
    let failure = Mutex<(any Error)?>(nil)
    DispatchQueue.concurrentPerform(iterations: workers) { _ in
      do {
        while let entry = entries.at(next.add(1, ordering: .relaxed).oldValue) {
          try fetch(entry, source, into: folder)
        }
      } catch {
        failure.withLock { $0 = error }
      }
    }
    if let failure = failure.withLock({ $0 }) { throw failure }
    let statistics = session.statistics
    print(
      "received \(statistics.bytesReceived), fetched \(statistics.bytesFetched), requests "
        + "\(statistics.requests), failures \(statistics.retries)")
  }

  private static func fetch(_ entry: Entry, _ source: HTTPPieceSource, into folder: Directory)
    throws
  {
    let file = try folder.createFile(entry.name)
    let pieces = entry.blocks.enumerated().map { number, digest in
      let offset = Int64(number) * Int64(blockLength)
      return Piece(
        offset: offset, length: Int(min(Int64(blockLength), entry.length - offset)), digest: digest)
    }
    let signed = SignedFile(path: entry.name, length: entry.length, digest: entry.digest)
    try source.fetch(pieces, of: signed, ticket: TransferTicket()) { piece, bytes in
      try file.write(bytes, at: piece.offset)
    }
  }
}

extension Array {
  fileprivate func at(_ index: Int) -> Element? { indices.contains(index) ? self[index] : nil }
}
