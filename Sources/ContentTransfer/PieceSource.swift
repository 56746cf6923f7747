package import ContentModel
package import FileIO

/// Where the bytes of a store's files come from; nothing that it hands over is trusted.
package protocol PieceSource: Sendable {
  /// Opens `file`; throws `storeMissing` when it is not there. Blocking; from any thread.
  func open(_ file: SignedFile) throws -> any PieceReader
}

/// One file of a store, read piece by piece.
package protocol PieceReader: AnyObject {
  /// Fills `buffer` with the bytes from `offset` on; returns how many there were. Blocking.
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws -> Int
}

/// A store that is a folder: `file://`, a mount, a network share.
package struct FolderPieceSource: PieceSource {
  private let store: Directory

  package init(store: Directory) { self.store = store }

  package func open(_ file: SignedFile) throws -> any PieceReader {
    let components = file.path.split(separator: "/").map(String.init)
    guard let name = components.last else { throw ContentError.notInStore(file.path, store.path) }
    do {
      return FolderPieceReader(try store.directory(at: components.dropLast()).file(name))
    } catch let error as ContentError where error.code == .fileMissing {
      throw ContentError.notInStore(file.path, store.path)
    }
  }
}

private final class FolderPieceReader: PieceReader {
  private let file: File

  init(_ file: consuming File) { self.file = file }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws -> Int {
    try file.read(into: buffer, at: offset)
  }
}

extension ContentError {
  static func notInStore(_ path: String, _ store: String) -> ContentError {
    ContentError(
      .storeMissing, "The store \(store) promises \(path), which is not there",
      remedy: "Ask the store's owner to publish it again", subject: path)
  }
}
