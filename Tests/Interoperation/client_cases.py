"""tuf-client against repositories of the reference implementation, good ones and hostile ones.

client_cases.py TUF_CLIENT [CASE...]: runs each case; exits 1 if one fails.
"""

import glob
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import traceback
from urllib.parse import quote

from cryptography.hazmat.primitives.asymmetric import ec
from securesystemslib.signer import CryptoSigner, SSlibKey
from tuf.api.metadata import Metadata

from repository import Repository, in_days
from serving import Server

PROGRAM = sys.argv[1]


class Client:
    """tuf-client with folders of its own, and a server for one repository."""

    def __init__(self, repository, trusted_root=None):
        self.repository = repository
        self.server = Server(lambda path: repository.files.get(path))
        self.work = tempfile.TemporaryDirectory()
        self.metadata = pathlib.Path(self.work.name, "metadata")
        self.targets = pathlib.Path(self.work.name, "targets")
        root = pathlib.Path(self.work.name, "root.json")
        root.write_bytes(trusted_root or repository.files["metadata/1.root.json"])
        self.init_status = self.run("init", str(root))

    def run(self, *words, clock=None):
        environment = dict(os.environ)
        if clock is not None:
            environment |= {"LD_PRELOAD": libfaketime(), "FAKETIME": f"{clock:+d}d"}
        done = subprocess.run(
            [PROGRAM, "--metadata-dir", self.metadata, *words],
            capture_output=True, text=True, env=environment,
        )
        if done.returncode not in (0, 1):
            print(f"tuf-client ended with {done.returncode}: {done.stderr}")
        return done.returncode

    def refresh(self, **how):
        return self.run("--metadata-url", f"{self.server.url}/metadata", "refresh", **how)

    def download(self, *names, **how):
        wanted = [word for name in names for word in ("--target-name", name)]
        return self.run(
            "download", "--target-dir", self.targets, *wanted,
            "--metadata-url", f"{self.server.url}/metadata/",
            "--target-base-url", f"{self.server.url}/targets", **how,
        )

    def version(self, role):
        file = self.metadata / f"{role}.json"
        return Metadata.from_file(str(file)).signed.version if file.exists() else None

    def downloaded(self):
        return sorted(file.read_bytes() for file in self.targets.glob("*") if file.is_file())

    def requests(self):
        return self.server.take_requests()


def libfaketime():
    import libfaketime as package

    found = glob.glob(f"{pathlib.Path(package.__file__).parent}/**/libfaketime.so*", recursive=True)
    return found[0]


def check(condition, what=""):
    if not condition:
        raise AssertionError(what)


def equal(found, wanted):
    check(found == wanted, f"{found!r} instead of {wanted!r}")


# The good way


def good(repository):
    data = b"some bytes"
    repository.add_target("folder/a target.txt", data)
    repository.publish()
    client = Client(repository)
    equal(client.init_status, 0)
    equal(client.requests(), [])
    equal(client.refresh(), 0)
    prefix = "2." if repository.root.consistent_snapshot else ""
    equal(
        client.requests(),
        ["metadata/2.root.json", "metadata/timestamp.json"]
        + [f"metadata/{prefix}{role}.json" for role in ("snapshot", "targets")],
    )
    equal(sorted(os.listdir(client.metadata)), [f"{r}.json" for r in ("root", "snapshot", "targets", "timestamp")])
    equal(client.download("folder/a target.txt"), 0)
    equal(client.downloaded(), [data])
    equal(len(client.requests()), 3)
    equal(client.download("folder/a target.txt"), 0)
    equal(client.requests(), ["metadata/2.root.json", "metadata/timestamp.json"])


def case_consistent_snapshots():
    good(Repository())


def case_no_consistent_snapshots():
    good(Repository(consistent=False))


def case_without_hashes_and_lengths():
    good(Repository(with_hashes=False))


def case_ecdsa_keys():
    good(Repository(signer=CryptoSigner.generate_ecdsa))


def case_rsa_keys():
    good(Repository(signer=CryptoSigner.generate_rsa))


