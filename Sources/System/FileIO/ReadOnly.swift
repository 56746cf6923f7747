import HostedModel

extension FileSystem {
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
}

extension Directory {
  /// Throws the error of `operation` on `name` if this process may not change this folder.
  ///
  /// Changes nothing.
  package func checkMayChange(_ name: String, _ operation: FileOperation = .create) throws {
    try check(".", name, operation)
  }

  /// Throws the error of opening the existing file `name` for writing, without permission.
  ///
  /// Changes nothing.
  package func checkMayWrite(_ name: String) throws { try check(name, name, .create) }

  private func check(_ checked: String, _ name: String, _ operation: FileOperation) throws {
    let answer = try fileSystem.attempt(.status, path(of: name)) {
      calls.checkWritable(descriptor, checked)
    }
    guard case .failure(let failure) = answer else { return }
    throw ContentError(errno: failure.number, operation, path(of: name))
  }
}
