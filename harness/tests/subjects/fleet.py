"""A controller of a kind of its own, Fleets, which owns a kind of its own, Squads, which own pods. It rolls
templates out within a Fleet's bounds, and claims no more: no status of a Fleet, no
Events, no revisions, no annotations. Python's standard library only.

    lockstep run cases/rolling --workload harness/tests/subjects/fleet.yaml \
        --subject "command:python3 harness/tests/subjects/fleet.py"

One thread lists and watches each kind; one worker decides. A Fleet decides from its Squads' status.
"""

import copy
import hashlib
import json
import math
import os
import sys
import threading

sys.dont_write_bytecode = True
import deployment

GROUP = "/apis/fleet.example.com/v1"
HASH = "fleet-hash"


def owner_of(kind, obj):
    return {"apiVersion": "fleet.example.com/v1", "kind": kind, "name": obj["metadata"]["name"], "uid": obj["metadata"]["uid"],
            "controller": True, "blockOwnerDeletion": True}


def is_owned(obj, owner):
    references = obj["metadata"].get("ownerReferences") or []
    return any(it.get("controller") and it["uid"] == owner["metadata"]["uid"] for it in references)


def is_deleting(obj):
    return "deletionTimestamp" in obj["metadata"]


def is_ready(pod):
    conditions = (pod.get("status") or {}).get("conditions") or []
    return any(it["type"] == "Ready" and it["status"] == "True" for it in conditions)


def bounds_of(spec):
    """How many pods more than replicas, and how many fewer; percentages are rounded in favour of pods."""
    def number(bound, rounded):
        if isinstance(bound, str):
            return rounded(spec["replicas"] * int(bound.removesuffix("%")) / 100)
        return bound or 0

    surge, unavailable = number(spec.get("surge"), math.ceil), number(spec.get("unavailable"), math.floor)
    return surge, (unavailable if surge or unavailable else 1)


class Watch(deployment.Watch):
    def __init__(self, server, cache, kind, changed):
        super().__init__(server, cache, kind, changed)
        self.path = "/api/v1/pods" if kind == "pods" else f"{GROUP}/{kind}"