def case_sha512_targets():
    repository = Repository()
    repository.add_target("one", b"one", algorithms=["sha512"])
    repository.add_target("two", b"two", algorithms=["sha512", "sha256"])
    repository.publish()
    client = Client(repository)
    equal(client.download("one", "two"), 0)
    equal(client.downloaded(), [b"one", b"two"])
    # Any of the promised digests may stand before a file's name.
    repository.add_target("three", b"three", algorithms=["sha512", "sha256"])
    del repository.files[f"targets/{repository.targets.targets['three'].hashes['sha256']}.three"]
    repository.publish()
    equal(client.download("three"), 0)


def case_unknown_fields():
    repository = Repository()
    client = Client(repository)
    repository.root.unrecognized_fields["x"] = {"b": [1, "é\u2028\"\\"], "a": None}
    keyid = repository.root.roles["root"].keyids[0]
    repository.root.keys[keyid].unrecognized_fields["keyid_hash_algorithms"] = ["md5"]
    repository.root.roles["targets"].unrecognized_fields["y"] = "z"
    repository.publish_root()
    repository.targets.unrecognized_fields["t"] = -5
    repository.publish()
    equal(client.refresh(), 0)
    equal(client.version("root"), 2)
    equal(client.version("targets"), 2)


def case_changed_target_keeps_its_name():
    repository = Repository()
    client = Client(repository)
    for text in (b"first", b"second, longer"):
        repository.add_target("a/b.txt", text)
        repository.publish()
        equal(client.download("a/b.txt"), 0)
        equal(client.downloaded(), [text])
    equal(len(os.listdir(client.targets)), 1)


def case_several_targets_stop_at_the_first_failure():
    repository = Repository()
    repository.add_target("one", b"1")
    repository.add_target("three", b"3")
    repository.publish()
    client = Client(repository)
    equal(client.download("one", "two", "three"), 1)
    equal(client.downloaded(), [b"1"])
    equal(sum(r.endswith("timestamp.json") for r in client.requests()), 1)


def case_names_are_encoded():
    names = ["a b", "ü/%41", "q?x=1", "h#h", "plus+and&", "deep/er/x"]
    repository = Repository()
    for name in names:
        repository.add_target(name, name.encode())
    repository.publish()
    client = Client(repository)
    equal(client.download(*names), 0)
    equal(client.downloaded(), sorted(name.encode() for name in names))
    check(all(path.is_file() for path in client.targets.iterdir()))


# Roots


def rotation(steps, succeeds, kept):
    """Each step is (keys, threshold, signers) of one root, by the numbers of keys."""
    keys = [CryptoSigner.generate_ed25519() for _ in range(8)]
    repository = Repository()
    repository.root.version = 0
    for numbers, threshold, signers in steps:
        repository.root.roles["root"].keyids.clear()
        for number in numbers:
            repository.root.add_key(keys[number].public_key, "root")
        repository.root.roles["root"].threshold = threshold
        repository.publish_root([keys[number] for number in signers])
    client = Client(repository)
    equal(client.refresh(), 0 if succeeds else 1)
    equal((client.metadata / "root.json").read_bytes(), repository.files[f"metadata/{kept}.root.json"])


def case_root_rotations_that_are_followed():
    rotation([([1], 1, [1]), ([2], 1, [2, 1]), ([2], 1, [2])], True, 3)
    rotation([([1], 1, [3, 1]), ([2], 1, [3, 2, 1, 4])], True, 2)
    rotation([([0, 1, 2], 2, [0, 2]), ([3, 4, 5], 2, [0, 1, 3, 5]), ([3, 4, 5], 2, [4, 5])], True, 3)
    rotation([([1], 1, [1]), ([1, 2], 2, [1, 2])], True, 2)
    rotation([([1, 2], 2, [1, 2]), ([1, 2], 1, [1, 2]), ([1, 2], 1, [2])], True, 3)


def case_root_rotations_that_are_not():
    rotation([([1], 1, [1]), ([2], 1, [2, 3])], False, 1)
    rotation([([1], 1, [1]), ([2], 1, [1, 3])], False, 1)
    rotation([([1, 2], 2, [1, 2]), ([1, 2], 1, [1])], False, 1)
    rotation([([1, 2], 1, [1]), ([1, 2], 2, [2])], False, 1)
    rotation([([0, 1, 2], 2, [0, 1]), ([0, 1, 3], 2, [1, 2])], False, 1)


