import AppUpdate
package import ContentModel
package import FileIO

extension StoreServer.Configuration {
  /// Answers `/lookup`, `/search` and `/app-version` out of `apps.json` in the folder at `path`.
  ///
  /// The file is read now, and again when it was changed; while there is none the paths are not
  /// found. It is not offered itself, since it may name accounts. Throws `storeDamaged` for a file
  /// that is invalid now; when it becomes invalid later, `report` is called once for each change
  /// and the last valid one is served. A change is noticed by a request, or by a call of the
  /// function that is returned.
  @discardableResult
  package mutating func serveApps(
    ofFolder path: String, fileSystem: FileSystem = .real,
    report: @escaping @Sendable (ContentError) -> Void = { _ in }
  ) throws -> @Sendable () -> Void {
    let file = AppCatalogFile(in: try fileSystem.directory(at: path), report: report)
    try file.open()
    for path in AppCatalog.paths { routes[path] = { Answer(to: $0, of: file) } }
    routes["/\(AppCatalogFile.name)"] = { _ in .notFound }
    // What it throws was reported.
    return { _ = try? file.catalog() }
  }
}

extension Answer {
  fileprivate init(to request: ServerRequest, of file: AppCatalogFile) {
    let pairs = request.location?.query.map { ($0.name, $0.value) } ?? []
    do {
      let parameters = Dictionary(pairs) { first, _ in first }
      guard let answer = try file.answer(path: request.path, parameters: parameters) else {
        self = .notFound
        return
      }
      self.init(answer.status, contentType: "application/json", answer.body)
    } catch {
      // What is wrong in it is its owner's business and not for everybody.
      self.init(500, text: "The server cannot read what it knows about apps.")
    }
  }
}
