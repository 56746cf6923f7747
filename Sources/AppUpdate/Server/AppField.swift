import HostedModel

/// A value of `apps.json` with its path; a value of the wrong type is an error.
struct AppField {
  /// An invalid value and its path.
  struct Problem: Error {
    let path: [String]
    let what: String
    var cause: String?
  }

  let value: JSONField
  let path: [String]

  /// The member `name` of an object; nil if it does not exist.
  subscript(name: String) -> AppField? {
    value.members?[name].map { AppField(value: $0, path: path + [name]) }
  }

  /// Creates a problem with this value, or with its member `name`.
  func problem(_ what: String, at name: String? = nil, cause: String? = nil) -> Problem {
    let path = path + [name].compactMap(\.self)
    return Problem(path: path, what: "\(Self.place(path)): \(what)", cause: cause)
  }

  /// For example `app 2, forcedAccounts 1`.
  private static func place(_ path: [String]) -> String {
    guard path.count > 1 else { return path.first ?? "the file" }
    var parts: [String] = []
    for (name, next) in zip(path, path.dropFirst() + [""]) where Int(name) == nil {
      let number = Int(next).map { " \($0 + 1)" } ?? ""
      parts.append((name == "apps" ? "app" : name.printable(limit: 60)) + number)
    }
    return parts.joined(separator: ", ")
  }

  /// The members of an object.
  func members() throws -> [String: JSONField] {
    guard let members = value.members else { throw problem("expected an object") }
    return members
  }

  /// Throws for a member whose name is not in `names`.
  func allowOnly(_ names: Set<String>) throws {
    guard let unknown = try members().keys.filter({ !names.contains($0) }).min() else { return }
    throw problem(
      "unknown name; expected one of \(names.sorted().joined(separator: ", "))", at: unknown)
  }

  /// The elements of a list.
  func elements() throws -> [AppField] {
    guard case .array(let list) = value else { throw problem("expected a list") }
    return list.enumerated().map { AppField(value: $1, path: path + [String($0)]) }
  }

  /// A non-empty text.
  func text() throws -> String {
    guard case .string(let text) = value, !text.isEmpty else { throw problem("expected a text") }
    return text
  }

  /// A version; it must be a text, because the number 2.10 equals 2.1.
  func version() throws -> AppVersion {
    let text = try text()
    return try valid { try AppVersion(validating: text) }
  }

  /// Returns the result of `read`; its error becomes a problem with this value.
  func valid<Value>(_ read: () throws -> Value) throws -> Value {
    do {
      return try read()
    } catch let error as ContentError {
      throw problem(error.message, cause: error.remedy)
    }
  }

  /// Checks the fields of a listing that answers are computed from.
  ///
  /// Other fields are served unchanged.
  func checkListing() throws {
    if let identifier = self["trackId"], AppListing(fields: try members()).trackID == nil {
      throw identifier.problem("expected a number of at least 1")
    }
    _ = try self["bundleId"]?.text()
    _ = try self["minimumOsVersion"]?.version()
    if let date = self["currentVersionReleaseDate"], date.value.date == nil {
      throw date.problem("expected a date such as 2026-01-15T12:00:00Z")
    }
    if let page = self["trackViewUrl"], page.value.url == nil {
      throw page.problem("expected a URL")
    }
  }
}