def case_a_root_that_skips_a_version():
    repository = Repository()
    client = Client(repository)
    repository.root.version = 2
    repository.files["metadata/2.root.json"] = repository.publish_root()
    equal(client.refresh(), 1)
    equal(client.version("root"), 1)


def case_a_first_root_that_is_none():
    repository = Repository()
    good_root = json.loads(repository.files["metadata/1.root.json"])
    unsigned = dict(good_root, signatures=[])
    no_version = json.loads(json.dumps(good_root))
    del no_version["signed"]["version"]
    for root in (unsigned, no_version, [], {}):
        client = Client(repository, json.dumps(root).encode())
        equal(client.refresh(), 1)
        equal(client.requests(), [])


def case_an_expired_root_is_kept_and_ends_the_refresh():
    repository = Repository()
    client = Client(repository)
    equal(client.refresh(), 0)
    repository.root.expires = in_days(-1)
    repository.publish_root()
    repository.publish()
    equal(client.refresh(), 1)
    equal((client.version("root"), client.version("timestamp")), (2, 1))


# Thresholds


def case_one_key_under_many_names_counts_once():
    repository = Repository()
    client = Client(repository)
    private = ec.generate_private_key(ec.SECP256R1())
    signer = CryptoSigner(private)
    role = repository.root.roles["snapshot"]
    role.keyids.clear()
    repository.signers["snapshot"] = []
    for number in range(3):
        key = copy_of(signer.public_key, f"{number}" * 64)
        repository.root.add_key(key, "snapshot")
        repository.signers["snapshot"].append(CryptoSigner(private, key))
    role.threshold = 2
    repository.publish_root()
    repository.publish()
    equal(client.refresh(), 1)
    equal(client.version("snapshot"), None)
    role.threshold = 1
    repository.publish_root()
    repository.publish()
    equal(client.refresh(), 0)


def case_two_signatures_under_one_key_id_are_refused():
    # Although the threshold is reached (section 4.2.1 of the specification).
    for role in ("snapshot", "targets", "delegated"):
        repository = Repository(with_hashes=False)
        repository.delegate("targets", "delegated")
        repository.add_target("a", b"a", role="delegated")
        repository.publish()
        path = f"metadata/{repository.snapshot.version}.snapshot.json"
        if role == "targets":
            path = f"metadata/{repository.targets.version}.targets.json"
        if role == "delegated":
            path = "metadata/1.delegated.json"
        document = json.loads(repository.files[path])
        document["signatures"] *= 2
        repository.files[path] = json.dumps(document).encode()
        client = Client(repository)
        equal(client.download("a"), 1)
        equal(client.version(role), None)
    repository = Repository()
    root = json.loads(repository.files["metadata/1.root.json"])
    root["signatures"] *= 2
    equal(Client(repository, json.dumps(root).encode()).init_status, 1)


def copy_of(key, keyid):
    return SSlibKey(keyid, key.keytype, key.scheme, dict(key.keyval))


def case_a_threshold_is_reached_or_not():
    repository = Repository()
    client = Client(repository)
    for signer in (CryptoSigner.generate_rsa(), CryptoSigner.generate_ecdsa()):
        repository.root.add_key(signer.public_key, "targets")
        repository.signers["targets"].append(signer)
    repository.root.roles["targets"].threshold = 3
    repository.publish_root()
    repository.publish()
    equal(client.refresh(), 0)
    repository.signers["targets"].pop()
    repository.publish()
    equal(client.refresh(), 1)
    equal(client.version("targets"), 2)


# Rollback, freeze, mixing


def case_an_older_timestamp():
    repository = Repository()
    old = repository.files["metadata/timestamp.json"]
    repository.publish()
    client = Client(repository)
    equal(client.refresh(), 0)
    repository.files["metadata/timestamp.json"] = old
    equal(client.refresh(), 1)
    equal(client.version("timestamp"), 2)


def case_an_older_snapshot_or_targets():
    for with_hashes in (True, False):
        for role in ("snapshot", "targets"):
            repository = Repository(with_hashes=with_hashes)
            repository.publish()
            repository.publish()
            client = Client(repository)
            equal(client.refresh(), 0)
            getattr(repository, role).version = 1
            repository.publish()
            equal(client.refresh(), 1)
            equal(client.version("targets"), 3)


