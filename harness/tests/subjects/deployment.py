#!/usr/bin/env python3
"""A Deployment controller that uses only Python's standard library.

    lockstep run cases/rolling --cluster sim --subject "command:python3 harness/tests/subjects/deployment.py"

It is for the cases that judge the Deployment controller alone (`controllers: [deployment]`, which is
the default): adoption, annotations, deadline, delete, during, history, pause, recreate, rollback,
rolling, scale, status and undo. It has no ReplicaSet controller and restarts nothing when a config
changes, so the cases of replicaset, kill-order and config-restart are not its own.

Structure: three threads list and watch Deployments, ReplicaSets and pods into one cache, and queue
the Deployments that a change concerns. Workers take them from the queue and `Sync` decides and
writes, following upstream's deployment controller. Every PUT carries the cached resourceVersion: the
server refuses what was decided on an old view, and the key comes back after a pause.
"""

import base64
import collections
import copy
import datetime
import hashlib
import heapq
import http.client
import json
import math
import os
import queue
import re
import ssl
import sys
import threading
import time
import urllib.parse

WORKERS = 5
HASH = "pod-template-hash"
REVISION = "deployment.kubernetes.io/revision"
HISTORY = "deployment.kubernetes.io/revision-history"
DESIRED = "deployment.kubernetes.io/desired-replicas"
MAX = "deployment.kubernetes.io/max-replicas"
ROLLBACK_TO = "deprecated.deployment.rollback.to"
NOT_COPIED = {"kubectl.kubernetes.io/last-applied-configuration", REVISION, HISTORY, DESIRED, MAX, ROLLBACK_TO}
HISTORY_LIMIT = 2000
NO_DEADLINE = 2**31 - 1
APPS, CORE = "/apis/apps/v1", "/api/v1"
JSON, STRATEGIC = "application/json", "application/strategic-merge-patch+json"


# --- The API server


class Refused(Exception):
    """The server returned an error."""

    def __init__(self, code, text):
        try:
            status = json.loads(text)
        except ValueError:
            status = {}
        self.code, self.reason = code, status.get("reason", "")
        self.causes = [cause.get("reason") for cause in (status.get("details") or {}).get("causes") or []]
        super().__init__(status.get("message") or text[:200])


class Server:
    """The server, credentials and CA of the kubeconfig."""

    def __init__(self, path):
        text = open(path, encoding="utf-8").read()

        # The standard library has no YAML parser. A kubeconfig of one cluster and one user needs none.
        def field(name):
            found = re.search(rf'["\s-]{name}"?:\s*"?([^"\s,}}]+)', text)
            return found and found.group(1)

        self.address, self.token = urllib.parse.urlsplit(field("server")), field("token")
        self.tls = ssl.create_default_context(cadata=base64.b64decode(field("certificate-authority-data")).decode())

    def connect(self):
        return http.client.HTTPSConnection(self.address.hostname, self.address.port, context=self.tls)


class Api:
    """Requests over a persistent connection; each thread has its own."""

    def __init__(self, server):
        self.server, self.connection = server, None

    def open(self, method, path, body=None, kind=JSON):
        headers = {"Authorization": f"Bearer {self.server.token}", "Accept": JSON}
        if body is not None:
            headers["Content-Type"] = kind
            body = json.dumps(body)
        if self.connection is None:
            self.connection = self.server.connect()
        try:
            self.connection.request(method, self.server.address.path.rstrip("/") + path, body, headers)
            return self.connection.getresponse()
        except BaseException:
            self.close()
            raise

    def close(self):
        if self.connection is not None:
            self.connection.close()
            self.connection = None

    def ask(self, method, path, body=None, kind=JSON):
        answer = self.open(method, path, body, kind)
        try:
            text = answer.read().decode()
        except BaseException:
            self.close()
            raise
        if not 200 <= answer.status < 300:
            raise Refused(answer.status, text)
        return json.loads(text)


def path_of(obj, resource, subresource=""):
    meta = obj["metadata"]
    group = CORE if resource == "events" else APPS
    name = f"/{meta['name']}" if subresource is not None else ""
    return f"{group}/namespaces/{meta['namespace']}/{resource}{name}{'/' + subresource if subresource else ''}"


# --- Cache


class Cache:
    """The newest objects from the watches, by kind, namespace and name."""

    def __init__(self):
        self.lock = threading.RLock()
        self.kinds = {kind: collections.defaultdict(dict) for kind in ("deployments", "replicasets", "pods")}

    def get(self, kind, namespace, name):
        with self.lock:
            return self.kinds[kind].get(namespace, {}).get(name)

    def list(self, kind, namespace):
        with self.lock:
            return list(self.kinds[kind].get(namespace, {}).values())

    def all(self, kind):
        with self.lock:
            return [obj for names in self.kinds[kind].values() for obj in names.values()]

    def put(self, kind, obj):
        with self.lock:
            names, name = self.kinds[kind][obj["metadata"]["namespace"]], obj["metadata"]["name"]
            before, names[name] = names.get(name), obj
            return before

    def remove(self, kind, obj):
        with self.lock:
            return self.kinds[kind][obj["metadata"]["namespace"]].pop(obj["metadata"]["name"], None)


