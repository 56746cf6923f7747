import HostedHTTPValues
import HostedModel
import HostedFileIO

/// A file as it is served: its bytes, its validators and its cache lifetime.
struct Representation: Sendable {
  var body: ServedBody
  /// A strong entity tag, and a date; a fault may change them.
  var validators: Validators
  let contentType: String
  let cacheControl: String

  /// The size of the file in bytes.
  var size: Int64 { body.length }

  /// Creates the representation of an open file with this name.
  init(_ file: OpenedFile, name: String) {
    body = ServedBody(file)
    let identity = file.status.identity
    // A digest in the name is a better validator than a time, and the same on every host.
    let digest = Self.digest(in: name)
    let tag =
      digest
      ?? "\(Self.hex(identity.size))-\(Self.hex(identity.modified))-\(Self.hex(identity.inode))"
    validators = Validators(
      entityTag: "\"\(tag)\"", modified: identity.modified / 1_000_000_000)
    contentType = Self.contentType(of: name)
    cacheControl =
      digest != nil || Self.isVersioned(name) ? "public, max-age=31536000, immutable" : "no-cache"
  }

  private static func contentType(of name: String) -> String {
    if name.hasSuffix(".json") { return "application/json" }
    // JSON Lines: the type is not registered, but common.
    if name.hasSuffix(".jsonl") { return "application/jsonl" }
    return "application/octet-stream"
  }

  private static func hex(_ number: some BinaryInteger) -> String { String(number, radix: 16) }

  /// The digest at the start of a name, such as that of a target or of a records file.
  private static func digest(in name: String) -> String? {
    let stem = String(name.prefix { $0 != "." })
    return stem != name && Digest(hex: stem)?.hex == stem ? stem : nil
  }

  /// Whether it is metadata of a consistent snapshot, such as `3.targets.json` or `3.bin-0f.json`.
  private static func isVersioned(_ name: String) -> Bool {
    let parts = name.split(separator: ".", omittingEmptySubsequences: false)
    return parts.count == 3 && parts[2] == "json" && !parts[1].isEmpty && !parts[0].isEmpty
      && parts[0].utf8.allSatisfy(\.isDigit)
  }
}