def case_a_timestamp_of_the_same_version_is_not_taken():
    repository = Repository()
    client = Client(repository)
    equal(client.refresh(), 0)
    before = (client.metadata / "timestamp.json").read_bytes()
    repository.timestamp.version -= 1
    repository.publish(["snapshot", "timestamp"])
    equal(client.refresh(), 0)
    equal((client.metadata / "timestamp.json").read_bytes(), before)


def case_fast_forward_recovery():
    for roles in (["timestamp"], ["snapshot"], ["timestamp", "snapshot"]):
        repository = Repository()
        for role in roles:
            getattr(repository, role).version = 100_000
        if "snapshot" in roles:
            repository.targets.version = 5000
        repository.publish()
        client = Client(repository)
        equal(client.refresh(), 0)
        for role in roles:
            new = CryptoSigner.generate_ed25519()
            repository.root.revoke_key(repository.signers[role][0].public_key.keyid, role)
            repository.root.add_key(new.public_key, role)
            repository.signers[role] = [new]
            getattr(repository, role).version = 1
        repository.targets.version = 1
        repository.publish_root()
        repository.publish()
        equal(client.refresh(), 0)
        equal(client.version("targets"), 2)


def case_expired_roles():
    for role in ("timestamp", "snapshot", "targets"):
        repository = Repository()
        client = Client(repository)
        equal(client.refresh(), 0)
        getattr(repository, role).expires = in_days(-1)
        repository.publish()
        equal(client.refresh(), 1)
        equal(client.version(role), 1)


def case_files_of_two_publications():
    for role in ("snapshot", "targets"):
        repository = Repository()
        client = Client(repository)
        repository.publish()
        repository.files[f"metadata/2.{role}.json"] = repository.files[f"metadata/1.{role}.json"]
        equal(client.refresh(), 1)
        equal(client.version(role), None)


def case_missing_and_changed_files():
    for path in ("timestamp", "1.snapshot", "1.targets"):
        for change in (None, b"", b"{", b"[]", b" " * (70 << 20)):
            repository = Repository()
            client = Client(repository)
            if change is None:
                del repository.files[f"metadata/{path}.json"]
            else:
                repository.files[f"metadata/{path}.json"] = change
            equal(client.refresh(), 1)


def case_a_target_with_other_bytes():
    repository = Repository()
    repository.add_target("one", b"right")
    repository.publish()
    client = Client(repository)
    path = next(path for path in repository.files if path.startswith("targets/"))
    for hostile in (b"wrong", b"short"[:3], b"much longer than promised"):
        repository.files[path] = hostile
        equal(client.download("one"), 1)
        equal(client.downloaded(), [])
    repository.files[path] = b"right"
    equal(client.download("one"), 0)
    repository.files[path] = b"wrong"
    client.download("one")
    equal(client.downloaded(), [b"right"])


# Delegations


def walk(edges, order, target="missing"):
    repository = Repository()
    for edge in edges:
        delegator, name, *how = edge
        repository.delegate(delegator, name, **(how[0] if how else {}))
    repository.publish()
    client = Client(repository)
    equal(client.download(target), 1)
    equal(
        [path.split("/", 1)[1] for path in client.requests()[4:]],
        [f"1.{quote(name, '')}.json" for name in order],
    )
    return client


def case_the_order_of_delegations():
    last = {"terminating": True}
    walk([("targets", "A"), ("targets", "B"), ("A", "C"), ("C", "D")], "ACDB")
    walk([("targets", "A"), ("targets", "B"), ("A", "C", last), ("A", "E"), ("C", "D")], "ACD")
    walk([("targets", "A"), ("A", "B"), ("B", "A"), ("B", "C")], "ABC")
    walk([("targets", "A"), ("targets", "B"), ("B", "C"), ("A", "C")], "ACB")
    walk([("targets", "A", {"paths": ["*.py"]}), ("targets", "B")], "B")
    walk([("targets", "A", {"paths": ["*/*"]}), ("targets", "B", {"paths": ["?issing"]})], "B")
    for name in ("?", "#", "/delegated", "../delegated"):
        client = walk([("targets", name)], [name])
        equal(len(os.listdir(client.metadata)), 5)


