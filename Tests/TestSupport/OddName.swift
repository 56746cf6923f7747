package import HostedFileIO
import Glibc

/// File names that other programs may create, but that a package cannot contain.
package enum OddName {
  /// `é.txt` in Latin-1, which is not valid UTF-8.
  package static let noText: [UInt8] = [0xe9] + Array(".txt".utf8)

  /// Equal to `é.txt` as a string, but with an `e` and a combining accent.
  package static let decomposed = Array("e\u{301}.txt".utf8)

  /// The form of the name that a package may contain.
  package static let composed = "\u{e9}.txt"
}

extension Directory {
  /// Creates an empty file or folder with these bytes as its name.
  ///
  /// Returns false if the file system rejects the name.
  package func make(_ name: [UInt8], isFolder: Bool = false) -> Bool {
    let place = (Array("\(path)/".utf8) + name + [0]).map { CChar(bitPattern: $0) }
    if isFolder { return mkdir(place, 0o755) == 0 }
    let descriptor = open(place, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
    return descriptor != -1 && close(descriptor) == 0
  }
}
