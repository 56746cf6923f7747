import HostedModel
import HostedFileIO
import Foundation
import HostedTestSupport
import HostedTestTraits
import Testing

/// Runs the jobs of Documentation/Refresh.md.
@Suite("The guide to refreshing", .timeLimit(.hang))
struct RefreshGuideTests {
  private let page: DocumentPage
  private let tool: Tool

  init() throws {
    page = try DocumentPage("Documentation/Refresh.md")
    tool = try Tool()
  }

  /// The text of a block, with the paths of this test.
  private func block(_ language: String) throws -> String {
    let block = try #require(page.blocks(in: language).first)
    return block.text.replacing("/usr/local/bin/hostedcontent", with: Tool.path)
      .replacing("/srv/store", with: tool.folder.path("store"))
  }

  /// The settings of a unit file by section and name.
  private func settings(_ text: String) throws -> [String: [String: String]] {
    var section = ""
    var found: [String: [String: String]] = [:]
    for line in text.split(separator: "\n") {
      if let heading = line.wholeMatch(of: /\[([A-Z]\w+)\]/) {
        section = String(heading.output.1)
      } else {
        let setting = try #require(line.wholeMatch(of: /([A-Z]\w+)=(\S.*)/), "\(line)")
        found[section, default: [:]][String(setting.output.1)] = String(setting.output.2)
      }
    }
    return found
  }

  /// The program and the arguments of a job.
  private func command(_ job: String) throws -> [String] {
    guard job == "cron" else {
      let start = try #require(settings(block("ini service"))["Service"]?["ExecStart"])
      return start.split(separator: " ").map(String.init)
    }
    let line = try block("cron")
    let fields = try #require(line.wholeMatch(of: /(?:[0-9*]+ ){5}(.*)\n/))
    // A percent sign is a newline for cron.
    #expect(!fields.output.1.contains("%"))
    return ["/bin/sh", "-c", String(fields.output.1)]
  }

  private func run(_ words: [String], day: Int) throws -> Tool.Result {
    guard day > 0 else { return try tool.run(Array(words.dropFirst()), program: words[0]) }
    return try tool.run(
      FakeTime.arguments(days: day) + words, program: FakeTime.program,
      environment: FakeTime.environment)
  }

  /// Whether a client accepts the store in `folder` on a day.
  private func isAccepted(_ folder: String = "store", day: Int) throws -> Bool {
    let result = try run([Tool.path, "products", "--store", folder], day: day)
    let isExpired = result.status == 1 && result.errors.contains("[502]")
    #expect(result.status == 0 || isExpired, "\(result.errors)")
    return result.status == 0
  }

  /// The inode, length and times of each file of the store and its keys.
  private func files() throws -> [String: FileIdentity] {
    var found: [String: FileIdentity] = [:]
    let paths = try FileManager.default.subpathsOfDirectory(atPath: tool.folder.path)
    for path in paths where path.hasPrefix("store") {
      let parent = try tool.folder.opened().directory(at: path.pathComponents().dropLast())
      let status = try #require(try parent.status(of: path.lastPathComponent))
      if status.kind == .file { found[path] = status.identity }
    }
    return found
  }

  @Test(
    "Each job keeps a store valid for more than a year, and changes nothing if nothing is due",
    .slow,
    .enabled(if: FakeTime.isUsable, "\(FakeTime.reason)"), arguments: ["cron", "systemd"])
  func renews(job: String) throws {
    let command = try command(job)
    try tool.offerBook()
    try FileManager.default.copyItem(
      atPath: tool.folder.path("store"), toPath: tool.folder.path("forgotten"))
    let new = try files()
    #expect(try run(command, day: 1).status == 0)
    #expect(try files() == new)
    for day in stride(from: 60, through: 420, by: 60) {
      let before = try files()
      let result = try run(command, day: day)
      #expect(result.status == 0 && result.errors == "", "day \(day): \(result.errors)")
      #expect((result.output == "") == (job == "cron"), "\(result.output)")
      let after = try files()
      #expect(after != before, "day \(day)")
      #expect(try isAccepted(day: day) && isAccepted(day: day + 60), "day \(day)")
      #expect(try run(command, day: day + 1).status == 0)
      #expect(try files() == after, "day \(day)")
    }
    // The clock was moved: without the job, clients refuse the store.
    #expect(try isAccepted("forgotten", day: 80))
    #expect(try !isAccepted("forgotten", day: 100))
  }

  @Test("A failed job prints the reason", arguments: ["cron", "systemd"])
  func fails(job: String) throws {
    let result = try run(command(job), day: 0)
    #expect(result.status == 1)
    #expect(result.output == "" && result.errors.hasPrefix("hostedcontent: Cannot open the store"))
  }

  @Test("The timer starts the service daily")
  func timer() throws {
    let service = try settings(block("ini service"))
    let timer = try settings(block("ini timer"))
    #expect(service["Service"]?["Type"] == "oneshot")
    #expect(timer["Timer"]?["OnCalendar"] == "daily" && timer["Timer"]?["Unit"] == nil)
    #expect(timer["Install"]?["WantedBy"] == "timers.target")
    for kind in ["service", "timer"] {
      #expect(page.prose.contains("/etc/systemd/system/store-refresh.\(kind)"))
    }
  }

  @Test(
    "systemd accepts the units", .enabled(if: UnitFiles.canBeChecked, "\(UnitFiles.reason)"))
  func units() throws {
    try UnitFiles.check(
      [
        "store-refresh.service": block("ini service"), "store-refresh.timer": block("ini timer"),
      ], tool)
  }
}
