"""A controller of Deployments that creates ReplicaSets and does nothing else: it scales none, writes no
status, no revision and no Event. For the test that nothing is judged that a description does not claim.

    creates.py
"""

import hashlib
import json
import os
import queue
import sys

sys.dont_write_bytecode = True
import deployment


def replica_set(owner):
    spec, meta = owner["spec"], owner["metadata"]
    hashed = hashlib.sha256(json.dumps(spec["template"], sort_keys=True).encode()).hexdigest()[:10]
    template = json.loads(json.dumps(spec["template"]))
    template["metadata"].setdefault("labels", {})["creates/hash"] = hashed
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": f"{hashed}-of-{meta['name']}",
            "namespace": meta["namespace"],
            "labels": template["metadata"]["labels"],
            "ownerReferences": [{
                "apiVersion": "apps/v1", "kind": "Deployment", "name": meta["name"], "uid": meta["uid"], "controller": True,
            }],
        },
        "spec": {"replicas": spec["replicas"], "selector": {"matchLabels": template["metadata"]["labels"]}, "template": template},
    }


def run(server):
    changed = queue.SimpleQueue()
    deployment.Watch(server, deployment.Cache(), "deployments", lambda _kind, _before, now: changed.put(now)).start()
    api = deployment.Api(server)
    while True:
        owner = changed.get()
        if not owner or "deletionTimestamp" in owner["metadata"]:
            continue
        made = replica_set(owner)
        try:
            api.ask("POST", deployment.path_of(made, "replicasets", None), made)
        except deployment.Refused as refused:
            if refused.reason != "AlreadyExists":
                print(f"deployment {owner['metadata']['name']}: {refused}", file=sys.stderr)


if __name__ == "__main__":
    run(deployment.Server(os.environ["KUBECONFIG"]))
