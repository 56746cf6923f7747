import HostedModel
import FoundationEssentials
import Testing

@testable import AppUpdate

@Suite("Prompts")
struct PromptTests {
  private func decision(
    _ action: UpdateDecision.Action, skip: Bool = true, version: String? = "2.0"
  ) throws -> UpdateDecision {
    var offer = UpdateOffer(listing("2.0", ["releaseNotes": .string("Faster.")]))
    offer.versionText = version
    return UpdateDecision(
      action, .newVersion(.major), installed: "1.0", offer: offer, allowsSkip: skip)
  }

  private func shown(
    _ decision: UpdateDecision, texts: UpdateTexts = UpdateTexts(), _ languages: String...
  ) -> UpdatePrompt? {
    UpdatePrompt(decision, appName: "Courier", texts: texts, languages: languages)
  }

  @Test("A reminder can be postponed, and skipped if the rule allows it")
  func remind() throws {
    let prompt = try #require(try shown(decision(.remind), "en"))
    #expect(prompt.buttons.map(\.choice) == [.update, .later, .skip])
    #expect(prompt.title == "Update available")
    #expect(prompt.message == "Courier 2.0 is available; you have 1.0.")
    #expect(prompt.releaseNotes == "Faster.")
    #expect(prompt.downloadURL == listing("2.0").trackViewURL)
    let persistent = try #require(try shown(decision(.remind, skip: false), "en"))
    #expect(persistent.buttons.map(\.choice) == [.update, .later])
  }

  @Test("A forced prompt only offers the update, and none has no prompt")
  func force() throws {
    let prompt = try #require(try shown(decision(.force), "en"))
    #expect(prompt.buttons.map(\.choice) == [.update])
    #expect(shown(try decision(.noAction), "en") == nil)
  }

  @Test(
    "A language falls back to its parent, then to the next language, then to English",
    arguments: [
      (["de"], "de"), (["de-AT"], "de"), (["de_CH.UTF-8@euro"], "de"), (["DE"], "de"),
      (["zh-Hans-CN"], "zh"), (["zh-TW"], "zh-Hant"), (["zh_HK.UTF-8"], "zh-Hant"),
      (["zh-Hant-MO"], "zh-Hant"), (["zh-SG"], "zh"), (["zh-Hans-HK"], "zh"), (["pt-BR"], "pt"),
      (["tlh", "fr-CA"], "fr"), (["tlh"], "en"),
      ([], "en"),
      (["C"], "en"), (["", "-", "ja"], "ja"), (["es"], "es"),
    ] as [([String], String)])
  func languages(wanted: [String], found: String) throws {
    let prompt = UpdatePrompt(
      try decision(.force), appName: "Courier", texts: UpdateTexts(), languages: wanted)
    #expect(prompt?.language == found)
  }

  @Test("Every built-in language has the app, both versions and every button")
  func builtIn() throws {
    let languages = UpdateTexts().byLanguage.keys.sorted()
    #expect(
      languages == [
        "ar", "de", "en", "es", "fr", "it", "ja", "ko", "pt", "ru", "zh", "zh-Hant",
      ])
    for language in languages {
      for action in [UpdateDecision.Action.remind, .force] {
        let prompt = try #require(try shown(decision(action), language))
        #expect(prompt.language == language)
        for part in ["Courier", "2.0", "1.0"] { #expect(prompt.message.contains(part)) }
        #expect(!prompt.message.contains("{"))
        #expect(prompt.buttons.allSatisfy { !$0.title.isEmpty })
        #expect(Set(prompt.buttons.map(\.title)).count == prompt.buttons.count)
      }
    }
  }

  @Test("Custom texts replace the built-in ones, and add languages")
  func ownWords() throws {
    var words = UpdateTexts.english
    words.remindMessage = "{app}! {version} {unknown} {installed"
    let texts = UpdateTexts(["nl-BE": words, "en": words])
    #expect(shown(try decision(.remind), texts: texts, "nl-BE")?.language == "nl-BE")
    #expect(shown(try decision(.remind), texts: texts, "nl")?.language == "en")
    let message = shown(try decision(.remind), texts: texts, "en")?.message
    #expect(message == "Courier! 2.0 {unknown} {installed")
  }

  @Test("A custom text replaces the built-in one also if its tag is spelled differently")
  func spellings() throws {
    var words = UpdateTexts.english
    words.forceTitle = "!"
    var custom: [String: UpdateTexts.Translation] = [:]
    for tag in UpdateTexts.builtIn.keys {
      custom[tag.uppercased().replacing("-", with: "_")] = words
    }
    var texts = UpdateTexts()
    texts.byLanguage.merge(custom) { $1 }
    for texts in [texts, UpdateTexts(custom)] {
      for tag in UpdateTexts.builtIn.keys {
        #expect(shown(try decision(.force), texts: texts, tag)?.title == "!")
      }
    }
  }

  @Test("Replaced placeholders are not expanded again")
  func noInjection() throws {
    let prompt = UpdatePrompt(
      try decision(.remind), appName: "{version}{app}", texts: UpdateTexts(), languages: ["en"])
    #expect(prompt?.message == "{version}{app} 2.0 is available; you have 1.0.")
  }

  @Test("Without a version, the text is still a sentence")
  func noVersion() throws {
    let prompt = shown(try decision(.force, version: nil), "en")
    #expect(
      prompt?.message == "Courier 1.0 can no longer be used. Please update to a newer version.")
  }
}
