import HostedModel

/// The small files of a flat product archive, in addition to the payload.
///
/// They are what `productbuild --content` writes. A product identifier has no characters that XML
/// must escape. Source: productbuild(1).
struct ProductTexts {
  private let identifier: String
  private let version: String
  private let fileCount: Int
  private let kilobytes: Int64

  init(info: ContentInfoDocument, content: ContentFolder) {
    identifier = info.info.productIdentifier.rawValue
    version = info.info.version.rawValue
    // With the root and ContentInfo.plist.
    fileCount = content.entries.count + 2
    let size = content.entries.filter { $0.kind.indexed == .file }
      .reduce(Int64(info.bytes.count)) { $0 + ($1.size ?? 0) }
    kilobytes = (size + 1023) / 1024
  }

  /// The folder of the component in the archive.
  var folder: String { "\(identifier).pkg" }

  /// The names and bytes of the file at the archive's root and the file in `folder`.
  var files: [(name: String, bytes: [UInt8])] {
    [("Distribution", Array(distribution.utf8)), ("PackageInfo", Array(packageInfo.utf8))]
  }

  private var distribution: String {
    """
    <?xml version="1.0" encoding="utf-8"?>
    <installer-gui-script minSpecVersion="1">
        <pkg-ref id="\(identifier)"/>
        <options customize="never" require-scripts="false"/>
        <product id="\(identifier)" version="\(version)"/>
        <choices-outline>
            <line choice="default">
                <line choice="\(identifier)"/>
            </line>
        </choices-outline>
        <choice id="default"/>
        <choice id="\(identifier)" visible="false">
            <pkg-ref id="\(identifier)"/>
        </choice>
        <pkg-ref id="\(identifier)" version="0" onConclusion="none" \
    installKBytes="\(kilobytes)">#\(folder)</pkg-ref>
    </installer-gui-script>

    """
  }

  private var packageInfo: String {
    """
    <?xml version="1.0" encoding="utf-8"?>
    <pkg-info overwrite-permissions="true" relocatable="false" identifier="\(identifier)" \
    postinstall-action="none" version="0" format-version="2" auth="none">
        <payload numberOfFiles="\(fileCount)" installKBytes="\(kilobytes)"/>
    </pkg-info>

    """
  }
}