def case_targets_of_delegated_roles():
    repository = Repository()
    repository.delegate("targets", "docs", paths=["*.md", "doc/*"])
    repository.delegate("targets", "releases", paths=["releases/*/*"])
    repository.delegate("releases", "x", paths=["releases/x/*"])
    repository.delegate("releases", "zips", paths=["releases/y/*.zip"])
    names = {"README.md": "docs", "releases/x/1": "x", "releases/y/1.zip": "zips"}
    for name, role in names.items():
        repository.add_target(name, name.encode(), role)
    repository.add_target("releases/z/1.zip", b"not delegated", "zips")
    repository.publish()
    client = Client(repository)
    equal(client.download(*names), 0)
    equal(client.downloaded(), sorted(name.encode() for name in names))
    equal(client.download("releases/z/1.zip"), 1)


def case_hash_bins_and_prefixes():
    repository = Repository()
    bins = repository.delegate_to_bins(5, "bin")
    names = [f"file {number}" for number in range(10)]
    for name in names:
        repository.add_target(name, name.encode(), bins.get_role_for_target(name))
    repository.publish()
    client = Client(repository)
    equal(client.download(*names), 0)
    equal(client.downloaded(), sorted(name.encode() for name in names))

    repository = Repository()
    for digits in ("01234567", "89abcdef"):
        repository.delegate("targets", digits, path_hash_prefixes=list(digits))
    import hashlib

    for name in names:
        first = hashlib.sha256(name.encode()).hexdigest()[0]
        repository.add_target(name, name.encode(), "01234567" if first < "8" else "89abcdef")
    repository.publish()
    client = Client(repository)
    equal(client.download(*names), 0)


def case_a_delegated_role_that_is_expired_or_wrongly_signed():
    repository = Repository()
    repository.delegate("targets", "A")
    repository.add_target("one", b"1", "A")
    repository.delegated["A"].expires = in_days(-1)
    repository.publish()
    client = Client(repository)
    equal(client.refresh(), 0)
    equal(client.download("one"), 1)
    equal(len(os.listdir(client.metadata)), 4)
    repository.delegated["A"].expires = in_days(5)
    repository.delegated["A"].version = 2
    signers, repository.signers["A"] = repository.signers["A"], [CryptoSigner.generate_ed25519()]
    repository.publish()
    equal(client.download("one"), 1)
    repository.signers["A"] = signers
    repository.delegated["A"].version = 3
    repository.publish()
    equal(client.download("one"), 0)


def case_a_kept_role_is_checked_against_its_new_delegator():
    repository = Repository()
    repository.delegate("targets", "A")
    repository.add_target("one", b"1", "A")
    repository.add_target("two", b"2", "A")
    repository.publish()
    client = Client(repository)
    equal(client.download("one"), 0)
    old = repository.signers["A"]
    repository.targets.delegations.roles["A"].keyids.clear()
    new = CryptoSigner.generate_ed25519()
    repository.targets.add_key(new.public_key, "A")
    repository.publish(["targets", "snapshot", "timestamp"])
    equal(client.download("two"), 1)
    repository.signers["A"] = [new]
    repository.publish()
    equal(client.download("two"), 0)


# The clock


def case_a_faked_clock():
    try:
        libfaketime()
    except (ImportError, IndexError):
        print("left out: no libfaketime")
        return
    repository = Repository()
    repository.timestamp.expires = in_days(7)
    repository.publish()
    client = Client(repository)
    equal(client.refresh(), 0)
    equal(client.refresh(clock=18), 1)
    repository.timestamp.expires = in_days(21)
    repository.publish()
    equal(client.refresh(clock=18), 0)
    equal(client.version("timestamp"), 3)
    equal(client.refresh(), 0)


def main():
    cases = [name for name in globals() if name.startswith("case_")]
    wanted = sys.argv[2:] or cases
    failed = 0
    for name in wanted:
        try:
            globals()[name]()
            print(f"ok {name}")
        except Exception:
            failed += 1
            print(f"FAILED {name}\n{traceback.format_exc()}")
    sys.exit(1 if failed else 0)


main()
