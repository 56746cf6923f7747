import Glibc
import Testing

@testable import FileIO

@Suite("Free space")
struct SpaceTests {
  @Test("A file system that reports the maximum has the maximum of bytes")
  func maximum() {
    var status = statvfs()
    (status.f_bavail, status.f_frsize) = (.max, 4096)
    #expect(status.availableBytes == .max)
    (status.f_bavail, status.f_frsize) = (3, 0)
    #expect(status.availableBytes == 3)
  }
}
