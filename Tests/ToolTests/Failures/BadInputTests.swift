import HostedModel
import Foundation
import HostedTestSupport
import HostedTestTraits
import Testing

/// Invalid packages, stores and libraries cause a clear error and no other change.
@Suite("Bad input")
struct ToolBadInputTests {
  @Test("An invalid package is reported with a finding", .slow, arguments: Tool.badSamples)
  func validate(path: String) throws {
    let tool = try Tool()
    let result = try tool.run("validate", path)
    #expect(result.status == 1)
    #expect(result.output.hasPrefix("\(path): "))
    #expect(result.errors == "")
    let report = try tool.run("validate", path, "--json").json()
    #expect(report["isValid"] as? Bool == false)
    #expect((report["findings"] as? [Any])?.isEmpty == false)
  }

  @Test(
    "A file that is not a package is a finding with the rule that it breaks",
    arguments: [("070701", "format-cpio"), ("text", "format-unknown"), ("", "format-unknown")])
  func form(text: String, rule: String) throws {
    let tool = try Tool.withStore()
    try tool.write(text, to: "file.pkg")
    let report = try tool.run("validate", "file.pkg", "--json").json()
    let finding = try #require((report["findings"] as? [[String: Any]])?.first)
    #expect(finding["rule"] as? String == rule)
    let message = try #require(finding["message"] as? String)
    #expect(message.hasPrefix("The file is "))
    try tool.fail(
      "store", "publish", "store", "file.pkg", saying: ["file.pkg: \(message). ", "[600]"])
  }

  @Test(
    "An invalid package is not unpacked: no folder, nothing outside", .slow,
    arguments: Tool.badSamples)
  func unpack(path: String) throws {
    let tool = try Tool()
    try FileManager.default.createDirectory(
      atPath: tool.folder.path("work/deep"), withIntermediateDirectories: true)
    let outside = "/tmp/hostedcontent-zz-out.txt"
    try tool.fail("unpack", path, "--into", "work/deep/out", saying: [path])
    #expect(Set(try tool.tree().keys) == ["work", "work/deep"])
    #expect(!FileManager.default.fileExists(atPath: outside))
    // Without the content rules, safe packages are unpacked, and unsafe ones still leave nothing.
    let result = try tool.run("unpack", path, "--into", "work/deep/out", "--any-archive")
    let isSafe = ["plist", "version", "executable"].contains { path.contains($0) }
    #expect((result.status == 0) == isSafe, "\(result.errors)")
    if !isSafe { #expect(Set(try tool.tree().keys) == ["work", "work/deep"]) }
    #expect(!FileManager.default.fileExists(atPath: outside))
  }

  @Test("An invalid package refuses the whole publication, and the store does not change", .slow)
  func publish() throws {
    let tool = try Tool.withBook()
    let before = try tool.tree("store")
    for path in Tool.badSamples {
      try tool.fail("store", "publish", "store", path, saying: [path])
      let good = Tool.sample("many-files.pkg")
      try tool.fail("store", "publish", "store", good, path, saying: [path])
    }
    #expect(try tool.tree("store") == before)
  }

  @Test("Other bytes for a published version, invalid names and missing files are refused", .slow)
  func publishRefusals() throws {
    let tool = try Tool.withBook()
    let before = try tool.tree("store")
    let other = try tool.makePackage(Tool.chapter1, "1.0", ["other.txt": Data("other".utf8)])
    try tool.fail("store", "publish", "store", other, saying: [Tool.chapter1, "1.0", "[702]"])
    try FileManager.default.copyItem(
      atPath: Tool.sample("many-files.pkg"), toPath: tool.folder.path("many.zip"))
    try tool.fail("store", "publish", "store", "many.zip", saying: ["many.zip", ".pkg"])
    try tool.fail("store", "publish", "store", "nofile.pkg", saying: ["nofile.pkg"])
    try tool.fail("store", "publish", "nowhere", other, saying: ["nowhere"])
    try tool.fail(
      "store", "add", "store", Tool.chapter1, "--price", "cheap", status: 2, saying: ["“cheap”"])
    for price in ["1,50", "1.", "", "1.2.3", "-1"] {
      try tool.fail("store", "add", "store", Tool.chapter1, "--price=\(price)", status: 2)
    }
    try tool.fail(
      "store", "add", "store", "x", "--type", "odd", status: 2,
      saying: ["--type", "hostedcontent store add --help"])
    try tool.fail("store", "add", "store", "../x", status: 2, saying: ["“../x”"])
    try tool.fail("store", "init", "store", saying: ["already a store"])
    #expect(try tool.tree("store") == before)
    #expect(!tool.exists("nowhere"))
  }

  @Test("A missing or damaged store, and a file, have their own errors", .slow)
  func stores() throws {
    let tool = try Tool.withBook()
    try tool.write("text", to: "file")
    for store in ["nowhere", "file"] {
      for words in [
        ["products"], ["get", Tool.chapter1, "--library", "lib"],
        ["updates", "--library", "lib"], ["update", "--library", "lib"],
      ] {
        let result = try tool.run(words + ["--store", store])
        #expect(result.status == 1)
        #expect(result.output == "")
        #expect(result.errors.contains(store), "\(result.errors)")
      }
      try tool.fail("store", "list", store, saying: [store])
    }
    try tool.succeed("get", Tool.chapter1, "--store", "store", "--library", "lib")
    try tool.write("{}", to: "store/metadata/timestamp.json")
    for words in [["products"], ["get", Tool.chapter2, "--library", "lib"]] {
      let result = try tool.run(words + ["--store", "store"])
      #expect(result.status == 1)
      #expect(result.errors.contains("timestamp"), "\(result.errors)")
    }
    // Installed content does not change.
    try tool.succeed("verify", "--library", "lib")
    #expect(try tool.current() == [Tool.chapter1: "1.0"])
  }

  @Test(
    "A damaged archive only fails its product, and the next run installs it when repaired", .slow)
  func damagedArchive() throws {
    let tool = try Tool.withBook()
    let folder = "store/targets/\(Tool.chapter2)/1.0"
    let name = try #require(
      try FileManager.default.contentsOfDirectory(atPath: tool.folder.path(folder))
        .first { $0.hasSuffix(".pkg") })
    let path = tool.folder.path("\(folder)/\(name)")
    let right = try Data(contentsOf: URL(filePath: path))
    var wrong = right
    wrong[wrong.count / 2] ^= 1
    try wrong.write(to: URL(filePath: path))
    let words = ["get", Tool.chapter1, Tool.chapter2, "--store", "store", "--library", "lib"]
    let result = try tool.run(words)
    #expect(result.status == 1)
    #expect(result.errors.contains(Tool.chapter2) && result.errors.contains("[201]"))
    #expect(try tool.current() == [Tool.chapter1: "1.0"])
    #expect(try tool.unfinished().count == 1)
    let queue = try tool.succeed("queue", "--library", "lib").output
    #expect(queue.contains("failed") && queue.contains("[201]"))
    try right.write(to: URL(filePath: path))
    let again = try tool.run(words)
    #expect(again.status == 0, "\(again.errors)")
    #expect(!again.errors.contains("failed"), "an earlier run's failure is not reported again")
    #expect(try tool.unfinished().isEmpty)
  }