class Watch(threading.Thread):
    """Lists one kind, then watches it; lists again when the watch fails."""

    def __init__(self, server, cache, kind, changed):
        super().__init__(name=f"watch {kind}", daemon=True)
        self.api, self.cache, self.kind, self.changed = Api(server), cache, kind, changed
        self.path = f"{CORE if kind == 'pods' else APPS}/{kind}"
        self.listed = threading.Event()

    def run(self):
        while True:
            try:
                version = self.list()
                self.listed.set()
                self.watch(version)
            except (OSError, http.client.HTTPException, Refused, ValueError) as error:
                log(f"{self.name}: {error or type(error).__name__}; listing again")
                self.api.close()
                time.sleep(0.2)

    def list(self):
        listed = self.api.ask("GET", self.path)
        found = {obj["metadata"].get("uid") for obj in listed["items"]}
        for obj in self.cache.all(self.kind):
            if obj["metadata"].get("uid") not in found:
                self.changed(self.kind, self.cache.remove(self.kind, obj), None)
        for obj in listed["items"]:
            self.changed(self.kind, self.cache.put(self.kind, obj), obj)
        return listed["metadata"]["resourceVersion"]

    def watch(self, version):
        while True:
            query = f"?watch=true&allowWatchBookmarks=true&resourceVersion={version}"
            answer = self.api.open("GET", self.path + query)
            if answer.status != 200:
                raise Refused(answer.status, answer.read().decode())
            while line := answer.readline():
                event = json.loads(line)
                kind, obj = event["type"], event["object"]
                if kind == "ERROR":
                    raise Refused(obj.get("code", 0), json.dumps(obj))
                version = obj["metadata"]["resourceVersion"]
                if kind in ("ADDED", "MODIFIED"):
                    self.changed(self.kind, self.cache.put(self.kind, obj), obj)
                elif kind == "DELETED":
                    self.cache.remove(self.kind, obj)
                    self.changed(self.kind, obj, None)
            self.api.close()


# --- Queue


class Queue:
    """A work queue: each key once, by one worker at a time; with delays and back-off."""

    def __init__(self):
        self.wake = threading.Condition()
        self.ready, self.waiting, self.busy = collections.OrderedDict(), [], set()
        self.again, self.failures = set(), collections.Counter()

    def add(self, key):
        with self.wake:
            if key in self.busy:
                self.again.add(key)
            else:
                self.ready[key] = None
                self.wake.notify()

    def add_after(self, key, seconds):
        with self.wake:
            heapq.heappush(self.waiting, (time.monotonic() + seconds, key))
            self.wake.notify()

    def failed(self, key):
        with self.wake:
            self.failures[key] += 1
            self.add_after(key, min(0.005 * 2 ** (self.failures[key] - 1), 60))

    def forget(self, key):
        with self.wake:
            self.failures.pop(key, None)

    def take(self):
        with self.wake:
            while True:
                now = time.monotonic()
                while self.waiting and self.waiting[0][0] <= now:
                    self.add(heapq.heappop(self.waiting)[1])
                if self.ready:
                    key, _ = self.ready.popitem(last=False)
                    self.busy.add(key)
                    return key
                self.wake.wait(self.waiting[0][0] - now if self.waiting else None)

    def done(self, key):
        with self.wake:
            self.busy.discard(key)
            if key in self.again:
                self.again.discard(key)
                self.add(key)


class Recorder(threading.Thread):
    """Writes Events in order, in the background."""

    def __init__(self, server):
        super().__init__(name="events", daemon=True)
        self.api, self.queue = Api(server), queue.SimpleQueue()

    def record(self, about, kind, reason, message):
        meta, now = about["metadata"], timestamp()
        self.queue.put({
            "apiVersion": "v1", "kind": "Event", "type": kind, "reason": reason, "message": message, "count": 1,
            "metadata": {"name": f"{meta['name']}.{time.time_ns():x}", "namespace": meta["namespace"]},
            "firstTimestamp": now, "lastTimestamp": now, "source": {"component": "deployment-controller"},
            "involvedObject": {"apiVersion": "apps/v1", "kind": "Deployment", "name": meta["name"],
                               "namespace": meta["namespace"], "uid": meta["uid"],
                               "resourceVersion": meta["resourceVersion"]},
        })

    def run(self):
        while True:
            event = self.queue.get()
            for pause in (0.1, 1, 5, None):
                try:
                    self.api.ask("POST", path_of(event, "events", None), event)
                    break
                except Refused as error:
                    log(f"event refused: {error}")
                    break
                except (OSError, http.client.HTTPException) as error:
                    log(f"event not written: {error}")
                    self.api.close()
                    time.sleep(pause or 0)


