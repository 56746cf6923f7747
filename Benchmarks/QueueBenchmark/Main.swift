import Glibc

/// Measures the payment queue; `Benchmarks/run queue` runs one process per measurement.
@main
struct QueueBenchmark {
  static func main() async throws {
    let words = Array(CommandLine.arguments.dropFirst())
    guard words.count == 3, let count = Int(words[2]), count > 0 else { exitWithUsage() }
    switch words[0] {
    case "fill": try Idle.fill(words[1], count)
    case "open": try Idle.open(words[1], count)
    case "publish": try ManyDownloads.publish(words[1], count)
    case "downloads": try await ManyDownloads.run(words[1], count)
    case "delivers": try await Delivers.run(words[1], count)
    case "updates": try await Updates.run(words[1], count)
    case "churn": try await Updates.churn(words[1], rounds: count)
    case "queued": try await Queued.run(words[1], count)
    case "purchases": try TinyProducts.withoutContent(words[1], count)
    case "traced-purchases": try TinyProducts.withoutContent(words[1], count, comparing: false)
    case "traced-contents":
      try await TinyProducts.withContent(words[1], count, comparing: false)
    case "contents": try await TinyProducts.withContent(words[1], count)
    default: exitWithUsage()
    }
  }

  private static func exitWithUsage() -> Never {
    print(
      "Usage: HostedQueueBenchmark fill|open|publish|downloads|delivers|queued|updates|churn|"
        + "[traced-]purchases|[traced-]contents FOLDER COUNT")
    exit(2)
  }
}