  @Test("A missing or invalid library is an error of every command that needs one", .slow)
  func libraries() throws {
    let tool = try Tool.withBook()
    try tool.write("text", to: "file")
    for library in ["nolib", "file", "store"] {
      for words in [
        ["list"], ["queue"], ["verify"], ["updates", "--store", "store"],
        ["update", "--store", "store"],
      ] {
        let result = try tool.run(words + ["--library", library])
        #expect(result.status == 1, "\(words) \(library)")
        #expect(result.output == "")
        #expect(result.errors.contains("/\(library)"), "\(result.errors)")
      }
    }
    try tool.fail("get", Tool.chapter1, "--store", "store", "--library", "file", saying: ["/file"])
    #expect(!tool.exists("nolib"), "a mistyped library is not created")
  }

  @Test("Outputs into missing folders, onto folders, or without a name are refused", .slow)
  func outputs() throws {
    let tool = try Tool()
    let source = Tool.sample("sources/chapter1-1.0")
    let more = ["--product", "a", "--content-version", "1"]
    try FileManager.default.createDirectory(
      atPath: tool.folder.path("folder"), withIntermediateDirectories: false)
    for (output, status) in [("no/a.pkg", 1), ("folder", 2), ("folder/", 2), ("..", 2), ("", 2)] {
      let result = try tool.run(["package", source, "--output", output] + more)
      #expect(result.status == Int32(status), "\(output)")
      #expect(result.output == "")
    }
    let package = Tool.sample("chapter1-1.0.pkg")
    for (output, status) in [("no/out", 1), ("folder", 1), ("folder/", 1), (".", 2), ("/", 2)] {
      let result = try tool.run("unpack", package, "--into", output)
      #expect(result.status == Int32(status), "\(output)")
      #expect(result.output == "")
    }
    try tool.fail("package", "no", "--output", "a.pkg", saying: ["no"])
    try tool.fail("inspect", "no.pkg", saying: ["no.pkg"])
    try tool.fail("inspect", "folder", saying: ["folder"])
    #expect(Set(try tool.tree().keys) == ["folder"])
    // A name that stores do not accept is reported at once.
    let named = try tool.run(["package", source, "--output", "a.zip"] + more)
    #expect(named.status == 0 && named.errors.contains(".pkg"))
  }

