public import FoundationEssentials

/// A prompt for the user, as data.
///
/// The library has no user interface.
public struct UpdatePrompt: Codable, Hashable, Sendable, CustomStringConvertible {
  /// The action of a button.
  public enum Choice: String, Codable, Sendable, CaseIterable, PrintedAsRawValue {
    /// Opens `downloadURL`.
    case update
    /// Continues. The user is reminded again after the rule's interval.
    case later
    /// Continues. This version is not offered again.
    case skip
  }

  /// A button.
  ///
  /// Buttons are in display order.
  public struct Button: Codable, Hashable, Sendable, CustomStringConvertible {
    /// The action.
    public let choice: Choice
    /// The title.
    public let title: String

    /// The action and the title, such as `later: Later`.
    public var description: String { "\(choice): \(title)" }
  }

  /// The decision: remind or force.
  public let decision: UpdateDecision
  /// The title.
  public let title: String
  /// The message.
  public let message: String
  /// The release notes from the offer, at most 8,000 bytes.
  public let releaseNotes: String?
  /// Update; later, unless it is forced; skip, if the rule allows it.
  public let buttons: [Button]
  /// The language of the texts (BCP 47).
  public let language: String

  /// The link to the update; nil if no permitted link is known.
  public var downloadURL: URL? { decision.downloadURL }

  /// Creates the prompt for a decision; nil if the decision asks nothing.
  public init?(
    _ decision: UpdateDecision, appName: String, texts: UpdateTexts, languages: [String]
  ) {
    guard decision.action != .noAction else { return nil }
    let (language, words) = texts.translation(for: languages)
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

  /// The title, the message and the buttons in one line.
  public var description: String {
    "\(title) \(message) \(buttons.map { "[\($0.title)]" }.joined(separator: " "))"
  }
}
