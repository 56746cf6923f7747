// swift-tools-version: 6.3
import PackageDescription

let settings: [SwiftSetting] = [
  .treatAllWarnings(as: .error),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

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

/// A module; its dependencies equal its row in Documentation/Architecture.md.
func module(
  _ name: String, in group: Group? = nil, _ dependencies: [Target.Dependency] = []
) -> Target {
  .target(
    name: name, dependencies: dependencies, path: group?.path(name), swiftSettings: settings)
}

func tool(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .executableTarget(
    name: name, dependencies: dependencies, path: Group.tools.path(name), swiftSettings: settings)
}

/// The module map of a C library from Debian.
func library(_ name: String, apt package: String) -> Target {
  .systemLibrary(name: name, path: Group.system.path(name), providers: [.apt([package])])
}

/// A program written for Apple's StoreKit, in the Swift of its time.
func storeKitExample(_ name: String) -> Target {
  .executableTarget(
    name: name, dependencies: ["StoreKit"], path: "Examples/StoreKit/\(name)",
    swiftSettings: [.swiftLanguageMode(.v5), .treatAllWarnings(as: .error)])
}

func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .testTarget(name: name, dependencies: dependencies + ["TestTraits"], swiftSettings: settings)
}

let package = Package(
  name: "HostedContent",
  products: [
    .library(name: "HostedContent", targets: ["HostedContent"]),
    .library(name: "ContentStore", targets: ["ContentStore"]),
    .library(name: "AppUpdate", targets: ["AppUpdate"]),
    .library(name: "StoreKit", targets: ["StoreKit"]),
    .library(name: "HostedContentTesting", targets: ["HostedContentTesting"]),
    .executable(name: "hostedcontent", targets: ["HostedContentTool"]),
    .executable(name: "tuf-client", targets: ["TUFClient"]),
  ],
  targets: [
    library("CArchive", apt: "libarchive-dev"),
    library("CDeflate", apt: "libdeflate-dev"),
    library("CSQLite", apt: "libsqlite3-dev"),
    library("CCrypto", apt: "libssl-dev"),
    library("CCurl", apt: "libcurl4-openssl-dev"),
    library("CPostgreSQL", apt: "libpq-dev"),
    .target(name: "CLinux", path: Group.system.path("CLinux")),
    .target(
      name: "CMicroHTTPD", path: Group.system.path("CMicroHTTPD"),
      linkerSettings: [.linkedLibrary("microhttpd"), .linkedLibrary("gnutls")]),

    module("ContentModel", in: .engine),
    module("Concurrency", in: .system, ["ContentModel", "CLinux"]),
    module("FileIO", in: .system, ["Concurrency", "ContentModel", "CLinux"]),
    module("Digests", in: .system, ["ContentModel", "CCrypto"]),
    module(
      "ContentTransfer", in: .engine,
      ["Concurrency", "ContentModel", "FileIO", "Digests", "CCurl", "CLinux"]),
    module(
      "ContentTrust", in: .engine, ["Concurrency", "ContentModel", "FileIO", "Digests", "CCrypto"]),
    module(
      "ContentPackage", in: .engine,
      ["Concurrency", "ContentModel", "FileIO", "Digests", "CArchive", "CDeflate"]),
    module("Database", in: .system, ["ContentModel", "FileIO", "CSQLite"]),
    module(
      "ContentJournal", in: .engine, ["Concurrency", "ContentModel", "FileIO", "Database"]),
    module(
      "StoreLedger", in: .engine,
      ["Concurrency", "ContentModel", "FileIO", "Database", "Digests", "ContentTrust"]),
    module(
      "ContentLibrary", in: .engine,
      ["Concurrency", "ContentModel", "FileIO", "Digests", "ContentPackage"]),
    module(
      "HostedContent", in: .engine,
      [
        "Concurrency", "ContentModel", "FileIO", "Digests", "ContentTransfer", "ContentTrust",
        "ContentPackage", "ContentJournal", "ContentLibrary", "StoreLedger",
      ]),
    module(
      "ContentStore", in: .publishing,
      ["Concurrency", "ContentModel", "FileIO", "Digests", "ContentPackage", "ContentTrust"]),
    module("AppUpdate", ["Concurrency", "ContentModel", "FileIO", "ContentTransfer"]),
    module("StoreKit", ["Concurrency", "HostedContent", "AppUpdate"]),
    module(
      "StoreServer", in: .serving,
      [
        "Concurrency", "ContentModel", "FileIO", "ContentTransfer", "AppUpdate", "CMicroHTTPD",
        "CLinux",
      ]),
    module(
      "PostgresLedger", in: .serving,
      ["Concurrency", "ContentModel", "StoreLedger", "CPostgreSQL"]),
    .target(name: "COpenAPI", path: Group.serving.path("COpenAPI")),
    module(
      "StoreAPI", in: .serving,
      [
        "Concurrency", "ContentModel", "Digests", "ContentTrust", "StoreLedger", "StoreServer",
        "COpenAPI",
      ]),
    module(
      "StoreAPIServer", in: .serving,
      [
        "Concurrency", "ContentModel", "FileIO", "Digests", "ContentTrust", "ContentTransfer",
        "HostedContent", "StoreLedger", "StoreServer", "StoreAPI",
      ]),
    module(
      "HostedContentTesting", in: .testing,
      [
        "Concurrency", "ContentModel", "FileIO", "Digests", "ContentPackage", "ContentStore",
        "HostedContent", "StoreLedger", "StoreServer", "StoreAPI", "StoreAPIServer",
      ]),
    tool(
      "HostedContentTool",
      [
        "Concurrency", "ContentModel", "FileIO", "Digests", "ContentTransfer", "ContentTrust",
        "ContentPackage", "ContentLibrary", "ContentStore", "HostedContent", "AppUpdate",
        "StoreLedger", "StoreServer", "StoreAPI", "StoreAPIServer", "PostgresLedger",
      ]),
    tool(
      "TUFClient", ["ContentModel", "FileIO", "Digests", "ContentTransfer", "ContentTrust"]),

    .executableTarget(
      name: "Bookshelf", dependencies: ["HostedContent"],
      path: "Examples/Bookshelf", swiftSettings: settings),
    .executableTarget(
      name: "AsyncBookshelf", dependencies: ["HostedContent"],
      path: "Examples/AsyncBookshelf", swiftSettings: settings),
    .executableTarget(
      name: "Members", dependencies: ["HostedContent"],
      path: "Examples/Members", swiftSettings: settings),
    storeKitExample("Keeper"),
    storeKitExample("Chooser"),
    storeKitExample("Course"),
    .executableTarget(
      name: "queue-benchmark",
      dependencies: [
        "Concurrency", "ContentModel", "FileIO", "ContentPackage", "ContentJournal", "ContentStore",
        "HostedContent", "StoreServer", "CSQLite",
      ],
      path: "Benchmarks/QueueBenchmark", swiftSettings: settings),
    .executableTarget(
      name: "trust-benchmark",
      dependencies: [
        "Concurrency", "ContentModel", "FileIO", "ContentTransfer", "ContentTrust", "ContentStore",
        "HostedContent",
      ],
      path: "Benchmarks/TrustBenchmark", swiftSettings: settings),
    .executableTarget(
      name: "sales-benchmark", dependencies: ["ContentModel", "FileIO"],
      path: "Benchmarks/SalesBenchmark", swiftSettings: settings),
    .executableTarget(
      name: "restore-benchmark",
      dependencies: [
        "ContentModel", "FileIO", "ContentPackage", "ContentStore", "HostedContent", "StoreLedger",
        "StoreAPI", "StoreAPIServer", "TestSupport",
      ],
      path: "Benchmarks/RestoreBenchmark", swiftSettings: settings),
    .executableTarget(
      name: "transfer-benchmark",
      dependencies: ["Concurrency", "ContentModel", "ContentTransfer", "Digests", "FileIO"],
      path: "Benchmarks/TransferBenchmark", swiftSettings: settings),
    .executableTarget(
      name: "fault-matrix",
      dependencies: [
        "ContentModel", "FileIO", "ContentPackage", "ContentStore", "HostedContent", "StoreServer",
        "TestSupport",
      ],
      path: "Benchmarks/FaultMatrix", swiftSettings: settings),

    .target(
      name: "FuzzTargets",
      dependencies: [
        "ContentModel", "FileIO", "ContentTransfer", "ContentPackage", "ContentTrust", "AppUpdate",
        "StoreServer",
      ],
      path: "Fuzz/FuzzTargets", swiftSettings: settings),
    .target(name: "CSpawn", path: "Tests/CSpawn"),
    .target(
      name: "TestSupport",
      dependencies: ["Concurrency", "ContentModel", "FileIO", "Digests", "CSpawn"],
      path: "Tests/TestSupport", swiftSettings: settings),
    // Separate from TestSupport, which programs use, too: they must not link the test library.
    .target(
      name: "TestTraits", dependencies: ["Concurrency", "TestSupport"], path: "Tests/TestTraits",
      swiftSettings: settings),
    .target(
      name: "Simulation",
      dependencies: [
        "Concurrency", "ContentModel", "FileIO", "Digests", "ContentTransfer", "ContentPackage",
        "ContentLibrary", "HostedContent", "StoreLedger", "TestSupport",
      ],
      path: "Tests/Simulation", swiftSettings: settings),
    .executableTarget(
      name: "simulate", dependencies: ["Simulation"], path: "Tests/SimulationTool",
      swiftSettings: settings),
    .target(
      name: "CrashPoints",
      dependencies: [
        "Concurrency", "ContentModel", "FileIO", "Digests", "ContentTrust", "ContentPackage",
        "ContentJournal", "ContentLibrary", "ContentStore", "HostedContent", "StoreLedger",
        "TestSupport",
      ],
      path: "Tests/CrashPoints", swiftSettings: settings),
    .executableTarget(
      name: "crash-driver",
      dependencies: ["Concurrency", "CrashPoints", "FileIO", "HostedContent", "CSQLite"],
      path: "Tests/CrashDriver", swiftSettings: settings),
    .executableTarget(
      name: "soak",
      dependencies: [
        "Concurrency", "ContentModel", "ContentLibrary", "ContentStore", "HostedContent",
        "CrashPoints",
        "TestSupport",
      ],
      path: "Tests/Soak", swiftSettings: settings),
    .target(
      name: "CTLSClient", path: "Tests/CTLSClient", linkerSettings: [.linkedLibrary("gnutls")]),
    tests("ContentModelTests", ["ContentModel", "TestSupport"]),
    tests("ConcurrencyTests", ["Concurrency", "TestSupport"]),
    tests("FileIOTests", ["Concurrency", "ContentModel", "FileIO", "TestSupport"]),
    tests("DigestsTests", ["ContentModel", "Digests"]),
    tests(
      "SimulationTests",
      [
        "Concurrency", "ContentModel", "FileIO", "ContentLibrary", "Simulation", "simulate",
        "TestSupport",
      ]),
    tests(
      "ContentTransferTests",
      [
        "Concurrency", "ContentModel", "FileIO", "Digests", "ContentTransfer", "TestSupport",
      ]),
    tests(
      "ContentTrustTests",
      [
        "Concurrency", "ContentModel", "FileIO", "Digests", "ContentTrust", "ContentStore",
        "HostedContent", "TestSupport",
      ]),
    tests(
      "ContentStoreTests",
      [
        "Concurrency", "ContentModel", "FileIO", "Digests", "ContentTrust", "ContentPackage",
        "ContentStore", "TestSupport",
      ]),
    tests("FuzzTargetsTests", ["FileIO", "FuzzTargets", "TestSupport"]),
    tests(
      "ContentPackageTests",
      [
        "Concurrency", "ContentModel", "FileIO", "Digests", "ContentPackage", "CDeflate",
        "TestSupport",
      ]),
    tests(
      "StoreAPITests",
      [
        "Concurrency", "ContentModel", "FileIO", "Digests", "ContentTrust", "StoreLedger",
        "StoreServer", "StoreAPI", "TestSupport",
      ]),
    tests(
      "StoreLedgerTests",
      [
        "Concurrency", "ContentModel", "FileIO", "Database", "StoreLedger", "PostgresLedger",
        "Simulation", "TestSupport",
      ]),
    tests(
      "HostedContentTests",
      [
        "Concurrency", "ContentModel", "FileIO", "Digests", "ContentTransfer", "ContentTrust",
        "ContentPackage", "Database", "ContentJournal", "ContentLibrary", "ContentStore",
        "HostedContent", "StoreLedger", "StoreServer", "CSQLite", "TestSupport",
      ]),
    tests(
      "CrashPointsTests",
      [
        "Concurrency", "ContentModel", "FileIO", "Database", "ContentJournal", "ContentStore",
        "HostedContent", "CrashPoints", "crash-driver", "TestSupport",
      ]),
    tests(
      "AppUpdateTests",
      ["Concurrency", "ContentModel", "FileIO", "AppUpdate", "StoreServer", "TestSupport"]),
    tests(
      "StoreServerTests",
      [
        "Concurrency", "ContentModel", "FileIO", "ContentTransfer", "StoreServer", "TestSupport",
        "CTLSClient",
      ]),
    tests(
      "StoreAPIServerTests",
      [
        "Concurrency", "ContentModel", "FileIO", "ContentStore", "HostedContent", "StoreLedger",
        "StoreAPI", "StoreServer", "StoreAPIServer", "TestSupport",
      ]),
    tests(
      "StoreKitTests",
      [
        "Concurrency", "StoreKit", "AppUpdate", "HostedContentTesting", "StoreServer",
        "TestSupport",
      ]),
    tests("HostedContentTestingTests", ["HostedContentTesting", "TestSupport"]),
    tests(
      "DocumentationTests",
      [
        "AppUpdate", "ContentStore", "HostedContent", "HostedContentTesting", "StoreKit",
        "StoreServer", "TestSupport",
      ]),
    tests(
      "HostedContentToolTests",
      [
        "Concurrency", "ContentModel", "FileIO", "Database", "Digests", "ContentTrust",
        "ContentJournal",
        "ContentStore", "HostedContent", "HostedContentTool", "TUFClient", "StoreLedger",
        "StoreServer", "StoreAPIServer", "Bookshelf",
        "AsyncBookshelf", "Keeper",
        "Chooser", "Course", "fault-matrix", "soak", "TestSupport",
      ]),
  ]
)