  @Test("Verify reports each changed, missing and added file, and no others")
  func verify() throws {
    let tool = try Tool.withBook()
    try tool.succeed("get", Tool.chapter1, Tool.chapter2, "--store", "store", "--library", "lib")
    let contents = "lib/products/\(Tool.chapter1)/1.0/Contents"
    for path in [contents, "\(contents)/page-1.txt", "\(contents)/page-2.txt"] {
      try tool.makeWritable(path)
    }
    var page = Array(
      try Data(contentsOf: URL(filePath: tool.folder.path("\(contents)/page-1.txt"))))
    page[3] ^= 1
    let handle = try FileHandle(
      forWritingTo: URL(filePath: tool.folder.path("\(contents)/page-1.txt")))
    try handle.write(contentsOf: Data(page))
    try handle.close()
    try FileManager.default.removeItem(atPath: tool.folder.path("\(contents)/page-2.txt"))
    try tool.write("added", to: "\(contents)/added.txt")
    let result = try tool.run("verify", "--library", "lib")
    #expect(result.status == 1)
    for line in [
      "\(Tool.chapter1) 1.0 Contents/page-1.txt: changed",
      "\(Tool.chapter1) 1.0 Contents/page-2.txt: missing",
      "\(Tool.chapter1) 1.0 Contents/added.txt: unexpected",
      "2 versions verified, 3 differences",
    ] {
      #expect(result.output.contains("\(line)\n"), "\(result.output)")
    }
    let damages = try #require(
      try tool.run("verify", "--library", "lib", "--json").json()["damages"] as? [[String: Any]])
    #expect(damages.count == 3)
    #expect(
      Set(damages.first?.keys.map(\.self) ?? []) == [
        "contentIdentifier", "version", "path", "problem",
      ])
    try tool.succeed("verify", Tool.chapter2, "--library", "lib")
    try tool.fail("verify", "nope", "--library", "lib", saying: ["nope"])
  }

  @Test("Verify reports a missing current")
  func verifyDangling() throws {
    let tool = try Tool.withBook()
    try tool.succeed("get", Tool.chapter1, "--store", "store", "--library", "lib")
    let current = "lib/products/\(Tool.chapter1)/current"
    try FileManager.default.removeItem(atPath: tool.folder.path(current))
    let result = try tool.run("verify", "--library", "lib")
    #expect(result.status == 1)
    #expect(result.output.contains("current: dangling"))
    // The next get sets it to the installed version.
    try tool.succeed("get", Tool.chapter1, "--store", "store", "--library", "lib")
    #expect(try tool.current() == [Tool.chapter1: "1.0"])
  }

  @Test("Verify reports a version without its folder")
  func verifyMissingFolder() throws {
    let tool = try Tool.withBook()
    try tool.succeed("get", Tool.chapter1, "--store", "store", "--library", "lib")
    try FileManager.default.moveItem(
      atPath: tool.folder.path("lib/products/\(Tool.chapter1)/1.0"),
      toPath: tool.folder.path("away"))
    let result = try tool.run("verify", "--library", "lib")
    #expect(result.status == 1)
    #expect(result.output.contains("\(Tool.chapter1) 1.0 the whole folder: missing\n"))
    // The next get restores it.
    try tool.succeed("get", Tool.chapter1, "--store", "store", "--library", "lib")
    try tool.succeed("verify", "--library", "lib")
  }

  @Test("A folder with other files is not made a library, and does not change")
  func folderOfAUser() throws {
    let tool = try Tool.withBook()
    for folder in ["staging/mydata", "proj/products"] {
      try FileManager.default.createDirectory(
        atPath: tool.folder.path("proj/\(folder)"), withIntermediateDirectories: true)
    }
    try tool.write("A thesis", to: "proj/staging/mydata/thesis.txt")
    let before = try tool.tree("proj")
    try tool.fail(
      "get", Tool.chapter1, "--store", "store", "--library", "proj", saying: ["staging", "[316]"])
    #expect(try tool.tree("proj") == before)
  }
}
