// swift-tools-version: 6.3
import PackageDescription

let settings: [SwiftSetting] = [
  .treatAllWarnings(as: .error),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

/// A module of ours; its dependencies are its row in Documentation/Architecture.md.
func module(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
  .target(name: name, dependencies: dependencies, swiftSettings: settings)
}

/// A program as it was written for Apple's StoreKit, in the Swift of its time.
func storeKitExample(_ name: String) -> Target {
  .executableTarget(
    name: name, dependencies: ["StoreKit"], path: "Examples/StoreKit/\(name)",
    swiftSettings: [.swiftLanguageMode(.v5), .treatAllWarnings(as: .error)])
}

func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .testTarget(name: name, dependencies: dependencies, swiftSettings: settings)
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
    .systemLibrary(name: "CArchive", providers: [.apt(["libarchive-dev"])]),
    .systemLibrary(name: "CDeflate", providers: [.apt(["libdeflate-dev"])]),
    .systemLibrary(name: "CSQLite", providers: [.apt(["libsqlite3-dev"])]),
    .systemLibrary(name: "CCrypto", providers: [.apt(["libssl-dev"])]),
    .systemLibrary(name: "CCurl", providers: [.apt(["libcurl4-openssl-dev"])]),
    .target(name: "CLinux"),
    .target(
      name: "CMicroHTTPD",
      linkerSettings: [.linkedLibrary("microhttpd"), .linkedLibrary("gnutls")]),

    module("Locks"),
    module("ContentModel"),
    module("FileIO", ["Locks", "ContentModel", "CLinux"]),
    module("Digests", ["ContentModel", "CCrypto"]),
    module(
      "ContentTransfer", ["Locks", "ContentModel", "FileIO", "Digests", "CCurl", "CLinux"]),
    module("ContentTrust", ["Locks", "ContentModel", "FileIO", "Digests", "CCrypto"]),
    module(
      "ContentPackage",
      ["Locks", "ContentModel", "FileIO", "Digests", "CArchive", "CDeflate"]),
    module("ContentJournal", ["Locks", "ContentModel", "FileIO", "CSQLite"]),
    module("ContentLibrary", ["Locks", "ContentModel", "FileIO", "Digests"]),
    module(
      "HostedContent",
      [
        "Locks", "ContentModel", "FileIO", "Digests", "ContentTransfer", "ContentTrust",
        "ContentPackage", "ContentJournal", "ContentLibrary",
      ]),
    module(
      "ContentStore", ["ContentModel", "FileIO", "Digests", "ContentPackage", "ContentTrust"]),
    module("AppUpdate", ["Locks", "ContentModel", "FileIO", "ContentTransfer"]),
    module("StoreKit", ["Locks", "HostedContent", "AppUpdate"]),
    module(
      "StoreServer",
      [
        "Locks", "ContentModel", "FileIO", "ContentTransfer", "AppUpdate", "CMicroHTTPD", "CLinux",
      ]),
    module(
      "HostedContentTesting",
      [
        "Locks", "ContentModel", "FileIO", "ContentPackage", "ContentStore", "HostedContent",
        "StoreServer",
      ]),
    .executableTarget(
      name: "HostedContentTool",
      dependencies: [
        "Locks", "ContentModel", "FileIO", "ContentPackage", "ContentLibrary", "ContentStore",
        "HostedContent", "AppUpdate", "StoreServer",
      ],
      swiftSettings: settings),
    .executableTarget(
      name: "TUFClient",
      dependencies: ["ContentModel", "FileIO", "Digests", "ContentTransfer", "ContentTrust"],
      swiftSettings: settings),

    .executableTarget(
      name: "Bookshelf", dependencies: ["HostedContent"],
      path: "Examples/Bookshelf", swiftSettings: settings),
    .executableTarget(
      name: "AsyncBookshelf", dependencies: ["HostedContent"],
      path: "Examples/AsyncBookshelf", swiftSettings: settings),
    storeKitExample("Keeper"),
    storeKitExample("Chooser"),
    storeKitExample("Course"),
    .executableTarget(
      name: "queue-benchmark",
      dependencies: [
        "Locks", "ContentModel", "FileIO", "ContentPackage", "ContentJournal", "ContentStore",
        "HostedContent", "StoreServer", "CSQLite",
      ],
      path: "Benchmarks/QueueBenchmark", swiftSettings: settings),
    .executableTarget(
      name: "trust-benchmark",
      dependencies: ["Locks", "ContentModel", "FileIO", "Digests", "ContentTrust"],
      path: "Benchmarks/TrustBenchmark", swiftSettings: settings),

    .executableTarget(
      name: "transfer-benchmark",
      dependencies: ["Locks", "ContentModel", "ContentTransfer", "Digests", "FileIO"],
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
      name: "TestSupport", dependencies: ["Locks", "ContentModel", "FileIO", "CSpawn"],
      path: "Tests/TestSupport", swiftSettings: settings),
    // Apart from TestSupport, which programs use too: they are not to link the test library.
    .target(
      name: "TestTraits", dependencies: ["Locks"], path: "Tests/TestTraits",
      swiftSettings: settings),
    .target(
      name: "Simulation",
      dependencies: [
        "ContentModel", "FileIO", "Digests", "ContentTransfer", "ContentPackage", "ContentLibrary",
        "HostedContent", "TestSupport",
      ],
      path: "Tests/Simulation", swiftSettings: settings),
    .executableTarget(
      name: "simulate", dependencies: ["Simulation"], path: "Tests/SimulationTool",
      swiftSettings: settings),
    .target(
      name: "CrashPoints",
      dependencies: [
        "Locks", "ContentModel", "FileIO", "Digests", "ContentTrust", "ContentPackage",
        "ContentJournal", "ContentLibrary", "ContentStore", "HostedContent", "TestSupport",
      ],
      path: "Tests/CrashPoints", swiftSettings: settings),
    .executableTarget(
      name: "crash-driver",
      dependencies: ["Locks", "CrashPoints", "FileIO", "HostedContent", "CSQLite"],
      path: "Tests/CrashDriver", swiftSettings: settings),
    .executableTarget(
      name: "soak",
      dependencies: [
        "Locks", "ContentModel", "ContentLibrary", "ContentStore", "HostedContent", "CrashPoints",
        "TestSupport",
      ],
      path: "Tests/Soak", swiftSettings: settings),
    .target(
      name: "CTLSClient", path: "Tests/CTLSClient", linkerSettings: [.linkedLibrary("gnutls")]),
    tests("ContentModelTests", ["ContentModel", "TestSupport"]),
    tests("FileIOTests", ["Locks", "ContentModel", "FileIO", "Digests", "TestSupport"]),
    tests(
      "SimulationTests",
      [
        "Locks", "ContentModel", "FileIO", "ContentLibrary", "Simulation", "simulate",
        "TestSupport",
      ]),
    tests(
      "ContentTransferTests",
      ["Locks", "ContentModel", "FileIO", "Digests", "ContentTransfer", "TestSupport"]),
    tests(
      "ContentTrustTests",
      [
        "Locks", "ContentModel", "FileIO", "Digests", "ContentTrust", "ContentPackage",
        "ContentStore", "HostedContent", "FuzzTargets", "TestSupport", "TestTraits",
      ]),
    tests(
      "ContentPackageTests",
      [
        "Locks", "ContentModel", "FileIO", "Digests", "ContentPackage", "CDeflate", "TestSupport",
        "TestTraits",
      ]),
    tests(
      "HostedContentTests",
      [
        "Locks", "ContentModel", "FileIO", "Digests", "ContentTransfer", "ContentTrust",
        "ContentPackage", "ContentJournal", "ContentLibrary", "ContentStore", "HostedContent",
        "StoreServer", "CSQLite", "TestSupport",
      ]),
    tests(
      "ProofTests",
      [
        "Locks", "ContentModel", "FileIO", "ContentJournal", "ContentStore", "HostedContent",
        "CrashPoints", "crash-driver", "TestSupport",
      ]),
    tests(
      "AppUpdateTests",
      ["Locks", "ContentModel", "FileIO", "AppUpdate", "StoreServer", "TestSupport"]),
    tests(
      "StoreServerTests",
      [
        "Locks", "ContentModel", "FileIO", "ContentTransfer", "StoreServer", "TestSupport",
        "CTLSClient",
      ]),
    tests(
      "StoreKitTests",
      ["Locks", "StoreKit", "AppUpdate", "HostedContentTesting", "StoreServer", "TestSupport"]),
    tests("HostedContentTestingTests", ["HostedContentTesting"]),
    tests(
      "DocumentationTests",
      [
        "AppUpdate", "ContentStore", "HostedContent", "HostedContentTesting", "StoreKit",
        "StoreServer",
      ]),
    tests(
      "ToolTests",
      [
        "Locks", "ContentModel", "FileIO", "ContentTrust", "ContentJournal", "ContentStore",
        "HostedContent", "HostedContentTool", "TUFClient", "StoreServer", "Bookshelf",
        "AsyncBookshelf", "Keeper",
        "Chooser", "Course", "fault-matrix", "soak", "TestSupport", "TestTraits",
      ]),
  ]
)
