"""Reads Package.swift for the scripts that compare it with code and documentation."""
import functools
import json
import pathlib
import re
import subprocess

root = pathlib.Path(__file__).resolve().parent.parent


class Target:
    """A target of Package.swift: its name, kind, folder, and the targets that it declares."""

    def __init__(self, words):
        self.name, self.kind, self.path = words["name"], words["type"], root / words["path"]
        self.uses = [each["byName"][0] for each in words["dependencies"]]
        self.linked = [value["_0"] for setting in words["settings"]
                       for kind, value in setting["kind"].items() if kind == "linkedLibrary"]
        if self.kind == "system":
            self.linked = re.findall(r'link "([^"]+)"', (self.path / "module.modulemap").read_text())

    @property
    def sources(self):
        return sorted(self.path.rglob("*.swift"))

    @property
    def is_module(self):
        """Whether it is Swift code of Sources, and not of tests, examples or benchmarks."""
        return self.path.is_relative_to(root / "Sources") and bool(self.sources)

    @property
    def is_wrapper(self):
        """Whether it is the module map of a C library, or C code that links one."""
        return bool(self.linked)


@functools.cache
def description():
    made = subprocess.run(["swift", "package", "dump-package"], cwd=root, check=True, stdout=subprocess.PIPE)
    return json.loads(made.stdout)


@functools.cache
def targets():
    """All targets by name, in the order of Package.swift."""
    return {each["name"]: Target(each) for each in description()["targets"]}


@functools.cache
def modules():
    """The Swift targets of Sources by name, in the order of Package.swift."""
    return {name: target for name, target in targets().items() if target.is_module}


def products():
    """The targets that users of the package name: those of its libraries and programs."""
    return [name for product in description()["products"] for name in product["targets"]]


def libraries():
    """The targets that users of the package link."""
    return [name for product in description()["products"] if "library" in product["type"]
            for name in product["targets"]]


@functools.cache
def reached(name):
    """The modules that a module uses, also through others."""
    own = [word for word in modules()[name].uses if word in modules()]
    return frozenset(own).union(*(reached(word) for word in own))


def ordered(name, found=None):
    """A target and all that it uses, each after what it uses."""
    found = {} if found is None else found
    for word in targets()[name].uses:
        ordered(word, found)
    found.setdefault(name, targets()[name])
    return list(found.values())


def direct(name):
    """The modules that a module uses and that do not follow from the others."""
    own = [word for word in modules()[name].uses if word in modules()]
    return [word for word in own if not any(word in reached(other) for other in own)]


def wrappers(name):
    """The C libraries that a module wraps."""
    return [word for word in modules()[name].uses if targets()[word].is_wrapper]


statement = re.compile(
    r"^\s*((?:@\w+(?:\([^)]*\))? +)*)(?:(public|package|internal|private|fileprivate) +)?import +"
    r"(?:(?:struct|class|enum|protocol|func|var|let|typealias|actor) +)?(\w+)", re.M)


def imports(target):
    """The modules that a target's files import, each with whether users see the import."""
    found = {}
    for file in target.sources:
        for attributes, access, name in statement.findall(file.read_text()):
            found[name] = found.get(name, False) or access == "public" or "@_exported" in attributes
    return found
