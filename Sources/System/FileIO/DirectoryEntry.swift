/// A name in a folder, as the file system lists it.
package struct DirectoryEntry: Sendable {
  /// The name; where it is no text, something for people to read, which leads nowhere.
  package let name: String
  /// The name's bytes: any but `/` and zero.
  package let bytes: [UInt8]
  package let kind: FileKind

  /// Whether the name is UTF-8 text, so that `name` leads to the entry.
  package var isText: Bool { name.utf8.elementsEqual(bytes) }

  init(_ bytes: [UInt8], _ kind: FileKind) {
    name = String(decoding: bytes, as: UTF8.self)
    self.bytes = bytes
    self.kind = kind
  }

  /// The name with the zero behind it that the system wants.
  var terminatedName: [CChar] { bytes.map { CChar(bitPattern: $0) } + [0] }
}
