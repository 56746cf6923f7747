"""Root metadata and thresholds; for client_cases.py."""

import json

from cryptography.hazmat.primitives.asymmetric import ec
from securesystemslib.signer import CryptoSigner, SSlibKey

from repository import Repository, in_days
from tuf_client import Client, equal


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
