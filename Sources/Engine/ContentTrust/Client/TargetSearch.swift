/// The order in which roles are searched for a target.
///
/// The search is depth first. It visits each role once, before the roles that it delegates to. It
/// is pure: the caller fetches the metadata. It ends for roles that delegate to each other in a
/// circle, and after `maximumRoles`. Source: The Update Framework specification 1.0.34, section
/// 5.6.7.
struct TargetSearch {
  /// The maximum number of roles to search, besides the top-level role.
  static let maximumRoles = 32

  /// A role to search, and the role that delegates to it.
  struct Step {
    let role: String
    let delegator: Delegator
  }

  private let target: String
  /// A stack: the next step is the last element.
  private var pending: [Step] = []
  private var asked: Set<String> = []

  init(for target: String) { self.target = target }

  /// Returns the file that `delegator` lists; if it lists none, its delegations come next.
  mutating func ask(_ delegator: Delegator) throws -> TargetFile? {
    if let file = delegator.role.targets[target] { return file }
    let roles = try delegator.role.delegations?.roles(for: target) ?? []
    // After a terminating role, no other role is searched, here or at a higher level.
    if roles.last?.isTerminating == true { pending = [] }
    pending += roles.reversed().map { Step(role: $0.name, delegator: delegator) }
    return nil
  }

  /// Returns the next role to search; nil at the end.
  mutating func next() -> Step? {
    guard asked.count < Self.maximumRoles else { return nil }
    while let step = pending.popLast() {
      if asked.insert(step.role).inserted { return step }
    }
    return nil
  }
}
