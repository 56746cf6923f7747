import HostedModel
import Testing

@testable import HostedFileIO

/// How many threads a process may start, according to files of the system.
@Suite("Thread limits")
struct ThreadLimitsTests {
  private static let status = "Name:\tx\nUid:\t1000\t0\t0\t0\nThreads:\t12\nVmRSS:\t5 kB\n"

  private func limits(
    _ userLimit: Int?, user: UInt32 = 1000, files: [String: String], processes: [String] = []
  ) -> ThreadLimits {
    ThreadLimits(
      text: { files[$0] }, processes: { processes }, userLimit: userLimit, user: user)
  }

  @Test("A process's threads only count for its real user")
  func status() {
    #expect(ThreadLimits.threads(of: 1000, status: Self.status) == 12)
    #expect(ThreadLimits.threads(of: 0, status: Self.status) == 0)
    #expect(ThreadLimits.threads(of: 1000, status: "") == 0)
    #expect(ThreadLimits.threads(of: 1000, status: "Uid:\nThreads:\tmany\n") == 0)
  }

  @Test("All parents of a control group limit it, in both versions of control groups")
  func controlGroups() {
    #expect(
      ThreadLimits.controlGroups("0::/a/b\n") == [
        "/sys/fs/cgroup/a/b", "/sys/fs/cgroup/a", "/sys/fs/cgroup",
      ])
    #expect(
      ThreadLimits.controlGroups("0::/x\n4:cpu,cpuacct:/c\n3:pids:/a\n") == [
        "/sys/fs/cgroup/pids/a", "/sys/fs/cgroup/pids",
      ])
    #expect(ThreadLimits.controlGroups("0::/../a\n") == ["/sys/fs/cgroup/a", "/sys/fs/cgroup"])
    #expect(ThreadLimits.controlGroups("nothing\n") == [])
  }

  @Test("The limit of a user counts all threads of that user and no others")
  func userLimit() {
    let processes = ["self", "7", "8", "9", "cpuinfo"]
    let files = [
      "/proc/loadavg": "0.1 0.2 0.3 2/900 77\n", "/proc/7/status": Self.status,
      "/proc/8/status": Self.status, "/proc/9/status": "Uid:\t5\t5\t5\t5\nThreads:\t500\n",
    ]
    let full = limits(30, files: files, processes: processes)
    #expect(full.exceeded(by: 7)?.remaining == 6)
    #expect(full.exceeded(by: 6) == nil)
    #expect(limits(nil, files: files, processes: processes).exceeded(by: 1000) == nil)
    // One file is enough if the limit has room for the threads of all users.
    #expect(limits(1000, files: files, processes: ["7"]).exceeded(by: 100) == nil)
  }

  @Test("Root is exempt from the limit of processes, but not the root of a user namespace")
  func root() {
    let files = ["/proc/loadavg": "0 0 0 1/900 1", "/proc/7/status": "Uid:\t0\t0\nThreads:\t9"]
    #expect(limits(10, user: 0, files: files, processes: ["7"]).exceeded(by: 5) == nil)
    let inside = files.merging(["/proc/self/uid_map": "  0  1000  1\n"]) { $1 }
    #expect(limits(10, user: 0, files: inside, processes: ["7"]).exceeded(by: 5)?.remaining == 1)
  }

  @Test("The error names the limit, the needed and the remaining threads")
  func error() {
    let files = [
      "/proc/self/cgroup": "0::/a\n", "/sys/fs/cgroup/a/pids.max": "max\n",
      "/sys/fs/cgroup/a/pids.current": "70\n", "/sys/fs/cgroup/pids.max": "100\n",
      "/sys/fs/cgroup/pids.current": "95\n",
    ]
    #expect(limits(nil, files: files).exceeded(by: 5) == nil)
    let error = #expect(throws: ContentError.self) {
      try limits(nil, files: files).require(6, for: "A payment queue")
    }
    #expect(error?.code == .tooFewThreads)
    #expect(
      error?.message
        == "A payment queue needs 6 threads; /sys/fs/cgroup/pids.max allows 5 more")
  }

  @Test("This process may start a thread")
  func thisProcess() throws {
    try ThreadLimits.require(1, for: "A test")
  }
}
