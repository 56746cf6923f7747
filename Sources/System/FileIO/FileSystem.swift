import Glibc
package import HostedModel

/// The file system, with hooks for tests.
///
/// A test can make a step fail, or replace the kernel by a simulated disk.
package struct FileSystem: Sendable {
  /// The file system without hooks.
  package static let real = FileSystem()

  /// Called before each step with its kind and path.
  ///
  /// An error that it throws is the step's error. A `SystemFailure` counts as the answer of the
  /// system. A step that fails with EINTR is repeated.
  package let willPerform: (@Sendable (FileOperation, String) throws -> Void)?

  /// Called with a journal's path after a commit is durable, before its result is reported.
  package let didCommit: (@Sendable (String) -> Void)?

  /// The implementation of the steps.
  let calls: any SystemCalls

  /// Whether steps that change something fail; see `readOnly()`.
  package let isReadOnly: Bool

  /// Opens a folder by path, following links; with `creating`, creates it and its parents first.
  package func directory(at path: String, creating: Bool = false) throws -> Directory {
    if creating { try createDirectories(path) }
    let descriptor = try perform(.open, path) {
      calls.openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)
    }
    return Directory(descriptor: descriptor, path: path, fileSystem: self)
  }

  /// Opens a file by path for reading, following links; not for paths from outside.
  package func file(at path: String) throws -> File {
    let descriptor = try perform(.open, path) {
      calls.openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0)
    }
    return File(descriptor: descriptor, path: path, fileSystem: self)
  }

  private func createDirectories(_ path: String) throws {
    var prefix = path.hasPrefix("/") ? "/" : ""
    for component in path.pathComponents() {
      prefix += component
      let isNew = try perform(.createDirectory, prefix, unless: [EEXIST, EISDIR]) {
        calls.mkdirat(AT_FDCWD, prefix, 0o755)
      }
      if isNew { try syncParent(Substring(prefix.utf8.dropLast(component.utf8.count))) }
      prefix += "/"
    }
  }

  /// Makes a new name in `parent` durable; ignores a parent that is not readable.
  private func syncParent(_ parent: Substring) throws {
    do {
      let path = parent.count > 1 ? String(parent.dropLast()) : String(parent)
      try directory(at: path.isEmpty ? "." : path).sync()
    } catch let error as ContentError where error.code == .notPermitted {}
  }

  /// Lets the hook fail a step that is not a system call of this module.
  package func check(_ operation: FileOperation, _ path: @autoclosure () -> String) throws {
    try perform(operation, path()) { 0 }
  }

  /// Performs a step: calls the hook, then the system, and repeats both after EINTR.
  ///
  /// Throws the errors of the hook. An error of the system is returned.
  func attempt<Value: FixedWidthInteger>(
    _ operation: FileOperation, _ path: @autoclosure () -> String, _ call: () -> Value
  ) throws -> Result<Value, SystemFailure> {
    while true {
      let failure: SystemFailure
      do {
        try willPerform?(operation, path())
        let result = call()
        if result != -1 { return .success(result) }
        failure = SystemFailure(errno)
      } catch let planned as SystemFailure {
        failure = planned
      }
      if failure.number != EINTR { return .failure(failure) }
    }
  }

  /// Performs a step; throws an error of the system as a `ContentError`.
  @discardableResult
  func perform<Value: FixedWidthInteger>(
    _ operation: FileOperation, _ path: @autoclosure () -> String, _ call: () -> Value
  ) throws -> Value {
    switch try attempt(operation, path(), call) {
    case .success(let value): return value
    case .failure(let failure): throw ContentError(errno: failure.number, operation, path())
    }
  }

  /// Performs a step; returns false if it fails with one of `numbers`.
  @discardableResult
  func perform(
    _ operation: FileOperation, _ path: @autoclosure () -> String, unless numbers: [Int32],
    _ call: () -> Int32
  ) throws -> Bool {
    switch try attempt(operation, path(), call) {
    case .success: return true
    case .failure(let failure) where numbers.contains(failure.number): return false
    case .failure(let failure): throw ContentError(errno: failure.number, operation, path())
    }
  }
}

