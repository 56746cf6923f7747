public import FoundationEssentials

/// What is to be shown to a user, as data: the library shows nothing itself.
public struct UpdatePrompt: Codable, Hashable, Sendable {
  /// What a button does.
  public enum Choice: String, Codable, Sendable, CaseIterable {
    /// Opens `downloadURL`.
    case update
    /// Goes on; the user is reminded again after the rule's interval.
    case later
    /// Goes on; this version is not offered again.
    case skip
  }

  /// A button, in the order in which buttons stand.
  public struct Button: Codable, Hashable, Sendable {
    /// What it does.
    public let choice: Choice
    /// What stands on it.
    public let title: String
  }

  /// What it is about; remind or force.
  public let decision: UpdateDecision
  /// The heading.
  public let title: String
  /// What the user is asked.
  public let message: String
  /// What is new, as the offer's owner wrote it.
  public let releaseNotes: String?
  /// Update, and unless it is forced later, and skip where the rule allows it.
  public let buttons: [Button]
  /// The language of the texts.
  public let language: String

  /// Where the update is.
  public var downloadURL: URL? { decision.downloadURL }

  /// Makes the prompt of a decision; nil when there is nothing to ask.
  public init?(
    _ decision: UpdateDecision, appName: String, texts: UpdateTexts, languages: [String]
  ) {
    guard decision.action != .none else { return nil }
    let (language, words) = texts.words(for: languages)
    let isForced = decision.action == .force
    let fill = { (template: String) in
      UpdateTexts.fill(
        template,
        [
          "app": appName, "version": decision.offered?.rawValue ?? words.newerVersion,
          "installed": decision.installed.rawValue,
        ])
    }
    self.decision = decision
    self.language = language
    title = fill(isForced ? words.forceTitle : words.remindTitle)
    message = fill(isForced ? words.forceMessage : words.remindMessage)
    releaseNotes = decision.releaseNotes
    var buttons = [Button(choice: .update, title: words.update)]
    if !isForced { buttons.append(Button(choice: .later, title: words.later)) }
    if !isForced, decision.allowsSkip { buttons.append(Button(choice: .skip, title: words.skip)) }
    self.buttons = buttons
  }
}