class Controller:
    """Starts the threads, and maps changes to Deployments."""

    def __init__(self, server):
        self.server, self.cache, self.queue, self.recorder = server, Cache(), Queue(), Recorder(server)

    def run(self):
        watches = [Watch(self.server, self.cache, kind, self.changed) for kind in self.cache.kinds]
        workers = [threading.Thread(target=self.work, daemon=True) for _ in range(WORKERS)]
        for thread in [*watches, self.recorder]:
            thread.start()
        # What another controller has left is known only once all three lists are complete.
        for watch in watches:
            watch.listed.wait()
        for thread in workers:
            thread.start()
        for thread in workers:
            thread.join()

    def work(self):
        api = Api(self.server)
        while True:
            key = self.queue.take()
            try:
                deployment = self.cache.get("deployments", *key)
                if deployment:
                    Sync(self, api, key, deployment).run()
                self.queue.forget(key)
            except OutOfDate:
                # The watch shows what this sync has written, and that queues the key.
                self.queue.forget(key)
            except Exception as error:
                if not (isinstance(error, Refused) and error.code == 409):
                    log(f"deployment {'/'.join(key)}: {type(error).__name__}: {error}")
                if not isinstance(error, Refused):
                    api.close()
                self.queue.failed(key)
            finally:
                self.queue.done(key)

    def changed(self, kind, before, now):
        if kind == "deployments":
            self.queue.add(key_of(now or before))
        elif kind == "replicasets":
            for deployment in self.concerned(before, now):
                self.queue.add(key_of(deployment))
        elif now is None:
            self.pod_gone(before)

    def concerned(self, before, now):
        """The owner and the previous owner; without an owner, the Deployments that select it."""
        versions = [rs for rs in (before, now) if rs]
        namespace = versions[0]["metadata"]["namespace"]
        found = [self.owner(namespace, owner) for rs in versions if (owner := controller_of(rs))]
        if now and not controller_of(now) and not is_deleting(now):
            deployments = self.cache.list("deployments", namespace)
            found += [deployment for deployment in deployments if selects(deployment, now)]
        return [deployment for deployment in found if deployment]

    def owner(self, namespace, owner):
        deployment = owner["kind"] == "Deployment" and self.cache.get("deployments", namespace, owner["name"])
        return deployment if deployment and deployment["metadata"]["uid"] == owner["uid"] else None

    def pod_gone(self, pod):
        """A Recreate Deployment waits for the end of its last pod."""
        owner, namespace = controller_of(pod), pod["metadata"]["namespace"]
        rs = owner and self.cache.get("replicasets", namespace, owner["name"])
        deployment = rs and controller_of(rs) and self.owner(namespace, controller_of(rs))
        if not deployment or deployment["spec"]["strategy"]["type"] != "Recreate":
            return
        owned = {rs["metadata"]["uid"] for rs in self.cache.list("replicasets", namespace)
                 if owns(deployment, rs) and selects(deployment, rs)}
        if not any(uid_of_owner(pod) in owned for pod in self.cache.list("pods", namespace)):
            self.queue.add(key_of(deployment))


# --- Objects


def log(text):
    print(text, file=sys.stderr, flush=True)


def timestamp():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def seconds_since(text):
    then = datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
    return (datetime.datetime.now(datetime.timezone.utc) - then).total_seconds()


def key_of(obj):
    return obj["metadata"]["namespace"], obj["metadata"]["name"]


def is_deleting(obj):
    return "deletionTimestamp" in obj["metadata"]


def controller_of(obj):
    owners = obj["metadata"].get("ownerReferences") or []
    return next((owner for owner in owners if owner.get("controller")), None)


def uid_of_owner(obj):
    owner = controller_of(obj)
    return owner and owner["uid"]


def owns(deployment, rs):
    return uid_of_owner(rs) == deployment["metadata"]["uid"]


def annotations_of(obj):
    return obj["metadata"].get("annotations") or {}


def number(text):
    """An integer, or None."""
    return int(text) if text is not None and re.fullmatch(r"[+-]?\d+", text) else None


def revision_of(rs):
    return number(annotations_of(rs).get(REVISION))


def count_of(rs, name):
    found = number(annotations_of(rs).get(name))
    return found if found is not None and 0 <= found < 2**31 else None


def selects(deployment, obj):
    selector, labels = deployment["spec"]["selector"], obj["metadata"].get("labels") or {}
    if not selector.get("matchLabels") and not selector.get("matchExpressions"):
        return False

    def holds(expression):
        key, values = expression["key"], expression.get("values") or []
        return {"In": labels.get(key) in values, "NotIn": labels.get(key) not in values,
                "Exists": key in labels, "DoesNotExist": key not in labels}[expression["operator"]]

    equal = all(labels.get(key) == value for key, value in (selector.get("matchLabels") or {}).items())
    return equal and all(map(holds, selector.get("matchExpressions") or []))


def same_template(left, right):
    """Whether they are equal except for the hash; empty and absent fields are equal."""

    def plain(value):
        if isinstance(value, dict):
            found = {key: plain(item) for key, item in value.items()}
            return {key: item for key, item in found.items() if item not in (None, {}, [])}
        return [plain(item) for item in value] if isinstance(value, list) else value

    def without_hash(template):
        template = copy.deepcopy(template)
        ((template.get("metadata") or {}).get("labels") or {}).pop(HASH, None)
        return plain(template)

    return without_hash(left) == without_hash(right)


