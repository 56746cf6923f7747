package import HostedModel
package import FoundationEssentials

/// A value in metadata, whose errors name the role.
package typealias MetadataField = JSONReader<MetadataName>

extension MetadataName: JSONErrors {
  /// Returns the error `metadataDamaged` of this role.
  package func error(_ problem: JSONProblem, at steps: [JSONStep]) -> any Error {
    let path = steps.text
    let reason =
      switch problem {
      case .missing: "\(path) is missing"
      case .unknown: "\(path) has an unknown name"
      case .expected(let type): "\(path.isEmpty ? "the document" : path) is not \(type)"
      case .other(let text): "\(path) \(text)"
      }
    return ContentError.metadataDamaged(self, reason)
  }
}

extension MetadataField {
  /// Creates a reader of `value`, the metadata of `role` or its signed part.
  init(_ value: JSONValue, of role: MetadataName) { self.init(value, errors: role) }

  var role: MetadataName { errors }

  /// Returns the only member of an object that has a name in `names`.
  func onlyOne(of names: String...) throws -> (name: String, field: MetadataField) {
    let found = try names.compactMap { name in try optional(name).map { (name, $0) } }
    guard found.count == 1 else {
      throw error(.other("must have exactly one of \(names.joined(separator: " and "))"))
    }
    return found[0]
  }

  /// A time in exactly the form 2030-01-01T00:00:00Z.
  var date: Date {
    get throws {
      let text = try string
      return try read(.described("a UTC time such as 2030-01-01T00:00:00Z")) { _ in
        Date(metadataText: text)
      }
    }
  }

  /// The digests in a `hashes` object.
  var hashes: FileHashes {
    get throws {
      try read(.described("an object with a SHA-256 or SHA-512 in hexadecimal digits")) {
        FileHashes(json: $0)
      }
    }
  }
}

extension Date {
  /// Reads `yyyy-MM-dd'T'HH:mm:ssZ`; returns nil for any other form.
  package init?(metadataText text: String) {
    // Foundation accepts more forms. Formatting the result again detects them.
    guard let date = try? Date(text, strategy: .iso8601), date.metadataText == text else {
      return nil
    }
    self = date
  }

  /// The time in the form of metadata: whole seconds, UTC.
  package var metadataText: String { formatted(.iso8601) }
}
