// swift-tools-version: 6.3
import PackageDescription

let settings: [SwiftSetting] = [
  .treatAllWarnings(as: .error),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

let libraries = ["HostedContent", "ContentStore", "AppUpdate", "StoreKit", "HostedContentTesting"]

/// The name of the target in a folder.
///
/// SwiftPM compares target names over all packages of a program, so targets that are not products
/// begin with `Hosted`. Their folders do not.
func target(_ folder: String) -> String {
  libraries.contains(folder) || folder.hasPrefix("Hosted") ? folder : "Hosted" + folder
}

func dependencies(_ folders: [String]) -> [Target.Dependency] {
  folders.map { .byName(name: target($0)) }
}

/// A folder of Sources with related modules.
enum Group: String {
  case engine = "Engine"
  case publishing = "Publishing"
  case serving = "Serving"
  case system = "System"
  case testing = "Testing"
  case tools = "Tools"

  func path(_ name: String) -> String { "Sources/\(rawValue)/\(name)" }
}

/// A module; `Scripts/check-imports` compares its dependencies with its imports.
func module(_ name: String, in group: Group? = nil, _ uses: [String] = []) -> Target {
  .target(
    name: target(name), dependencies: dependencies(uses),
    path: group?.path(name) ?? "Sources/\(name)", swiftSettings: settings)
}

func tool(_ name: String, _ uses: [String]) -> Target {
  program(name, at: Group.tools.path(name), uses)
}

/// The module map of a C library from Debian.
func library(_ name: String, apt package: String) -> Target {
  .systemLibrary(
    name: target(name), path: Group.system.path(name), providers: [.apt([package])])
}

/// C code of this package.
func cTarget(_ name: String, at path: String, linking libraries: [String] = []) -> Target {
  .target(
    name: target(name), path: path, linkerSettings: libraries.map { .linkedLibrary($0) })
}

func program(_ name: String, at path: String, _ uses: [String]) -> Target {
  .executableTarget(
    name: target(name), dependencies: dependencies(uses), path: path, swiftSettings: settings)
}

/// A program written for Apple's StoreKit, in the Swift of its time.
func storeKitExample(_ name: String) -> Target {
  .executableTarget(
    name: target(name), dependencies: ["StoreKit"], path: "Examples/StoreKit/\(name)",
    swiftSettings: [.swiftLanguageMode(.v5), .treatAllWarnings(as: .error)])
}

/// A module that tests and their programs share.
func support(_ name: String, at path: String, _ uses: [String]) -> Target {
  .target(
    name: target(name), dependencies: dependencies(uses), path: path, swiftSettings: settings)
}

func tests(_ name: String, _ uses: [String]) -> Target {
  .testTarget(
    name: target(name), dependencies: dependencies(uses + ["TestTraits"]), path: "Tests/\(name)",
    swiftSettings: settings)
}

let package = Package(
  name: "HostedContent",
  products: libraries.map { .library(name: $0, targets: [$0]) } + [
    .executable(name: "hostedcontent", targets: ["HostedContentTool"]),
    .executable(name: "tuf-client", targets: [target("TUFClient")]),
  ],
  targets: [
    library("CArchive", apt: "libarchive-dev"),
    library("CDeflate", apt: "libdeflate-dev"),
    library("CSQLite", apt: "libsqlite3-dev"),
    library("CCrypto", apt: "libssl-dev"),
    library("CCurl", apt: "libcurl4-openssl-dev"),
    library("CPostgreSQL", apt: "libpq-dev"),
    cTarget("CLinux", at: Group.system.path("CLinux")),
    cTarget(
      "CMicroHTTPD", at: Group.system.path("CMicroHTTPD"), linking: ["microhttpd", "gnutls"]),

    module("Model", in: .engine),
    module("Concurrency", in: .system, ["Model", "CLinux"]),
    module("FileIO", in: .system, ["Concurrency", "Model", "CLinux"]),
    module("Digests", in: .system, ["Model", "CCrypto"]),
    module("HTTPValues", in: .engine, ["Model"]),
    module(
      "Transfer", in: .engine,
      ["Concurrency", "Model", "HTTPValues", "FileIO", "Digests", "CCurl", "CLinux"]),
    module(
      "Trust", in: .engine, ["Concurrency", "Model", "FileIO", "Digests", "CCrypto"]),
    module(
      "Package", in: .engine,
      ["Concurrency", "Model", "FileIO", "Digests", "CArchive", "CDeflate"]),
    module("Database", in: .system, ["Model", "FileIO", "CSQLite"]),
    module(
      "Journal", in: .engine, ["Concurrency", "Model", "FileIO", "Database"]),
    module(
      "Shop", in: .engine,
      ["Concurrency", "Model", "FileIO", "Database", "Digests"]),
    module(
      "Library", in: .engine,
      ["Concurrency", "Model", "FileIO", "Digests", "Package"]),
    module(
      "Catalog", in: .engine,
      ["Concurrency", "Model", "HTTPValues", "FileIO", "Digests", "Transfer", "Trust"]),
    module(
      "Selling", in: .engine, ["Model", "Trust", "Shop", "Catalog"]),
    module(
      "StoreClient", in: .engine,
      [
        "Concurrency", "Model", "HTTPValues", "FileIO", "Transfer", "Trust", "Shop", "Selling",
        "Catalog",
      ]),
    module(
      "HostedContent", in: .engine,
      [
        "Concurrency", "Model", "FileIO", "Transfer", "Trust",
        "Package", "Journal", "Library", "Shop", "Selling", "StoreClient", "Catalog",
      ]),
    module(
      "ContentStore", in: .publishing,
      ["Concurrency", "Model", "FileIO", "Digests", "Package", "Trust"]),
    module(
      "HostCheck", in: .publishing,
      ["Model", "HTTPValues", "Digests", "Transfer", "Trust", "Catalog"]),
    module("AppUpdate", ["Concurrency", "Model", "HTTPValues", "FileIO", "Transfer"]),
    module("StoreKit", ["Concurrency", "HostedContent", "AppUpdate"]),
    module(
      "FileServer", in: .serving,
      [
        "Concurrency", "Model", "HTTPValues", "FileIO", "AppUpdate", "CMicroHTTPD",
        "CLinux",
      ]),
    module(
      "PostgresLedger", in: .serving,
      ["Concurrency", "Model", "Shop", "CPostgreSQL"]),
    cTarget("COpenAPI", at: Group.serving.path("COpenAPI")),
    module(
      "StoreAPI", in: .serving,
      [
        "Concurrency", "Model", "HTTPValues", "Digests", "Trust", "Shop", "COpenAPI",
      ]),
    module(
      "StoreServer", in: .serving,
      [
        "Concurrency", "Model", "HTTPValues", "FileIO", "Digests", "Transfer",
        "HostedContent", "Shop", "FileServer", "StoreAPI",
      ]),
    module(
      "HostedContentTesting", in: .testing,
      [
        "Concurrency", "Model", "FileIO", "Digests", "Package", "ContentStore",
        "HostedContent", "Shop", "FileServer", "StoreAPI", "StoreServer",
      ]),
    tool(
      "HostedContentTool",
      [
        "Concurrency", "Model", "HTTPValues", "FileIO", "Digests", "Transfer", "Trust",
        "Package", "Library", "ContentStore", "HostCheck", "HostedContent", "AppUpdate",
        "Shop", "FileServer", "StoreAPI", "StoreServer", "PostgresLedger",
      ]),
    tool(
      "TUFClient", ["Model", "FileIO", "Digests", "Transfer", "Trust"]),

    program("Bookshelf", at: "Examples/Bookshelf", ["HostedContent"]),
    program("AsyncBookshelf", at: "Examples/AsyncBookshelf", ["HostedContent"]),
    program("Members", at: "Examples/Members", ["HostedContent"]),
    storeKitExample("Keeper"),
    storeKitExample("Chooser"),
    storeKitExample("Course"),
    program(
      "QueueBenchmark", at: "Benchmarks/QueueBenchmark",
      [
        "Concurrency", "Model", "FileIO", "Package", "Journal", "ContentStore",
        "HostedContent", "FileServer", "CSQLite",
      ]),
    program(
      "TrustBenchmark", at: "Benchmarks/TrustBenchmark",
      [
        "Concurrency", "Model", "FileIO", "Transfer", "Trust", "ContentStore",
        "HostedContent",
      ]),
    program("SalesBenchmark", at: "Benchmarks/SalesBenchmark", ["Model", "FileIO"]),
    program(
      "RestoreBenchmark", at: "Benchmarks/RestoreBenchmark",
      [
        "Model", "FileIO", "Package", "ContentStore", "HostedContent", "Shop",
        "StoreAPI", "StoreServer", "TestSupport",
      ]),
    program(
      "TransferBenchmark", at: "Benchmarks/TransferBenchmark",
      ["Concurrency", "Model", "Transfer", "Digests", "FileIO"]),
    program(
      "FaultMatrix", at: "Benchmarks/FaultMatrix",
      [
        "Model", "FileIO", "Package", "ContentStore", "HostedContent", "FileServer",
        "TestSupport",
      ]),

    support(
      "FuzzTargets", at: "Fuzz/FuzzTargets",
      [
        "Model", "HTTPValues", "FileIO", "Transfer", "Package", "Trust", "AppUpdate",
        "FileServer",
      ]),
    cTarget("CSpawn", at: "Tests/CSpawn"),
    support(
      "TestSupport", at: "Tests/TestSupport",
      ["Concurrency", "Model", "FileIO", "Digests", "CSpawn"]),
    // Separate from TestSupport, which programs use, too: they must not link the test library.
    support("TestTraits", at: "Tests/TestTraits", ["Concurrency", "TestSupport"]),
    support(
      "Simulation", at: "Tests/Simulation",
      [
        "Concurrency", "Model", "FileIO", "Digests", "Transfer", "Package",
        "Library", "HostedContent", "Shop", "TestSupport",
      ]),
    program("SimulationTool", at: "Tests/SimulationTool", ["Simulation"]),
    support(
      "CrashPoints", at: "Tests/CrashPoints",
      [
        "Concurrency", "Model", "FileIO", "Digests", "Trust", "Package",
        "Journal", "Library", "ContentStore", "HostedContent", "Shop",
        "TestSupport",
      ]),
    program(
      "CrashDriver", at: "Tests/CrashDriver",
      ["Concurrency", "CrashPoints", "FileIO", "HostedContent", "CSQLite"]),
    program(
      "Soak", at: "Tests/Soak",
      [
        "Concurrency", "Model", "Library", "ContentStore", "HostedContent",
        "CrashPoints",
        "TestSupport",
      ]),
    cTarget("CTLSClient", at: "Tests/CTLSClient", linking: ["gnutls"]),
    tests("ModelTests", ["Model", "TestSupport"]),
    tests("ConcurrencyTests", ["Concurrency", "TestSupport"]),
    tests("FileIOTests", ["Concurrency", "Model", "FileIO", "TestSupport"]),
    tests("DigestsTests", ["Model", "Digests"]),
    tests(
      "SimulationTests",
      [
        "Concurrency", "Model", "FileIO", "Library", "Simulation", "SimulationTool",
        "TestSupport",
      ]),
    tests(
      "TransferTests",
      [
        "Concurrency", "Model", "HTTPValues", "FileIO", "Digests", "Transfer", "TestSupport",
      ]),
    tests(
      "TrustTests",
      [
        "Concurrency", "Model", "FileIO", "Digests", "Trust", "ContentStore",
        "HostedContent", "TestSupport",
      ]),
    tests(
      "ContentStoreTests",
      [
        "Concurrency", "Model", "FileIO", "Digests", "Trust", "Package",
        "ContentStore", "TestSupport",
      ]),
    tests("FuzzTargetsTests", ["FileIO", "FuzzTargets", "TestSupport"]),
    tests(
      "PackageTests",
      [
        "Concurrency", "Model", "FileIO", "Digests", "Package", "CDeflate",
        "TestSupport",
      ]),
    tests(
      "StoreAPITests",
      [
        "Concurrency", "Model", "HTTPValues", "FileIO", "Digests", "Trust", "Shop", "StoreAPI",
        "TestSupport",
      ]),
    tests(
      "LedgerTests",
      [
        "Concurrency", "Model", "FileIO", "Database", "Shop", "PostgresLedger",
        "Simulation", "TestSupport",
      ]),
    tests(
      "HostedContentTests",
      [
        "Concurrency", "Model", "HTTPValues", "FileIO", "Digests", "Transfer", "Trust",
        "Package", "Database", "Journal", "Library", "ContentStore", "HostCheck",
        "HostedContent", "StoreClient", "Shop", "FileServer", "CSQLite", "TestSupport",
      ]),
    tests(
      "CrashPointsTests",
      [
        "Concurrency", "Model", "FileIO", "Database", "Journal", "ContentStore",
        "HostedContent", "CrashPoints", "CrashDriver", "TestSupport",
      ]),
    tests(
      "AppUpdateTests",
      ["Concurrency", "Model", "FileIO", "AppUpdate", "FileServer", "TestSupport"]),
    tests(
      "FileServerTests",
      [
        "Concurrency", "Model", "HTTPValues", "FileIO", "FileServer", "TestSupport",
        "CTLSClient",
      ]),
    tests(
      "StoreServerTests",
      [
        "Concurrency", "Model", "HTTPValues", "FileIO", "Digests", "ContentStore", "HostedContent",
        "Shop",
        "StoreAPI", "FileServer", "StoreServer", "TestSupport",
      ]),
    tests(
      "StoreKitTests",
      [
        "Concurrency", "StoreKit", "AppUpdate", "HostedContentTesting", "FileServer",
        "TestSupport",
      ]),
    tests("HostedContentTestingTests", ["HostedContentTesting", "TestSupport"]),
    tests(
      "DocumentationTests",
      [
        "AppUpdate", "ContentStore", "HostedContent", "HostedContentTesting", "StoreKit",
        "HTTPValues", "FileServer", "TestSupport",
      ]),
    tests(
      "ToolTests",
      [
        "Concurrency", "Model", "HTTPValues", "FileIO", "Database", "Digests", "Trust",
        "Journal",
        "ContentStore", "HostedContent", "HostedContentTool", "TUFClient", "Shop",
        "FileServer", "StoreServer", "Bookshelf",
        "AsyncBookshelf", "Keeper",
        "Chooser", "Course", "FaultMatrix", "Soak", "TestSupport",
      ]),
  ]
)
