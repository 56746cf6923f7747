/// An entry of a folder, as the file system lists it.
package struct DirectoryEntry: Sendable {
  /// The name; if it is not UTF-8, this is a readable form that cannot be used as a path.
  package let name: String
  /// The bytes of the name; all bytes except `/` and zero are possible.
  package let bytes: [UInt8]
  package let kind: FileKind

  /// Whether the name is valid UTF-8, so that `name` can be used as a path.
  package var isText: Bool { name.utf8.elementsEqual(bytes) }

  init(_ bytes: [UInt8], _ kind: FileKind) {
    name = String(decoding: bytes, as: UTF8.self)
    self.bytes = bytes
    self.kind = kind
  }

  /// The name as a C string.
  var terminatedName: [CChar] { bytes.map { CChar(bitPattern: $0) } + [0] }
}
