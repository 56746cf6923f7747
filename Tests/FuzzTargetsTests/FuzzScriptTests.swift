import Foundation
import HostedTestSupport
import HostedTestTraits
import Testing

/// Runs `Scripts/fuzz` with compilers that only look at their arguments.
@Suite struct FuzzScriptTests {
  /// Fails without a source that exists; otherwise writes a program that prints its arguments.
  private static let compiler = """
    #!/bin/bash
    set -euo pipefail
    while [ $# -gt 0 ]; do
      case "$1" in
        -o) output=$2 ;;
        *.swift | *.c) [ -f "$1" ] && found=yes ;;
      esac
      shift
    done
    [ "$found" = yes ]
    printf '#!/bin/sh\\necho "$FUZZ_TARGET $*"\\n' >"$output"
    chmod +x "$output"

    """

  /// A copy of what the script reads, so that it does not change the build folder.
  private static func copy() throws -> TemporaryFolder {
    let folder = try TemporaryFolder()
    for name in ["Package.swift", "Scripts", "Sources", "Fuzz"] {
      try FileManager.default.copyItem(atPath: SourceTree.path(name), toPath: folder.path(name))
    }
    return folder
  }

  @Test(.slow) func `the script finds the sources of each module, and runs the target`() throws {
    let folder = try Self.copy()
    let tools = folder.path("tools")
    try FileManager.default.createDirectory(atPath: tools, withIntermediateDirectories: false)
    for name in ["swiftc", "clang"] {
      let path = "\(tools)/\(name)"
      try Data(Self.compiler.utf8).write(to: URL(filePath: path))
      try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
    }
    let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
    let end = try Program.run(
      folder.path("Scripts/fuzz"), ["package", "3"], environment: ["PATH": "\(tools):\(path)"])
    #expect(end.status == 0, "\(end.output)")
    #expect(end.output.contains("package -max_total_time=3 "), "\(end.output)")
  }

  @Test func `the script prints its targets for an unknown one`() throws {
    let end = try Program.run(SourceTree.path("Scripts/fuzz"), ["unknown", "3"])
    #expect(end.status == 2)
    #expect(end.output.contains("apps index metadata package"), "\(end.output)")
  }
}
