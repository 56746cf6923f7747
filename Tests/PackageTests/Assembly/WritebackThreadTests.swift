import HostedModel
@testable import HostedPackage
import HostedDigests
import Dispatch
import HostedFileIO
import Glibc
import HostedConcurrency
import HostedTestSupport
import Testing

@Suite("Writing to disk while data arrive")
struct WritebackThreadTests {
  @Test func `writing starts after enough bytes, and not again while it is running`() throws {
    let writeback = WritebackThread()
    let (begun, goOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let calls = Mutex(0)
    let thread = try WorkerThreads(count: 1) { _ in
      writeback.run {
        calls.withLock { $0 += 1 }
        begun.signal()
        goOn.wait()
      }
    }
    writeback.note(WritebackThread.stretch - 1)
    writeback.note(1)
    begun.wait()
    // It is writing. This waits for the next time.
    writeback.note(3 * WritebackThread.stretch)
    #expect(calls.withLock { $0 } == 1)
    goOn.signal()
    begun.wait()
    goOn.signal()
    writeback.close()
    thread.join()
    #expect(calls.withLock { $0 } == 2)
  }

  @Test func `a large assembly that cannot be prepared throws its error`() throws {
    let length = 1 << 20
    let count = 1 + Int(WritebackThread.stretch) / length
    let digest = try Digest(of: [])
    let member = IndexedMember(
      packedLength: length, plainLength: length, digest: digest, plainDigest: digest)
    let size = Int64(length * (count - 1))
    let files = [
      IndexedFile(path: "ContentInfo.plist", kind: .file, size: Int64(length), digest: digest),
      IndexedFile(path: "Contents", kind: .directory),
      IndexedFile(path: "Contents/large", kind: .file, size: size, digest: digest),
    ]
    let index = PackageIndex(
      packageLength: Int64(length * count) + 100,
      payload: PayloadIndex(
        offset: 50, members: Array(repeating: member, count: count),
        dataOffsets: [0, 0, Int64(length)]), files: files)
    let folder = try TemporaryFolder()
    let survey = try PackageSurvey(of: index, name: "out.pkg", staging: nil, reusing: [])
    #expect(survey.bytesToWrite >= WritebackThread.stretch)
    // A file at the path of a folder.
    _ = try folder.directory.createFile("Contents")
    #expect(throws: ContentError.self) {
      _ = try PackageAssembly(
        survey, name: "out.pkg", expected: expectedPackage(entries: files), in: folder.directory,
        workers: 2, writeback: {}, progress: { _ in })
    }
  }

  @Test func `a small assembly starts no writing`() throws {
    let writeback = WritebackThread()
    let calls = Mutex(0)
    let thread = try WorkerThreads(count: 1) { _ in
      writeback.run { calls.withLock { $0 += 1 } }
    }
    writeback.note(WritebackThread.stretch - 1)
    writeback.close()
    thread.join()
    #expect(calls.withLock { $0 } == 0)
  }
}
