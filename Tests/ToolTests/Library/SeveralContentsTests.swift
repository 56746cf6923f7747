import Foundation
import HostedTestSupport
import HostedTestTraits
import Testing

/// A course with its audio, as a user or a script would use it.
@Suite("The story of a course")
struct CourseTests {
  private static let course = "com.example.course"
  private static let audio = "com.example.course.audio"

  @Test("get installs every content of a product, and update the outdated ones", .slow)
  func getAndUpdate() throws {
    let tool = try Tool.withStore()
    try tool.succeed("store", "publish", "store", Tool.sample("course-1.0.pkg"))
    try tool.succeed("get", Self.course, "--store", "store", "--library", "lib")
    #expect(try tool.current() == [Self.course: "1.0"])

    // A later content is not an update. The next get of the product installs it.
    let published = try tool.succeed(
      "store", "publish", "store", Tool.sample("course-audio-1.0.pkg"))
    #expect(published.output.hasPrefix("\(Self.audio) 1.0: published"))
    let nothing = try tool.run(
      "update", "--store", "store", "--library", "lib", "--require-update", "--quiet")
    #expect(nothing.status == 3)
    try tool.succeed("update", Self.course, "--store", "store", "--library", "lib")
    #expect(try tool.current() == [Self.course: "1.0"])
    let got = try tool.succeed("get", Self.course, "--store", "store", "--library", "lib")
    #expect(got.output == "\(Self.course) 1.0, \(Self.audio) 1.0: installed\n")
    #expect(try tool.current() == [Self.course: "1.0", Self.audio: "1.0"])

    try tool.succeed("store", "publish", "store", Tool.sample("course-audio-1.1.pkg"))
    let updates = try #require(
      try tool.succeed("updates", "--store", "store", "--library", "lib", "--json").json()[
        "updates"] as? [[String: Any]])
    #expect(updates.map { $0["contentIdentifier"] as? String } == [Self.audio])
    #expect(updates.map { $0["productIdentifier"] as? String } == [Self.course])
    #expect(updates.map { $0["offered"] as? String } == ["1.1"])
    try tool.succeed("update", "--store", "store", "--library", "lib", "--require-update")
    #expect(try tool.current() == [Self.course: "1.0", Self.audio: "1.1"])
    #expect(try tool.unfinished().isEmpty)
    #expect(tool.exists("lib/products/\(Self.audio)/current/Contents/prolonged-blast.wav"))
  }

  @Test("get fails if one content cannot be fetched, and the next get continues with it", .slow)
  func oneFails() throws {
    let tool = try Tool.withStore()
    try tool.succeed(
      "store", "publish", "store", Tool.sample("course-1.0.pkg"),
      Tool.sample("course-audio-1.1.pkg"))
    let archives = tool.folder.path("store/targets/\(Self.course)/1.1")
    try FileManager.default.moveItem(atPath: archives, toPath: tool.folder.path("away"))
    try tool.fail(
      "get", Self.course, "--store", "store", "--library", "lib", "--quiet", saying: [Self.course])
    #expect(try tool.current() == [Self.course: "1.0"])
    #expect(try tool.unfinished().count == 1)

    try FileManager.default.moveItem(atPath: tool.folder.path("away"), toPath: archives)
    // If it were fetched again, the installed content would fail now.
    try FileManager.default.removeItem(
      atPath: tool.folder.path("store/targets/\(Self.course)/1.0"))
    try tool.succeed("get", Self.course, "--store", "store", "--library", "lib")
    #expect(try tool.current() == [Self.course: "1.0", Self.audio: "1.1"])
    #expect(try tool.unfinished().isEmpty)
  }

  @Test("An update does not fetch a content that was never installed")
  func updateLeavesOthersAlone() throws {
    let tool = try Tool.withStore()
    let first = try tool.makePackage(Self.course, "0.9", ["a.txt": Data("a".utf8)])
    try tool.succeed("store", "publish", "store", first)
    try tool.succeed("get", Self.course, "--store", "store", "--library", "lib")
    try tool.succeed(
      "store", "publish", "store", Tool.sample("course-1.0.pkg"),
      Tool.sample("course-audio-1.0.pkg"))
    let updated = try tool.succeed("update", "--store", "store", "--library", "lib")
    #expect(updated.output == "\(Self.course) 1.0: installed\n")
    #expect(try tool.current() == [Self.course: "1.0"])
  }

  @Test("A content's name is shown by inspect and store list, and accepted only once", .slow)
  func buildAndShow() throws {
    let tool = try Tool()
    try tool.write("words", to: "page.txt")
    try FileManager.default.createDirectory(
      atPath: tool.folder.path("folder/Contents"), withIntermediateDirectories: true)
    try tool.write("words", to: "folder/Contents/page.txt")
    let built = try tool.succeed(
      "package", "folder", "--output", "maps.pkg", "--product", Self.course, "--content",
      "com.example.course.maps", "--content-version", "3")
    #expect(built.output.contains("\(Self.course) (content com.example.course.maps) 3"))
    let seen = try tool.succeed("inspect", "maps.pkg", "--json").json()
    #expect(seen["contentIdentifier"] as? String == "com.example.course.maps")
    #expect(seen["productIdentifier"] as? String == Self.course)
    try tool.succeed("validate", "maps.pkg")

    try tool.succeed("store", "init", "store")
    try tool.succeed("store", "publish", "store", "maps.pkg", Tool.sample("course-1.0.pkg"))
    #expect(try tool.succeed("store", "list", "store").output.contains("com.example.course.maps"))
    try tool.succeed(
      "package", "folder", "--output", "stolen.pkg", "--product", "com.example.other",
      "--content", "com.example.course.maps", "--content-version", "4")
    try tool.fail(
      "store", "publish", "store", "stolen.pkg",
      saying: ["com.example.course.maps", Self.course, "[703]"])
    try tool.fail(
      "package", "folder", "--output", "bad.pkg", "--product", Self.course, "--content", "../x",
      "--content-version", "1", status: 2, saying: ["“../x” is not a product identifier"])
  }
}
