import Glibc
import Testing

@testable import HostedFileIO

@Suite("Free space")
struct SpaceTests {
  @Test("A file system that reports the maximum has the maximum of bytes")
  func maximum() {
    var status = statvfs()
    status.f_bavail = .max
    status.f_frsize = 4096
    #expect(status.availableBytes == .max)
    status.f_bavail = 3
    status.f_frsize = 0
    #expect(status.availableBytes == 3)
  }
}