class Controller:
    def __init__(self, server):
        self.server, self.cache, self.api = server, deployment.Cache(), deployment.Api(server)
        for kind in ("fleets", "squads"):
            self.cache.kinds[kind] = deployment.collections.defaultdict(dict)
        self.wake = threading.Event()

    def run(self):
        for kind in ("fleets", "squads", "pods"):
            Watch(self.server, self.cache, kind, lambda *_: self.wake.set()).start()
        while True:
            self.wake.wait()
            self.wake.clear()
            for kind, sync in (("squads", self.sync_squad), ("fleets", self.sync_fleet)):
                for obj in self.cache.all(kind):
                    try:
                        if not is_deleting(obj):
                            sync(obj)
                    except deployment.Refused as refused:
                        # The watch shows what was newer, and that wakes the worker again.
                        if refused.code not in (404, 409):
                            print(f"{kind} {obj['metadata']['name']}: {refused}", file=sys.stderr)

    def write(self, resource, obj, subresource=""):
        meta = obj["metadata"]
        path = f"{GROUP}/namespaces/{meta['namespace']}/{resource}/{meta['name']}{subresource}"
        self.cache.put(resource, self.api.ask("PUT", path, obj))

    # Squads

    def sync_squad(self, squad):
        namespace, wanted = squad["metadata"]["namespace"], squad["spec"]["size"]
        pods = [pod for pod in self.cache.list("pods", namespace) if is_owned(pod, squad)]
        alive = [pod for pod in pods if not is_deleting(pod)
                 and (pod.get("status") or {}).get("phase") not in ("Failed", "Succeeded")]
        for _ in range(wanted - len(alive)):
            template = squad["spec"]["blueprint"]
            meta = {**(template.get("metadata") or {}), "generateName": squad["metadata"]["name"] + "-",
                    "namespace": namespace, "ownerReferences": [owner_of("Squad", squad)]}
            body = {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": template["spec"]}
            alive.append(self.api.ask("POST", f"/api/v1/namespaces/{namespace}/pods", body))
            self.cache.put("pods", alive[-1])
        # Pods that are not ready go first.
        alive.sort(key=is_ready)
        for pod in alive[:max(0, len(alive) - wanted)]:
            self.api.ask("DELETE", f"/api/v1/namespaces/{namespace}/pods/{pod['metadata']['name']}")
            pod = copy.deepcopy(pod)
            pod["metadata"]["deletionTimestamp"] = deployment.timestamp()
            self.cache.put("pods", pod)
        alive = alive[max(0, len(alive) - wanted):]
        ready = sum(map(is_ready, alive))
        status = {"seen": squad["metadata"]["generation"], "count": len(alive), "up": ready, "usable": ready}
        if squad.get("status") != status:
            self.write("squads", {**squad, "status": status}, "/status")

    # Fleets

    def sync_fleet(self, fleet):
        namespace, spec = fleet["metadata"]["namespace"], fleet["spec"]
        squads = [squad for squad in self.cache.list("squads", namespace) if is_owned(squad, fleet)]
        digest = hashlib.sha256(json.dumps(spec["template"], sort_keys=True).encode()).hexdigest()[:10]
        name = f"{fleet['metadata']['name']}-{digest}"
        new = next((squad for squad in squads if squad["metadata"]["name"] == name), None)
        old = [squad for squad in squads if squad is not new and not is_deleting(squad)]
        old.sort(key=lambda squad: squad["metadata"]["creationTimestamp"])
        old = [squad for squad in old if squad["spec"]["size"]]
        replicas, (surge, unavailable) = spec["replicas"], bounds_of(spec)
        total = sum(squad["spec"]["size"] for squad in squads)
        room = max(0, replicas + surge - total)
        if new is None:
            return self.create(fleet, name, digest, min(replicas, room))
        size = new["spec"]["size"]
        goal = min(replicas, size + room) if old else replicas
        if goal != size:
            return self.resize(new, goal)
        return self.reduce(replicas - unavailable, new, old)

    def reduce(self, least, new, old):
        """Takes as many old pods as availability allows, unavailable ones first."""
        sizes, usable = {}, {}
        for squad in [*old, new]:
            status = squad.get("status") or {}
            if status.get("seen") != squad["metadata"]["generation"]:
                return
            name = squad["metadata"]["name"]
            sizes[name], usable[name] = squad["spec"]["size"], status["usable"]
        of_new = new["metadata"]["name"]
        room = sum(sizes.values()) - least - (sizes[of_new] - usable[of_new])
        for squad in old:
            name = squad["metadata"]["name"]
            cut = max(0, min(room, sizes[name] - usable[name]))
            room -= cut
            sizes[name] -= cut
            self.resize(squad, sizes[name])
        room = sum(usable.values()) - least
        for squad in old:
            name = squad["metadata"]["name"]
            cut = max(0, min(room, sizes[name]))
            room -= cut
            sizes[name] -= cut
            self.resize(squad, sizes[name])

    def create(self, fleet, name, digest, size):
        namespace, template = fleet["metadata"]["namespace"], copy.deepcopy(fleet["spec"]["template"])
        labels = {**template["metadata"]["labels"], HASH: digest}
        template["metadata"]["labels"] = labels
        selector = {"matchLabels": {**fleet["spec"]["selector"]["matchLabels"], HASH: digest}}
        squad = {"apiVersion": "fleet.example.com/v1", "kind": "Squad",
                 "metadata": {"name": name, "namespace": namespace, "labels": labels, "ownerReferences": [owner_of("Fleet", fleet)]},
                 "spec": {"size": size, "selector": selector, "blueprint": template}}
        self.cache.put("squads", self.api.ask("POST", f"{GROUP}/namespaces/{namespace}/squads", squad))
        self.wake.set()

    def resize(self, squad, size):
        squad = self.cache.get("squads", squad["metadata"]["namespace"], squad["metadata"]["name"])
        if squad["spec"]["size"] != size:
            self.write("squads", {**squad, "spec": {**squad["spec"], "size": size}})
            self.wake.set()


if __name__ == "__main__":
    Controller(deployment.Server(os.environ["KUBECONFIG"])).run()
