"""deployment.py as another version of itself, for the tests of handovers.

    upgrade.py hash       hashes a template otherwise, and knows its ReplicaSets by the hash
    upgrade.py status     does not know status.terminatingReplicas, and leaves it as it finds it

Alone each of them rolls Deployments out as deployment.py does.
"""

import copy
import os
import sys

sys.dont_write_bytecode = True
import deployment

hash_before, counts_before = deployment.hash_of, deployment.Sync.counts


def hash_of(template, collisions):
    return hash_before({**template, "version": 2}, collisions)


def find_sets(self, owned, create):
    hashed = hash_of(self.spec["template"], self.status.get("collisionCount"))
    new = next((rs for rs in owned if rs["metadata"]["labels"].get(deployment.HASH) == hashed), None)
    old = [rs for rs in owned if rs is not new]
    revision = max([0, *(deployment.revision_of(rs) or 0 for rs in old)]) + 1
    if new:
        return self.refresh(new, revision), old
    return (self.create(old, revision) if create else None), old


def counts(self, new, old):
    status = counts_before(self, new, old)
    status.pop("terminatingReplicas", None)
    if "terminatingReplicas" in self.status:
        status["terminatingReplicas"] = copy.deepcopy(self.status["terminatingReplicas"])
    return status


if __name__ == "__main__":
    if "hash" in sys.argv[1:]:
        deployment.hash_of, deployment.Sync.find_sets = hash_of, find_sets
    if "status" in sys.argv[1:]:
        deployment.Sync.counts = counts
    deployment.Controller(deployment.Server(os.environ["KUBECONFIG"])).run()
