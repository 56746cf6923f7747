import HostedModel
import HostedDigests

/// Lays out a xar archive of a few small files and one long file.
///
/// All data are stored uncompressed, so that each part of the long file is a byte range of the
/// archive. The length of the header does not depend on numbers and checksums, so that the long
/// file can be written before they are known. SHA-1 is used because libarchive and older readers do
/// not support newer digests. Source: the xar format.
enum XarWriter {
  struct File {
    let name: String
    var length: Int64 = 0
    var checksum = [UInt8](repeating: 0, count: Int(XarWriter.digestLength))
  }

  // The heap starts with the digest of the compressed table of contents.
  private static let digestLength: Int64 = 20

  /// Returns everything before the first file: header, table of contents and its digest.
  ///
  /// The first file is at the root, the others are in `folder`.
  static func beginning(of files: [File], folder: String) throws -> [UInt8] {
    let table = Array(tableOfContents(files, folder).utf8)
    // zlib's stored blocks, because the length must not depend on the content.
    let packed = try Compressor(level: 0).compressedStream(table)
    let header =
      Array("xar!".utf8) + bigEndian(28, 2) + bigEndian(1, 2) + bigEndian(UInt64(packed.count), 8)
      + bigEndian(UInt64(table.count), 8) + bigEndian(1, 4)
    return try header + packed + DigestStream.bytes(.sha1, of: packed)
  }

  private static func tableOfContents(_ files: [File], _ folder: String) -> String {
    var offset = digestLength
    let elements = files.enumerated().map { index, file in
      defer { offset += file.length }
      // The folder has number 2.
      return element(file, number: index == 0 ? 1 : index + 2, offset: offset)
    }
    return """
      <?xml version="1.0" encoding="UTF-8"?>
      <xar>
       <toc>
        <checksum style="sha1">
         <offset>0</offset>
         <size>\(digestLength)</size>
        </checksum>
      \(elements[0])  <file id="2">
         <name>\(folder)</name>
         <type>directory</type>
         <mode>0755</mode>
      \(elements.dropFirst().joined())  </file>
       </toc>
      </xar>

      """
  }

  private static func element(_ file: File, number: Int, offset: Int64) -> String {
    let checksum = Hexadecimal.text(of: file.checksum)
    return """
        <file id="\(number)">
         <name>\(file.name)</name>
         <type>file</type>
         <mode>0644</mode>
         <data>
          <archived-checksum style="sha1">\(checksum)</archived-checksum>
          <extracted-checksum style="sha1">\(checksum)</extracted-checksum>
          <encoding style="application/octet-stream"/>
          \(padded("size", file.length))
          \(padded("offset", offset))
          \(padded("length", file.length))
         </data>
        </file>

      """
  }

  /// Returns an element with a number, padded after it to a constant length.
  private static func padded(_ name: String, _ number: Int64) -> String {
    let digits = String(number)
    return "<\(name)>\(digits)</\(name)>" + String(repeating: " ", count: max(0, 19 - digits.count))
  }

  private static func bigEndian(_ number: UInt64, _ length: Int) -> [UInt8] {
    (0..<length).map { UInt8(truncatingIfNeeded: number >> UInt64(8 * (length - 1 - $0))) }
  }
}
