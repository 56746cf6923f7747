import HostedConcurrency
import HostedLibrary
import HostedModel
import Dispatch

/// Runs downloads: their threads, progress and staging folders. Used on the engine's serial queue.
extension Engine {
  func startWork(on download: DownloadRecord) {
    let job = DownloadJob(priority: Int(download.priority))
    running[download.id] = RunningDownload(job)
    startTicking()
    // One call can ask for the grants of many downloads.
    let limit = pipeline.sources.grants == nil ? 0 : ContentGrantBook.callLimit - 1
    let (account, ahead) = state.needs(of: download.id, limit: limit)
    runningWork.start { [pipeline, weak self] in
      let result: WorkResult
      do {
        let resolved = try pipeline.resolved(download)
        if resolved != download {
          self?.submit(.contentResolved(download: download.id, resolved.offer))
        }
        try pipeline.run(resolved, job: job, account: account, ahead: ahead)
        result = .installed
      } catch {
        let error = ContentError(error, while: "installing \(download.offer.contentIdentifier)")
        // A service that was closed throws `stopped`, too, and would again in another attempt.
        result =
          error.code == .stopped && job.isStopped
          ? .stopped : .failed(error.about(download.offer.productIdentifier.rawValue))
      }
      self?.diagnostics.count { $0.take(result, job) }
      for reason in job.ticket.statistics.wholePackages.keys {
        self?.diagnostics.log(.info, "whole package fetched") {
          ["download": download.id, "reason": reason]
        }
      }
      self?.submit(.workEnded(download: download.id, result))
    }
  }

  func endWork(on id: String) {
    // Report only this download. The ticker reports the others, however many downloads end.
    reportProgress(of: [id])
    running[id] = nil
  }

  /// Moves the staging folder aside at once, so the download can restart; deletes it later.
  func discardStaging(for id: String) {
    reportingFailure(of: id) {
      guard let tree = try library.setAsideStaging(for: id) else { return }
      runningWork.start { [self] in reportingFailure(of: id) { try library.delete(tree) } }
    }
  }

  private func reportingFailure(of id: String, _ body: () throws -> Void) {
    do {
      try body()
    } catch {
      // A failure is harmless: the next launch removes staging folders without a download.
      delivery.report(error: ContentError(error, while: "removing the staging of \(id)"))
    }
  }

  // MARK: Progress

  private func startTicking() {
    guard !isTicking else { return }
    isTicking = true
    serial.enqueue(at: environment.execution.now + .milliseconds(100)) { [weak self] in
      self?.tick()
    }
  }

  /// Repeats while downloads are running.
  private func tick() {
    isTicking = false
    guard !isClosed, !running.isEmpty else { return }
    reportProgress(of: Array(running.keys))
    startTicking()
  }

  private func reportProgress(of downloads: [String]) {
    let instant = pipeline.clock.uptime()
    var changed: [String: DownloadProgress] = [:]
    for id in downloads { changed[id] = running[id]?.newProgress(at: instant) }
    if !changed.isEmpty { delivery.report(progress: changed) }
  }
}
