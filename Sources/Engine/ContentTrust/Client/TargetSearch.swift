/// The order in which roles are asked for one target: depth first, each before those it delegates
/// to, each once.
///
/// Pure: whoever asks fetches the metadata. Roles that delegate to each other in a circle end it,
/// and so does `maximumRoles`. Source: The Update Framework specification 1.0.34, section 5.6.7.
struct TargetSearch {
  /// How many roles are asked besides the top-level one.
  static let maximumRoles = 32

  /// A role to ask, and who delegates to it.
  struct Step {
    let role: String
    let delegator: Delegator
  }

  private let target: String
  /// The next one last.
  private var pending: [Step] = []
  private var asked: Set<String> = []

  init(for target: String) { self.target = target }

  /// What `delegator` says of the target; if nothing, its delegations are asked next.
  mutating func ask(_ delegator: Delegator) throws -> TargetFile? {
    if let file = delegator.role.targets[target] { return file }
    let roles = try delegator.role.delegations?.roles(for: target) ?? []
    // Behind a terminating role nobody is asked, neither here nor further up.
    if roles.last?.isTerminating == true { pending = [] }
    pending += roles.reversed().map { Step(role: $0.name, delegator: delegator) }
    return nil
  }

  /// The next role to ask; nil when nobody is left.
  mutating func next() -> Step? {
    guard asked.count < Self.maximumRoles else { return nil }
    while let step = pending.popLast() {
      if asked.insert(step.role).inserted { return step }
    }
    return nil
  }
}
