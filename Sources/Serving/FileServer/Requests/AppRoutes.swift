import HostedHTTPValues
import AppUpdate
package import HostedModel
import HostedFileIO

extension FileServer.Configuration {
  /// Serves `/lookup`, `/search` and `/app-version` from `apps.json` in the folder at `path`.
  ///
  /// Reads the file now, and again after it has changed. Without the file, the paths return 404.
  /// The file itself is not served, because it may name accounts. Throws `storeDamaged` if the file
  /// is invalid now. If it becomes invalid later, `report` is called once for each change, and the
  /// last valid file is served. A change is detected by a request, or by a call of the returned
  /// function.
  @discardableResult
  package mutating func serveApps(
    ofFolder path: String, report: @escaping @Sendable (ContentError) -> Void = { _ in }
  ) throws -> @Sendable () -> Void {
    let file = AppCatalogFile(in: try FileSystem.real.directory(at: path), report: report)
    try file.open()
    for path in AppCatalog.paths { routes[path] = { HTTPResponse(to: $0, of: file) } }
    routes["/\(AppCatalogFile.name)"] = { _ in .notFound }
    // The error was already reported.
    return { _ = try? file.catalog() }
  }
}

extension HTTPResponse<ServedBody> {
  fileprivate init(to request: HTTPRequest, of file: AppCatalogFile) {
    let pairs = request.location?.query.map { ($0.name, $0.value) } ?? []
    do {
      let parameters = Dictionary(pairs) { first, _ in first }
      guard let answer = try file.answer(path: request.path, parameters: parameters) else {
        self = .notFound
        return
      }
      self.init(answer.status, contentType: "application/json", answer.body)
    } catch {
      // The details are for the owner, not for the public.
      self.init(500, text: "The server cannot read its app catalog.")
    }
  }
}
