import ContentModel
package import FoundationEssentials

/// A value inside metadata that knows its place, so that an error can name it.
package struct MetadataField {
  let role: RoleName
  let path: String
  let value: JSONValue

  private func damaged(_ expected: String) -> ContentError {
    .metadataDamaged(role, "\(path.isEmpty ? "the document" : path) is not \(expected)")
  }

  /// The members of an object, as fields.
  var members: [String: MetadataField] {
    get throws {
      guard case .object(let members) = value else { throw damaged("an object") }
      return members.reduce(into: [:]) { fields, member in
        fields[member.key] = MetadataField(
          role: role, path: path.isEmpty ? member.key : "\(path).\(member.key)",
          value: member.value)
      }
    }
  }

  /// The elements of an array, as fields.
  var elements: [MetadataField] {
    get throws {
      guard case .array(let elements) = value else { throw damaged("an array") }
      return elements.enumerated().map {
        MetadataField(role: role, path: "\(path)[\($0.offset)]", value: $0.element)
      }
    }
  }

  /// The member `key` of an object; nil when there is none.
  func optional(_ key: String) throws -> MetadataField? {
    guard case .object(let members) = value else { throw damaged("an object") }
    return members[key].map {
      MetadataField(role: role, path: path.isEmpty ? key : "\(path).\(key)", value: $0)
    }
  }

  /// The member `key` of an object, which must be there.
  subscript(key: String) -> MetadataField {
    get throws {
      guard let field = try optional(key) else {
        throw ContentError.metadataDamaged(
          role, "\(path.isEmpty ? "" : "\(path).")\(key) is missing")
      }
      return field
    }
  }

  var string: String {
    get throws {
      guard case .string(let text) = value else { throw damaged("a string") }
      return text
    }
  }

  var bool: Bool {
    get throws {
      guard case .bool(let truth) = value else { throw damaged("true or false") }
      return truth
    }
  }

  /// An integer of at least `minimum`.
  func integer(atLeast minimum: Int64) throws -> Int64 {
    guard case .integer(let number) = value, number >= minimum else {
      throw damaged("an integer of at least \(minimum)")
    }
    return number
  }

  /// A point in time written as 2030-01-01T00:00:00Z, and in no other way.
  var date: Date {
    get throws {
      let text = try string
      guard let date = Date(metadataText: text) else {
        throw damaged("a UTC time such as 2030-01-01T00:00:00Z")
      }
      return date
    }
  }

  /// The SHA-256 among the digests of a `hashes` object.
  var sha256: Digest {
    get throws {
      guard let digest = Digest(hex: try self["sha256"].string) else {
        throw damaged("an object with a SHA-256 of 64 hexadecimal digits")
      }
      return digest
    }
  }
}

extension Date {
  /// Reads `yyyy-MM-dd'T'HH:mm:ssZ`; nil for every other way to write a time.
  package init?(metadataText text: String) {
    // The system's reader takes more forms than one; only this form survives the way back.
    guard let date = try? Date(text, strategy: .iso8601), date.metadataText == text else {
      return nil
    }
    self = date
  }

  /// The time as metadata writes it: whole seconds of UTC.
  package var metadataText: String { formatted(.iso8601) }
}
