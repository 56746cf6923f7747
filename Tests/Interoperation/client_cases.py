"""tuf-client against repositories of the reference implementation, good ones and hostile ones.

client_cases.py TUF_CLIENT [CASE...]: runs each case; exits 1 if one fails.
"""

import os
import sys
import traceback

from securesystemslib.signer import CryptoSigner

import delegation_cases
import root_cases
from repository import Repository, in_days
from tuf_client import Client, check, equal, libfaketime


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
    modules = [sys.modules[__name__], root_cases, delegation_cases]
    cases = {
        name: case for module in modules for name, case in vars(module).items() if name.startswith("case_")
    }
    failed = 0
    for name in sys.argv[2:] or cases:
        try:
            cases[name]()
            print(f"ok {name}")
        except Exception:
            failed += 1
            print(f"FAILED {name}\n{traceback.format_exc()}")
    sys.exit(1 if failed else 0)


main()
