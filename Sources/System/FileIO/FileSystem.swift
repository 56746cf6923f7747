package import ContentModel
import Glibc

/// The file system as everything here reaches it, and the seams where a test makes a step fail or
/// puts a simulated disk in the kernel's place.
package struct FileSystem: Sendable {
  /// The file system as it is.
  package static let real = FileSystem()

  /// Called before each step with its kind and the path; what it throws is the step's failure.
  ///
  /// A `SystemFailure` is taken for the system's own answer: a step that it interrupts is made
  /// again.
  package let willPerform: (@Sendable (FileOperation, String) throws -> Void)?

  /// Called with a journal's path when a commit is durable, before anybody hears of it.
  package let didCommit: (@Sendable (String) -> Void)?

  /// What carries out the steps.
  let calls: any SystemCalls

  /// Creates seams; nil for none, which leaves the kernel's calls.
  package init(
    calls: (any SystemCalls)? = nil,
    willPerform: (@Sendable (FileOperation, String) throws -> Void)? = nil,
    didCommit: (@Sendable (String) -> Void)? = nil
  ) {
    self.calls = calls ?? Kernel.shared
    self.willPerform = willPerform
    self.didCommit = didCommit
  }

  /// Opens a folder by path, following links; `creating` makes it and its parents first.
  package func directory(at path: String, creating: Bool = false) throws -> Directory {
    if creating { try createDirectories(path) }
    let descriptor = try perform(.open, path) {
      calls.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    }
    return Directory(descriptor: descriptor, path: path, fileSystem: self)
  }

  /// Opens a file by path for reading, following links; not for paths from outside.
  package func file(at path: String) throws -> File {
    let descriptor = try perform(.open, path) {
      calls.open(path, O_RDONLY | O_CLOEXEC)
    }
    return File(descriptor: descriptor, path: path, fileSystem: self)
  }

  /// Makes a folder among the system's temporary ones, and removes it after `body`.
  package func withTemporaryDirectory<Value>(_ body: (Directory) throws -> Value) throws -> Value {
    let parent = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
    var template: [CChar] = []
    try perform(.createDirectory, parent) {
      // A call that was interrupted may have changed it.
      template = Array("\(parent)/hostedcontent-XXXXXX".utf8CString)
      return mkdtemp(&template) == nil ? -1 : 0
    }
    let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    defer {
      // Left behind, it only takes room among temporary files.
      try? directory(at: parent).removeTree(path.lastPathComponent)
    }
    return try body(directory(at: path))
  }

  private func createDirectories(_ path: String) throws {
    var prefix = path.hasPrefix("/") ? "/" : ""
    for component in path.pathComponents() {
      prefix += component
      let isNew = try perform(.createDirectory, prefix, unless: [EEXIST, EISDIR]) {
        calls.mkdir(prefix, 0o755)
      }
      if isNew { try syncParent(Substring(prefix.utf8.dropLast(component.utf8.count))) }
      prefix += "/"
    }
  }

  /// Makes a new name in `parent` durable; a parent that may not be read is left to the system.
  private func syncParent(_ parent: Substring) throws {
    do {
      let path = parent.count > 1 ? String(parent.dropLast()) : String(parent)
      try directory(at: path.isEmpty ? "." : path).sync()
    } catch let error as ContentError where error.code == .notPermitted {}
  }

  /// Lets the seam fail a step that is not a system call of this module.
  package func check(_ operation: FileOperation, _ path: @autoclosure () -> String) throws {
    try perform(operation, path()) { 0 }
  }

  /// Carries out a step: asks the seam, makes the call, and both again while it is interrupted.
  ///
  /// Throws what the seam throws; the system's refusal is returned.
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

  /// Carries out a step; throws the system's refusal as a `ContentError`.
  @discardableResult
  func perform<Value: FixedWidthInteger>(
    _ operation: FileOperation, _ path: @autoclosure () -> String, _ call: () -> Value
  ) throws -> Value {
    switch try attempt(operation, path(), call) {
    case .success(let value): return value
    case .failure(let failure): throw ContentError(errno: failure.number, operation, path())
    }
  }

  /// Carries out a step; false when the system answers one of `numbers`.
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

/// The number with which the system refuses a call, errno(3); a seam throws it to make a step fail
/// so.
package struct SystemFailure: Error, Hashable {
  package let number: Int32

  package init(_ number: Int32) { self.number = number }
}

/// A kind of step on the file system, as error messages and the fault seam name it.
package enum FileOperation: String, Sendable, CaseIterable {
  case open, create, createDirectory, read, write, sync, rename, remove, link, list, status, lock
  case journal

  /// The verb of a message: “cannot … path”.
  var verb: String {
    switch self {
    case .open: "open"
    case .create: "create"
    case .createDirectory: "create the folder"
    case .read: "read"
    case .write: "write"
    case .sync: "sync"
    case .rename: "rename"
    case .remove: "remove"
    case .link: "link"
    case .list: "list"
    case .status: "look at"
    case .lock: "lock"
    case .journal: "write the journal"
    }
  }
}

extension ContentError {
  /// The failure of a system call on `path`, sorted by its number.
  package init(errno number: Int32, _ operation: FileOperation, _ path: String) {
    let message = "Cannot \(operation.verb) \(path)"
    let cause = String(cString: strerror(number))
    switch number {
    case ENOSPC, EDQUOT:
      self.init(
        .diskFull, message, remedy: "Free space on that file system and start again",
        subject: path, cause: cause)
    case ENOENT, ENOTDIR:
      self.init(.fileMissing, message, remedy: "Check the path", subject: path, cause: cause)
    case EACCES, EPERM, EROFS:
      self.init(
        .notPermitted, message, remedy: "Give this user the right to it, or choose another folder",
        subject: path, cause: cause)
    case EMFILE, ENFILE:
      self.init(
        .tooManyFiles, message, remedy: "Raise the limit of open files and start again",
        subject: path, cause: cause)
    case EOPNOTSUPP, ENOSYS:
      self.init(
        .fileSystemUnsupported, "\(message): the file system does not support this",
        remedy: "Choose a folder on a local file system, such as ext4, XFS, Btrfs or ZFS",
        subject: path, cause: cause)
    case EXDEV:
      self.init(
        .fileSystemUnsupported, message,
        remedy: "Keep the whole folder on one file system; in a container, on a volume",
        subject: path, cause: cause)
    case EFBIG:
      self.init(
        .fileFailed, message,
        remedy: "Raise the limit of file sizes, or choose a file system that has longer files",
        subject: path, cause: cause)
    default:
      self.init(
        .fileFailed, message, remedy: "Check the path and the file system", subject: path,
        cause: cause)
    }
  }
}
