package import ContentModel
import Glibc

/// The file system as everything here reaches it, and the seams where a test makes a step fail or
/// puts a simulated disk in the kernel's place.
package struct FileSystem: Sendable {
  /// The file system as it is.
  package static let real = FileSystem()

  /// Called before each step with its kind and the path; what it throws is the step's failure.
  package let willPerform: (@Sendable (FileOperation, String) throws -> Void)?

  /// What carries out the steps.
  let calls: any SystemCalls

  /// Creates seams; nil for none, which leaves the kernel's calls.
  package init(
    calls: (any SystemCalls)? = nil,
    willPerform: (@Sendable (FileOperation, String) throws -> Void)? = nil
  ) {
    self.calls = calls ?? Kernel.shared
    self.willPerform = willPerform
  }

  /// Opens a folder by path, following links; `creating` makes it and its parents first.
  package func directory(at path: String, creating: Bool = false) throws -> Directory {
    if creating { try createDirectories(path) }
    try check(.open, path)
    let descriptor = try retrying(.open, path) {
      calls.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    }
    return Directory(descriptor: descriptor, path: path, fileSystem: self)
  }

  /// Opens a file by path for reading, following links; not for paths from outside.
  package func file(at path: String) throws -> File {
    try check(.open, path)
    let descriptor = try retrying(.open, path) {
      calls.open(path, O_RDONLY | O_CLOEXEC)
    }
    return File(descriptor: descriptor, path: path, fileSystem: self)
  }

  /// Makes a folder among the system's temporary ones, and removes it after `body`.
  package func withTemporaryDirectory<Value>(_ body: (Directory) throws -> Value) throws -> Value {
    let parent = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
    var template = Array("\(parent)/hostedcontent-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else {
      throw ContentError(errno: errno, .createDirectory, parent)
    }
    let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    defer {
      // Left behind, it only takes room among temporary files.
      try? directory(at: parent).removeTree(String(path.split(separator: "/").last ?? ""))
    }
    return try body(directory(at: path))
  }

  private func createDirectories(_ path: String) throws {
    var prefix = path.hasPrefix("/") ? "/" : ""
    for component in path.split(separator: "/") {
      prefix += component
      try check(.createDirectory, prefix)
      if calls.mkdir(prefix, 0o755) == 0 {
        try syncParent(prefix.dropLast(component.count))
      } else if errno != EEXIST, errno != EISDIR {
        throw ContentError(errno: errno, .createDirectory, prefix)
      }
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
    try willPerform?(operation, path())
  }

  /// Repeats a system call while it is interrupted; throws what it says otherwise.
  @discardableResult
  func retrying<Value: FixedWidthInteger>(
    _ operation: FileOperation, _ path: @autoclosure () -> String, _ call: () -> Value
  ) throws -> Value {
    while true {
      let result = call()
      if result != -1 { return result }
      if errno != EINTR { throw ContentError(errno: errno, operation, path()) }
    }
  }
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
    default:
      self.init(
        .fileFailed, message, remedy: "Check the path and the file system", subject: path,
        cause: cause)
    }
  }
}