def hash_of(template, collisions):
    text = json.dumps(template, sort_keys=True) + (str(collisions) if collisions is not None else "")
    return "".join("bcdfghjklmnpqrstvwxz2456789"[byte % 27] for byte in hashlib.sha256(text.encode()).digest()[:10])


def age(obj):
    return obj["metadata"]["creationTimestamp"], obj["metadata"]["name"]


def wanted(sets):
    return sum(rs["spec"].get("replicas", 1) for rs in sets)


def reported(sets, field):
    return sum((rs.get("status") or {}).get(field, 0) for rs in sets)


def find(conditions, kind):
    return next((condition for condition in conditions if condition["type"] == kind), None)


def set_condition(conditions, kind, status, reason, message, replace=False):
    """Unchanged if status and reason are; the transition time changes only with the status."""
    current, now = find(conditions, kind), timestamp()
    if current and not replace and (current["status"], current.get("reason")) == (status, reason):
        return
    since = current["lastTransitionTime"] if current and current["status"] == status else now
    remove_condition(conditions, kind)
    conditions.append({"type": kind, "status": status, "reason": reason, "message": message,
                       "lastUpdateTime": now, "lastTransitionTime": since})


def remove_condition(conditions, kind):
    conditions[:] = [condition for condition in conditions if condition["type"] != kind]


# --- One reconciliation of a Deployment


class OutOfDate(Exception):
    """The next write would be based on a version that this sync has already replaced."""


