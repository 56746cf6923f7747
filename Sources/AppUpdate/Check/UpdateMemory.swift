import FoundationEssentials
import HostedFileIO

/// The state that survives a restart.
struct UpdateMemory: Codable, Hashable, Sendable {
  /// The account that logged in last.
  ///
  /// Pushes for other accounts are ignored.
  var account: AccountID?
  /// The date of the last successful check.
  var lastLook: Date?
  var history = UpdateHistory()
  /// The current requirements, one for each origin and account.
  private(set) var requirements: [UpdateRequirement] = []

  /// More accounts than a device usually has.
  ///
  /// Beyond it, the account's oldest requirement is dropped.
  private static let requirementLimit = 16

  /// Returns the requirement of exactly this origin and account.
  func requirement(_ origin: UpdateOffer.Origin, account: AccountID?) -> UpdateRequirement? {
    requirements.first { $0.origin == origin && $0.account == account }
  }

  /// Adds a requirement, or replaces the one of the same origin and account.
  mutating func require(_ requirement: UpdateRequirement) {
    let index = requirements.firstIndex {
      $0.origin == requirement.origin && $0.account == requirement.account
    }
    if let index {
      requirements[index] = requirement
      return
    }
    requirements.append(requirement)
    if requirements.count > Self.requirementLimit,
      let oldest = requirements.firstIndex(where: { $0.account != nil })
    {
      requirements.remove(at: oldest)
    }
  }

  /// Removes the requirements of `origin` for `account` and for all accounts.
  mutating func withdraw(_ origin: UpdateOffer.Origin, account: AccountID?) {
    requirements.removeAll {
      $0.origin == origin && ($0.account == nil || $0.account == account)
    }
  }

  mutating func removeRequirements(metBy version: AppVersion) {
    requirements.removeAll { requirement in
      requirement.needed.map { version >= $0 } ?? (version > requirement.decision.installed)
    }
  }

  /// Replaces each saved link, or a missing one, with the result of `replacement`.
  mutating func replaceLinks(_ replacement: (URL?) -> URL?) {
    for index in requirements.indices {
      requirements[index].decision.downloadURL =
        replacement(requirements[index].decision.downloadURL)
    }
  }
}

struct UpdateRequirement: Codable, Hashable, Sendable {
  /// The origin of the requirement; only the same origin can withdraw it.
  let origin: UpdateOffer.Origin
  /// The account; nil for all accounts.
  let account: AccountID?
  /// The minimum version that meets it; nil for any version newer than the one at that time.
  let needed: AppVersion?
  /// The decision for refused operations.
  var decision: UpdateDecision

  init(_ decision: UpdateDecision, origin: UpdateOffer.Origin, account: AccountID?) {
    self.origin = origin
    self.account = account
    self.decision = decision
    needed =
      switch decision.reason {
      case .belowMinimum(let minimum): minimum
      case .blockedVersion: nil
      default: decision.offered
      }
  }

  /// Whether it requires less than `other`; without a version, it requires less than any other.
  func isLower(than other: UpdateRequirement) -> Bool {
    guard let needed else { return other.needed != nil }
    return other.needed.map { needed < $0 } ?? false
  }
}

/// The file for a checker's state; after a crash, it has the old or the new state.
struct UpdateMemoryFile: Sendable {
  static let name = "app-update.json"
  /// The maximum size to read.
  ///
  /// Written files are much smaller.
  static let limit: Int64 = 2 << 20

  private let folder: Directory

  private struct Document: Codable {
    var format = 1
    let memory: UpdateMemory
  }

  init(folder path: String, fileSystem: FileSystem) throws {
    folder = try fileSystem.directory(at: path, creating: true)
  }

  /// Returns the saved state; an empty state if nothing was saved.
  ///
  /// An invalid file is renamed, and the state starts empty. The returned error says so, and the
  /// next foreground checks at once. Throws file errors: a file that cannot be read may have a
  /// forced update, so it is not changed.
  func load() throws -> (UpdateMemory, ContentError?) {
    let bytes: [UInt8]
    do {
      bytes = try folder.contents(of: Self.name, limit: Self.limit)
    } catch let error as ContentError where error.code == .fileMissing {
      return (UpdateMemory(), nil)
    } catch let error as ContentError where error.code == .limitExceeded {
      return (UpdateMemory(), setAside(error.message))
    }
    do {
      let document = try JSONDecoder().decode(Document.self, from: Data(bytes))
      guard document.format == 1 else {
        return (UpdateMemory(), setAside("format \(document.format) is unknown"))
      }
      return (document.memory, nil)
    } catch {
      return (UpdateMemory(), setAside("\(error)"))
    }
  }

  /// Saves `memory`; the write is durable.
  func save(_ memory: UpdateMemory) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let bytes = try encoder.encode(Document(memory: memory))
    try folder.replaceFile(Self.name, with: Array(bytes), mode: 0o600)
  }

  private func setAside(_ cause: String) -> ContentError {
    // If the rename fails, the next save replaces the file.
    try? folder.rename(Self.name, to: folder, "\(Self.name).damaged")
    return ContentError(
      .updateMemoryDamaged,
      "Cannot read \(folder.path(of: Self.name)). Skipped versions and reminders are lost",
      remedy: "No action is needed. The app checks again at the next foreground",
      subject: folder.path(of: Self.name), cause: cause.printable(limit: 300))
  }
}
