/// The format of a package; it is detected by its bytes, not by its name.
package enum PackageFormat: String, Codable, Sendable, CaseIterable {
  /// A xar archive with `Distribution` and a nested component, as productbuild creates it.
  case flatProductArchive
  /// A xar archive with the content as its direct entries.
  case xar
  /// A zip archive.
  case zip
  /// A tar archive, uncompressed or compressed with gzip, xz, zstd or bzip2.
  case tar
}
