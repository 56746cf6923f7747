package import FileIO
import Locks

/// The file `apps.json` of a store, read anew whenever it was changed.
package final class AppCatalogueFile: Sendable {
  package static let name = "apps.json"
  private static let limit: Int64 = 16 << 20

  private let folder: Directory
  private let read = Mutex<(identity: FileIdentity, catalogue: AppCatalogue)?>(nil)

  /// The file in `folder`, which need not be there yet.
  package init(in folder: Directory) { self.folder = folder }

  /// The apps as the file has them now; nil when there is no file.
  ///
  /// Throws file errors, and `storeDamaged` for a file that is wrong.
  package func catalogue() throws -> AppCatalogue? {
    guard let identity = try folder.status(of: Self.name)?.identity else { return nil }
    if let known = read.withLock({ $0 }), known.identity == identity { return known.catalogue }
    let bytes = try folder.contents(of: Self.name, limit: Self.limit)
    let catalogue = try AppCatalogue(json: bytes, source: folder.path(of: Self.name))
    read.withLock { $0 = (identity, catalogue) }
    return catalogue
  }

  /// The answer to a GET of `path` with the query's decoded parameters; nil when there is no file,
  /// or for other paths.
  package func answer(path: String, parameters: [String: String]) throws -> AppServerAnswer? {
    try catalogue()?.answer(path: path, parameters: parameters)
  }
}