class Sync:
    """Decides and writes, in the order of upstream's syncDeployment."""

    def __init__(self, controller, api, key, deployment):
        self.controller, self.api, self.key = controller, api, key
        self.cached, self.deployment = deployment, copy.deepcopy(deployment)
        self.status = self.deployment.setdefault("status", {})
        self.conditions = self.status.setdefault("conditions", [])
        self.spec, self.replicas = self.deployment["spec"], deployment["spec"].get("replicas", 1)
        self.rolling = self.spec["strategy"]["type"] == "RollingUpdate"
        # Outdated cached versions.
        self.written = set()

    def run(self):
        owned = self.claim()
        if is_deleting(self.deployment):
            return self.write_counts(*self.find_sets(owned, create=False))
        self.note_pause()
        if self.spec.get("paused"):
            return self.scale_and_report(owned)
        asked = number(annotations_of(self.deployment).get(ROLLBACK_TO))
        if asked is not None:
            return self.roll_back(owned, asked)
        if self.is_scaling_event(owned):
            return self.scale_and_report(owned)
        return self.roll_out_rolling(owned) if self.rolling else self.roll_out_recreate(owned)

    # Writing

    def write_status(self, status):
        """Also writes the revision. Once per sync, as the cached version is outdated afterwards."""
        self.write_deployment("status", {**self.deployment, "status": status})

    def write_deployment(self, subresource, body):
        if "" in self.written:
            raise OutOfDate
        self.written.add("")
        self.api.ask("PUT", path_of(body, "deployments", subresource),
                     {**body, "apiVersion": "apps/v1", "kind": "Deployment"})

    def write_replica_set(self, rs, change):
        """Changes a copy of the ReplicaSet; returns the server's result."""
        name, version = rs["metadata"]["name"], rs["metadata"]["resourceVersion"]
        if (name, version) in self.written:
            raise OutOfDate
        rs = copy.deepcopy(rs)
        change(rs)
        answer = self.api.ask("PUT", path_of(rs, "replicasets"),
                              {**rs, "apiVersion": "apps/v1", "kind": "ReplicaSet"})
        self.written.add((name, version))
        return answer

    def event(self, kind, reason, message):
        self.controller.recorder.record(self.cached, kind, reason, message)

    # Ownership

    def claim(self):
        """The ReplicaSets of this Deployment, oldest first, after adopting orphans and releasing others."""
        owned, deleting, alive = [], is_deleting(self.deployment), False
        meta = self.deployment["metadata"]
        for rs in self.controller.cache.list("replicasets", self.key[0]):
            matches, uid = selects(self.deployment, rs), rs["metadata"]["uid"]
            if controller_of(rs):
                if owns(self.deployment, rs) and matches:
                    owned.append(rs)
                elif owns(self.deployment, rs) and not deleting:
                    self.patch(rs, {"uid": uid, "ownerReferences": [{"$patch": "delete", "uid": meta["uid"]}]})
            elif matches and not deleting and not is_deleting(rs):
                alive = alive or self.confirm_alive()
                self.patch(rs, {"uid": uid, "ownerReferences": [self.reference()]})
                self.written.add((rs["metadata"]["name"], rs["metadata"]["resourceVersion"]))
                owned.append(rs)
        return sorted(owned, key=age)

    def patch(self, rs, metadata):
        try:
            self.api.ask("PATCH", path_of(rs, "replicasets"), {"metadata": metadata}, STRATEGIC)
        except Refused as error:
            releasing = "$patch" in metadata["ownerReferences"][0]
            if not (releasing and error.code in (404, 422)):
                raise

    def confirm_alive(self):
        """A Deployment that is being deleted, which the cache may not show yet, adopts nothing."""
        fresh = self.api.ask("GET", path_of(self.deployment, "deployments"))
        if is_deleting(fresh) or fresh["metadata"]["uid"] != self.deployment["metadata"]["uid"]:
            raise RuntimeError("the deployment is being deleted, or has been made anew")
        return True

    def reference(self):
        meta = self.deployment["metadata"]
        return {"apiVersion": "apps/v1", "kind": "Deployment", "name": meta["name"], "uid": meta["uid"],
                "controller": True, "blockOwnerDeletion": True}

    # Which ReplicaSet is the new one

    def find_sets(self, owned, create):
        """The new ReplicaSet, brought up to date, and the old ones, oldest first."""
        new = next((rs for rs in owned if same_template(rs["spec"]["template"], self.spec["template"])), None)
        old = [rs for rs in owned if rs is not new]
        revision = max([0, *(revision_of(rs) or 0 for rs in old)]) + 1
        if new:
            new = self.refresh(new, revision)
        elif create:
            new = self.create(old, revision)
        return new, old

    def refresh(self, rs, revision):
        found, counts = self.annotations_for(annotations_of(rs), revision)
        seconds = self.spec.get("minReadySeconds", 0)
        if counts or rs["spec"].get("minReadySeconds", 0) != seconds:
            def change(rs):
                rs["metadata"].setdefault("annotations", {}).update(found)
                rs["spec"]["minReadySeconds"] = seconds

            return self.write_replica_set(rs, change)
        changed = self.set_revision(annotations_of(rs).get(REVISION, ""))
        if self.deadline() is not None and not find(self.conditions, "Progressing"):
            message = f'Found new replica set "{rs["metadata"]["name"]}"'
            set_condition(self.conditions, "Progressing", "True", "FoundNewReplicaSet", message)
            changed = True
        if changed:
            self.write_status(self.status)
        return rs

    def annotations_for(self, current, revision):
        """The annotations to update, and whether they require a write."""
        found = {key: value for key, value in annotations_of(self.deployment).items()
                 if key not in NOT_COPIED and current.get(key) != value}
        before = current.get(REVISION)
        if before and number(before) is None:
            return found, False
        if (number(before) or 0) < revision:
            found[REVISION] = str(revision)
            if before is not None:
                entries = [entry for entry in current.get(HISTORY, "").split(",") if entry] + [before]
                while len(entries) > 1 and len(",".join(entries)) > HISTORY_LIMIT:
                    entries.pop(0)
                found[HISTORY] = ",".join(entries)
        return found, bool(found)

    def set_revision(self, revision):
        annotations = self.deployment["metadata"].setdefault("annotations", {})
        if annotations.get(REVISION, "") == revision:
            return False
        annotations[REVISION] = revision
        return True

    def create(self, old, revision):
        template, collisions = copy.deepcopy(self.spec["template"]), self.status.get("collisionCount")
        hashed, meta = hash_of(template, collisions), self.deployment["metadata"]
        name = f"{meta['name'][:252 - len(hashed)]}-{hashed}"
        labels = template.setdefault("metadata", {}).setdefault("labels", {})
        labels[HASH] = hashed
        selector = copy.deepcopy(self.spec["selector"])
        selector.setdefault("matchLabels", {})[HASH] = hashed
        size = self.new_size(wanted(old), 0)
        annotations = {**self.annotations_for({}, revision)[0], **self.sizes()}
        rs = {"apiVersion": "apps/v1", "kind": "ReplicaSet",
              "metadata": {"name": name, "namespace": meta["namespace"], "labels": dict(labels),
                           "annotations": annotations, "ownerReferences": [self.reference()]},
              "spec": {"replicas": size, "minReadySeconds": self.spec.get("minReadySeconds", 0),
                       "selector": selector, "template": template}}
        try:
            created = self.api.ask("POST", path_of(rs, "replicasets", None), rs)
        except Refused as error:
            self.not_created(name, error)
            raise
        if size:
            self.event("Normal", "ScalingReplicaSet", f"Scaled up replica set {name} from 0 to {size}")
        changed = self.set_revision(str(revision))
        if self.deadline() is not None:
            message = f'Created new replica set "{name}"'
            set_condition(self.conditions, "Progressing", "True", "NewReplicaSetCreated", message)
            changed = True
        if changed:
            self.write_status(self.status)
        return created

    def not_created(self, name, error):
        """A name in use is a hash collision; other errors are reported."""
        if error.reason == "AlreadyExists":
            existing = self.controller.cache.get("replicasets", self.key[0], name)
            template = existing and existing["spec"]["template"]
            if existing and not (owns(self.deployment, existing) and same_template(template, self.spec["template"])):
                self.status["collisionCount"] = self.status.get("collisionCount", 0) + 1
                self.write_status(self.status)
            return
        if "NamespaceTerminating" in error.causes:
            return
        message = f'Failed to create new replica set "{name}": {error}'
        if self.deadline() is not None:
            before = copy.deepcopy(self.conditions)
            set_condition(self.conditions, "Progressing", "False", "ReplicaSetCreateError", message)
            if before != self.conditions:
                self.write_status(self.status)
        self.event("Warning", "ReplicaSetCreateError", message)

    # Sizes

    def bound(self, name, rounded):
        value = (self.spec["strategy"].get("rollingUpdate") or {}).get(name, 0)
        return rounded(int(value[:-1]) * self.replicas / 100) if isinstance(value, str) else value

    def max_surge(self):
        return self.bound("maxSurge", math.ceil) if self.rolling else 0

    def max_unavailable(self):
        if not self.rolling or self.replicas == 0:
            return 0
        unavailable = self.bound("maxUnavailable", math.floor)
        # If nothing could change otherwise, one pod may be unavailable.
        return min(unavailable if unavailable or self.max_surge() else 1, self.replicas)

    def min_available(self):
        return self.replicas - self.max_unavailable()

    def sizes(self):
        return {DESIRED: str(self.replicas), MAX: str(self.replicas + self.max_surge())}

    def new_size(self, everything, current):
        most = self.replicas + self.max_surge()
        if not self.rolling:
            return self.replicas
        return current if everything >= most else current + min(most - everything, self.replicas - current)

    def resize(self, rs, size, refresh=False):
        """Whether the size changed, and the resulting ReplicaSet. With `refresh`, it also writes changed annotations alone."""
        name, current, annotations = rs["metadata"]["name"], rs["spec"].get("replicas", 1), self.sizes()
        behind = any(annotations_of(rs).get(key) != value for key, value in annotations.items())
        if current == size and not (refresh and behind):
            return False, rs

        def change(rs):
            rs["spec"]["replicas"] = size
            rs["metadata"].setdefault("annotations", {}).update(annotations)

        answer = self.write_replica_set(rs, change)
        if current != size:
            direction = "up" if current < size else "down"
            self.event("Normal", "ScalingReplicaSet",
                       f"Scaled {direction} replica set {name} from {current} to {size}")
        return current != size, answer

    # Scaling and pausing

    def note_pause(self):
        progressing = find(self.conditions, "Progressing")
        reason = progressing and progressing.get("reason")
        if self.deadline() is None or reason == "ProgressDeadlineExceeded":
            return
        if self.spec.get("paused") and reason != "DeploymentPaused":
            word = ("DeploymentPaused", "Deployment is paused")
        elif not self.spec.get("paused") and reason == "DeploymentPaused":
            word = ("DeploymentResumed", "Deployment is resumed")
        else:
            return
        set_condition(self.conditions, "Progressing", "Unknown", *word)
        self.write_status(self.status)

    def is_scaling_event(self, owned):
        new, old = self.find_sets(owned, create=False)
        active = active_of(old + ([new] if new else []))
        return any(count_of(rs, DESIRED) not in (None, self.replicas) for rs in active)

    def scale_and_report(self, owned):
        new, old = self.find_sets(owned, create=False)
        self.scale(new, old)
        if self.spec.get("paused") and ROLLBACK_TO not in annotations_of(self.deployment):
            self.clean_up(old)
        self.write_counts(new, old)

    def scale(self, new, old):
        newest_first = old[::-1]
        active = active_of(newest_first + ([new] if new else []))
        if len(active) < 2:
            only = (active or ([new] if new else newest_first) or [None])[0]
            if only:
                self.resize(only, self.replicas)
        elif new and self.is_saturated(new):
            for rs in active_of(newest_first):
                self.resize(rs, 0)
        elif self.rolling:
            for rs, size in self.proportions(active):
                self.resize(rs, size, refresh=True)

    def is_saturated(self, new):
        size, desired = new["spec"].get("replicas", 1), number(annotations_of(new).get(DESIRED))
        return (size, desired, reported([new], "availableReplicas")) == (self.replicas,) * 3

    def proportions(self, active):
        """New sizes, the largest first; among equals the newest grows and the oldest shrinks first."""
        most = self.replicas + self.max_surge() if self.replicas else 0
        to_add = most - wanted(active)
        active = sorted(active, key=age, reverse=to_add > 0)
        active.sort(key=lambda rs: -rs["spec"]["replicas"])
        added, sized = 0, []
        for rs in active:
            share = self.share(rs, to_add, added)
            added += share
            sized.append([rs, rs["spec"]["replicas"] + share])
        if to_add:
            # The remainder of rounding.
            sized[0][1] = max(0, sized[0][1] + to_add - added)
        return sized

    def share(self, rs, to_add, added):
        size = rs["spec"]["replicas"]
        if size == 0 or to_add in (0, added):
            return 0
        if self.replicas == 0:
            fraction = -size
        else:
            before = count_of(rs, MAX) or self.status.get("replicas", 0)
            if not before:
                return 0
            fraction = math.floor(size * (self.replicas + self.max_surge()) / before + 0.5) - size
        return min(fraction, to_add - added) if to_add > 0 else max(fraction, to_add - added)

    # Rolling out

    def roll_out_rolling(self, owned):
        new, old = self.find_sets(owned, create=True)
        current = new["spec"].get("replicas", 1)
        size = self.replicas if current >= self.replicas else self.new_size(wanted([*old, new]), current)
        moved, _ = self.resize(new, size)
        moved = moved or self.reduce_old(new, old)
        if not moved and self.is_complete(self.status):
            self.clean_up(old)
        self.report_progress(new, old)

    def reduce_old(self, new, old):
        """Scales old ReplicaSets down as far as availability allows; unavailable pods first."""
        active = active_of(old)
        unready = new["spec"].get("replicas", 1) - reported([new], "availableReplicas")
        most = wanted([*old, new]) - self.min_available() - unready
        if not wanted(active) or most <= 0:
            return False
        try:
            active, total = self.reduce_unhealthy(active, most)
            return total + self.reduce_healthy(active, new) > 0
        except Refused as error:
            # The status is still written, and its watch event triggers another sync.
            log(f"deployment {'/'.join(self.key)}: {error}")
            return False
        except OutOfDate:
            return False

    def reduce_unhealthy(self, active, most):
        total, after = 0, []
        for rs in active:
            unhealthy = rs["spec"]["replicas"] - reported([rs], "availableReplicas")
            if unhealthy < 0 and total < most:
                # Its status does not show an earlier scale-down yet.
                raise OutOfDate
            cut = min(unhealthy, most - total)
            if cut > 0:
                _, rs = self.resize(rs, rs["spec"]["replicas"] - cut)
                total += cut
            after.append(rs)
        return after, total

    def reduce_healthy(self, active, new):
        budget, total = reported([*active, new], "availableReplicas") - self.min_available(), 0
        for rs in active:
            cut = min(rs["spec"]["replicas"], budget - total)
            if cut > 0:
                self.resize(rs, rs["spec"]["replicas"] - cut)
                total += cut
        return total

    def roll_out_recreate(self, owned):
        new, old = self.find_sets(owned, create=False)
        scaled = [self.resize(rs, 0)[0] for rs in active_of(old)]
        if any(scaled) or self.old_pods_run(new, old, owned):
            return self.report_progress(new, old)
        if not new:
            new, old = self.find_sets(owned, create=True)
        self.resize(new, self.replicas)
        if self.is_complete(self.status):
            self.clean_up(old)
        return self.report_progress(new, old)

    def old_pods_run(self, new, old, owned):
        if reported(old, "replicas"):
            return True
        of_old = {rs["metadata"]["uid"] for rs in owned} - {new and new["metadata"]["uid"]}
        pods = self.controller.cache.list("pods", self.key[0])
        ended = ("Failed", "Succeeded")
        return any(uid_of_owner(pod) in of_old and (pod.get("status") or {}).get("phase") not in ended for pod in pods)

    # Rolling back by annotation

    def roll_back(self, owned, asked):
        new, old = self.find_sets(owned, create=True)
        revisions = sorted((revision_of(rs) for rs in [*old, new] if revision_of(rs) is not None), reverse=True)
        revision = asked or (revisions[1] if len(revisions) > 1 else 0)
        target = next((rs for rs in [*old, new] if revision and revision_of(rs) == revision), None)
        name, template = self.deployment["metadata"]["name"], self.spec["template"]
        annotations = annotations_of(self.deployment)
        if not target:
            what = "the revision to rollback to" if revision else "last revision"
            self.event("Warning", "DeploymentRollbackRevisionNotFound", f"Unable to find {what}.")
        elif same_template(target["spec"]["template"], template):
            message = f'The rollback revision contains the same template as current deployment "{name}"'
            self.event("Warning", "DeploymentRollbackTemplateUnchanged", message)
        else:
            template = copy.deepcopy(target["spec"]["template"])
            template["metadata"]["labels"].pop(HASH, None)
            kept = {key: value for key, value in annotations.items() if key in NOT_COPIED}
            taken = {key: value for key, value in annotations_of(target).items() if key not in NOT_COPIED}
            annotations = {**kept, **taken}
        annotations = {key: value for key, value in annotations.items() if key != ROLLBACK_TO}
        body = {**self.deployment, "metadata": {**self.deployment["metadata"], "annotations": annotations},
                "spec": {**self.spec, "template": template}}
        self.write_deployment("", body)
        if template is not self.spec["template"]:
            self.event("Normal", "DeploymentRollback", f'Rolled back deployment "{name}" to revision {revision}')

    # History

    def clean_up(self, old):
        """Deletes old ReplicaSets beyond the limit, the lowest revision first, except active ones."""
        limit = self.spec.get("revisionHistoryLimit", NO_DEADLINE)
        candidates = [rs for rs in old if not is_deleting(rs)]
        candidates.sort(key=lambda rs: (revision_of(rs) or 0, age(rs)))
        for rs in candidates[:max(0, len(candidates) - limit)]:
            idle = not wanted([rs]) and not reported([rs], "replicas")
            if idle and rs["metadata"]["generation"] <= reported([rs], "observedGeneration"):
                try:
                    self.api.ask("DELETE", path_of(rs, "replicasets"))
                except Refused as error:
                    if error.code != 404:
                        raise

    # Status

    def deadline(self):
        seconds = self.spec.get("progressDeadlineSeconds", NO_DEADLINE)
        return None if seconds == NO_DEADLINE else seconds

    def counts(self, new, old):
        everything, status = [*old, *([new] if new else [])], copy.deepcopy(self.status)
        available = reported(everything, "availableReplicas")
        word = ("True", "MinimumReplicasAvailable", "Deployment has minimum availability.")
        if available < self.min_available():
            word = ("False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability.")
        set_condition(status["conditions"], "Available", *word)
        status.update({
            "observedGeneration": self.deployment["metadata"]["generation"],
            "replicas": reported(everything, "replicas"),
            "updatedReplicas": reported([new] if new else [], "replicas"),
            "readyReplicas": reported(everything, "readyReplicas"),
            "availableReplicas": available,
            "unavailableReplicas": max(0, wanted(everything) - available),
        })
        status.pop("terminatingReplicas", None)
        known = [rs.get("status") or {} for rs in everything]
        if all("terminatingReplicas" in it or not it.get("observedGeneration") for it in known):
            status["terminatingReplicas"] = reported(everything, "terminatingReplicas")
        return status

    def differs(self, status):
        """Compares statuses; zero and absent are equal, except for terminating pods."""
        def plain(status):
            return {key: value for key, value in status.items() if value or key == "terminatingReplicas"}

        return plain(status) != plain(self.status)

    def write_counts(self, new, old):
        status = self.counts(new, old)
        if self.differs(status):
            self.write_status(status)

    def is_complete(self, status):
        has = [status.get(field, 0) for field in ("updatedReplicas", "replicas", "availableReplicas")]
        current = status.get("observedGeneration", 0) >= self.deployment["metadata"]["generation"]
        return has == [self.replicas] * 3 and current

    def report_progress(self, new, old):
        status = self.counts(new, old)
        self.judge_progress(status, new)
        failures = [find((rs.get("status") or {}).get("conditions") or [], "ReplicaFailure")
                    for rs in [*([new] if new else []), *old]]
        failure = next(filter(None, failures), None)
        if failure:
            set_condition(status["conditions"], "ReplicaFailure", failure["status"], failure.get("reason", ""),
                          failure.get("message", ""))
        else:
            remove_condition(status["conditions"], "ReplicaFailure")
        if self.differs(status):
            return self.write_status(status)
        self.look_at_the_deadline(status)

    def judge_progress(self, status, new):
        conditions, current = status["conditions"], find(self.conditions, "Progressing")
        if self.deadline() is None:
            return remove_condition(conditions, "Progressing")
        was_complete = current and current.get("reason") == "NewReplicaSetAvailable"
        if was_complete and status["replicas"] == status["updatedReplicas"]:
            return None
        name = self.deployment["metadata"]["name"]
        subject = f'ReplicaSet "{new["metadata"]["name"]}"' if new else f'Deployment "{name}"'
        if self.is_complete(status):
            word = ("True", "NewReplicaSetAvailable", f"{subject} has successfully progressed.")
        elif self.progresses(status):
            # Replaced each time, so that its date follows the progress.
            message = f"{subject} is progressing."
            return set_condition(conditions, "Progressing", "True", "ReplicaSetUpdated", message, replace=True)
        elif current and not was_complete and self.left(current) < 0:
            word = ("False", "ProgressDeadlineExceeded", f"{subject} has timed out progressing.")
        else:
            return None
        return set_condition(conditions, "Progressing", *word)

    def progresses(self, status):
        """Whether there are more new pods, fewer old ones, or more ready or available ones than before."""
        def old_pods(status):
            return status.get("replicas", 0) - status.get("updatedReplicas", 0)

        more = ("updatedReplicas", "readyReplicas", "availableReplicas")
        grown = any(status[field] > self.status.get(field, 0) for field in more)
        return grown or old_pods(status) < old_pods(self.status)

    def left(self, condition):
        return self.deadline() - seconds_since(condition["lastUpdateTime"])

    def look_at_the_deadline(self, status):
        """Schedules a sync at the deadline, if nothing changes before."""
        current = find(self.conditions, "Progressing")
        over = ("ProgressDeadlineExceeded", "NewReplicaSetAvailable")
        if not current or self.deadline() is None or self.is_complete(status):
            return
        if current.get("reason") not in over:
            self.controller.queue.add_after(self.key, max(0, self.left(current)) + 0.05)


def active_of(sets):
    return [rs for rs in sets if rs["spec"].get("replicas", 1) > 0]


if __name__ == "__main__":
    Controller(Server(os.environ["KUBECONFIG"])).run()
