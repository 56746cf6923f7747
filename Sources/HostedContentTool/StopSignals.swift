import ContentModel
import Dispatch
import Glibc
import Synchronization

/// SIGINT and SIGTERM as a wish to stop cleanly.
// Sendable because the sources are set once, in the initialiser.
final class StopSignals: @unchecked Sendable {
  private let handler = Mutex<(@Sendable (ContentError) -> Void)?>(nil)
  private var sources: [any DispatchSourceSignal] = []

  init() {
    for number in [SIGINT, SIGTERM] {
      // The default action would end the process before the source is asked.
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number)
      source.setEventHandler { [weak self] in self?.stop() }
      source.resume()
      sources.append(source)
    }
  }

  var onSignal: (@Sendable (ContentError) -> Void)? {
    get { handler.withLock { $0 } }
    set { handler.withLock { $0 = newValue } }
  }

  private func stop() {
    onSignal?(
      ContentError(
        .stopped, "The command was interrupted",
        remedy: "Run it again; what was fetched is kept"))
  }
}
