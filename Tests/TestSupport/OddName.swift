package import FileIO
import Glibc

/// Names that others leave on a disk, and that no package can have.
package enum OddName {
  /// `é.txt` as Latin-1 writes it, which is no UTF-8 text.
  package static let noText: [UInt8] = [0xe9] + Array(".txt".utf8)

  /// Equal to `é.txt` as a text, but made of an `e` and an accent.
  package static let decomposed = Array("e\u{301}.txt".utf8)

  /// The name that a package may have.
  package static let composed = "\u{e9}.txt"
}

extension Directory {
  /// Creates an empty file, or a folder, whose name is these bytes; false where the disk does not
  /// want it.
  package func make(_ name: [UInt8], isFolder: Bool = false) -> Bool {
    let place = (Array("\(path)/".utf8) + name + [0]).map { CChar(bitPattern: $0) }
    if isFolder { return mkdir(place, 0o755) == 0 }
    let descriptor = open(place, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
    return descriptor != -1 && close(descriptor) == 0
  }
}