extension FileSystem {
  /// Creates a file system; nil `calls` are the kernel's calls.
  package init(
    calls: (any SystemCalls)? = nil,
    willPerform: (@Sendable (FileOperation, String) throws -> Void)? = nil,
    didCommit: (@Sendable (String) -> Void)? = nil
  ) {
    self.init(
      willPerform: willPerform, didCommit: didCommit, calls: calls ?? Kernel.shared,
      isReadOnly: false)
  }

  /// Returns this file system without the steps that change something; they throw `inconsistent`.
  ///
  /// For code that only reports what it would write: a write that it overlooked fails.
  package func readOnly() -> FileSystem {
    FileSystem(
      willPerform: { operation, path in
        try willPerform?(operation, path)
        guard ![.open, .read, .list, .status, .lock].contains(operation) else { return }
        throw ContentError.defect(
          "Cannot \(operation.rawValue) \(path): nothing may be changed here", subject: path)
      }, didCommit: didCommit, calls: calls, isReadOnly: true)
  }

  /// Creates a folder among the temporary files of the system, and removes it after `body`.
  ///
  /// They are in the folder `TMPDIR`, which this user must be able to list, or in `/tmp`.
  package func withTemporaryDirectory<Value>(_ body: (Directory) throws -> Value) throws -> Value {
    let parent = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
    return try directory(at: parent).withTemporaryDirectory("hostedcontent", body)
  }
}

/// The error number of a failed system call, as in errno(3); a hook throws it to make a step fail.
package struct SystemFailure: Error, Hashable {
  package let number: Int32

  package init(_ number: Int32) { self.number = number }
}

/// A kind of step on the file system; the raw value is the verb in the message “Cannot … path”.
package enum FileOperation: String, Sendable, CaseIterable {
  case open, create, read, write, sync, rename, remove, link, list, lock
  case createDirectory = "create the folder"
  case status = "read the status of"
  case journal = "write the journal"
}

extension ContentError {
  /// Creates the error for a failed system call on `path`.
  package init(errno number: Int32, _ operation: FileOperation, _ path: String) {
    let isUnsupported = number == EOPNOTSUPP || number == ENOSYS
    let (code, remedy): (Code, String) =
      switch number {
      case ENOSPC, EDQUOT: (.diskFull, "Free space on that file system and try again")
      case ENOENT, ENOTDIR: (.fileMissing, "Check the path")
      case EACCES, EPERM, EROFS:
        (.notPermitted, "Change its permissions or owner, or use another folder")
      case EMFILE, ENFILE: (.tooManyFiles, "Raise the limit of open files and try again")
      case ENOMEM: (.outOfMemory, "Free memory or raise the process's limit, then try again")
      case EXDEV:
        (
          .fileSystemUnsupported,
          "Keep the whole folder on one file system. In a container, use a volume"
        )
      case EFBIG:
        (
          .fileFailed,
          "Raise the limit of file sizes, or use a file system that supports larger files"
        )
      case _ where isUnsupported:
        (
          .fileSystemUnsupported,
          "Use a folder on a local file system, such as ext4, XFS, Btrfs or ZFS"
        )
      default: (.fileFailed, "Check the path and the file system")
      }
    self.init(
      code,
      "Cannot \(operation.rawValue) \(path)"
        + (isUnsupported ? ": the file system does not support this" : ""),
      remedy: remedy, subject: path, cause: String(cString: strerror(number)))
  }
}

/// A file that reserves disk space for writes that a full disk must allow, such as a removal.
///
/// The file is the only state, so every part of a library can release the space. Use it from any
/// thread.
package struct SpaceReserve: Sendable {
  /// The reserved bytes.
  package static let size: Int64 = 1 << 20
  private static let name = "journal.reserve"

  private let folder: Directory

  package init(in folder: Directory) { self.folder = folder }

  /// Releases the space; returns false if none was reserved.
  package func release() -> Bool { isHeld && (try? folder.removeFile(Self.name)) != nil }

  /// Reserves the space, unless it is reserved, if the disk has several times as much.
  ///
  /// If this fails on a file system, nothing is reserved.
  package func fill() {
    guard !isHeld else { return }
    do {
      guard try folder.availableBytes() >= 4 * Self.size else { return }
      try folder.privateFile(Self.name).allocate(Self.size)
    } catch {
      try? folder.removeFile(Self.name)
    }
  }

  private var isHeld: Bool {
    (try? folder.status(of: Self.name)).map { $0.size >= Self.size } ?? false
  }
}
