"""Deliberately wrong controllers, for the tests of lockstep's reports. Python's standard library only.

    wrong.py MODE

    ends            prints a line and exits
    ends-on-doomed  rolls Deployments out, and raises ValueError once one is called `doomed`
    home            rolls Deployments out with ~/.kube/config, and prints its content and the arguments
    in-cluster      rolls Deployments out with a pod's service account
    leaks           rolls Deployments out, writes a Secret's value everywhere it can, and raises ValueError with it at three replicas
    invalid         rolls out nothing, as its ReplicaSets have no selector
    mute            prints a line with an escape sequence, and never connects
    lists           lists Deployments without any request before, and decides nothing
    slow SECONDS    rolls Deployments out after this delay
    both            rolls Deployments out, and writes the status of their ReplicaSets as well
    status-within   writes the status of a Deployment with the Deployment
    distrusts       connects, and does not trust the server's certificate
"""

import base64
import http.client
import json
import os
import re
import ssl
import sys
import time
import urllib.parse

SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def kubeconfig(text):
    """Server, CA and token of a kubeconfig as lockstep writes it."""
    found = {key: re.search(rf"\b{key}: *(\S+)", text).group(1) for key in ("server", "certificate-authority-data", "token")}
    return found["server"], base64.b64decode(found["certificate-authority-data"]).decode(), found["token"]


def in_cluster():
    host, port = os.environ["KUBERNETES_SERVICE_HOST"], os.environ["KUBERNETES_SERVICE_PORT"]
    return f"https://{host}:{port}", read(f"{SERVICE_ACCOUNT}/ca.crt"), read(f"{SERVICE_ACCOUNT}/token")


class Cluster:
    def __init__(self, server, ca, token, trusts=True):
        url = urllib.parse.urlsplit(server)
        context = ssl.create_default_context(cadata=ca) if trusts else ssl.create_default_context()
        # These tests do not check the certificate's names.
        context.check_hostname = False
        self.connection = http.client.HTTPSConnection(url.hostname, url.port, context=context)
        self.token = token

    def ask(self, method, path, body=None):
        headers = {"Authorization": f"Bearer {self.token}", "Accept": "application/json", "Content-Type": "application/json"}
        self.connection.request(method, path, json.dumps(body) if body else None, headers)
        answer = self.connection.getresponse()
        return answer.status, json.loads(answer.read())

    def items(self, resource):
        return self.ask("GET", f"/apis/apps/v1/{resource}")[1].get("items", [])


def replica_set(deployment):
    meta, spec = deployment["metadata"], deployment["spec"]
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": meta["name"], "uid": meta["uid"], "controller": True}
    labels = spec["template"]["metadata"]["labels"]
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": f"{meta['name']}-1", "labels": labels, "ownerReferences": [owner]},
        "spec": {"replicas": spec["replicas"], "selector": spec["selector"], "template": spec["template"]},
    }


def event(deployment):
    meta = deployment["metadata"]
    about = {"apiVersion": "apps/v1", "kind": "Deployment"} | {key: meta[key] for key in ("name", "namespace", "uid")}
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{meta['name']}.1"},
        "involvedObject": about,
        "reason": "ScalingReplicaSet",
        "message": "Scaled up",
        "type": "Normal",
    }


LEAKED = "s3cr3t-of-the-case"


def leak(cluster, deployment):
    """Print the value in many ways, and write it as names, keys, values and messages."""
    encoded = base64.b64encode(LEAKED.encode()).decode()
    print(f"it is {LEAKED}, {json.dumps({'password': LEAKED})}, {encoded}", flush=True)
    print("x" * 290 + LEAKED, flush=True)
    namespace = deployment["metadata"]["namespace"]
    path = f"/api/v1/namespaces/{namespace}"
    about = event(deployment)
    about["metadata"]["name"], about["message"], about["reason"] = f"web.{LEAKED}", f"read {LEAKED}", "Leaked"
    cluster.ask("POST", f"{path}/events", about)
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": LEAKED, "annotations": {LEAKED: encoded}}}
    cluster.ask("POST", f"{path}/configmaps", config | {"data": {LEAKED: LEAKED}})
    cluster.ask("GET", f"{path}/{LEAKED}/{LEAKED}")
    meta = {"annotations": {LEAKED: LEAKED, "encoded": encoded}, "labels": {LEAKED: LEAKED}}
    path = f"/apis/apps/v1/namespaces/{namespace}/deployments/{deployment['metadata']['name']}"
    seen = cluster.ask("GET", path)[1]
    if LEAKED not in seen["metadata"].get("annotations", {}):
        cluster.ask("PUT", path, {**seen, "metadata": {**seen["metadata"], **meta}})


def roll_out(cluster, deployment, owned, mode=None):
    """The minimum for a Deployment to settle: one ReplicaSet of its size, and a consistent status."""
    path = f"/apis/apps/v1/namespaces/{deployment['metadata']['namespace']}"
    if not owned:
        cluster.ask("POST", f"{path}/replicasets", replica_set(deployment))
        cluster.ask("POST", f"/api/v1/namespaces/{deployment['metadata']['namespace']}/events", event(deployment))
        return
    wanted, counted = deployment["spec"]["replicas"], owned[0].get("status", {})
    if owned[0]["spec"]["replicas"] != wanted:
        owned[0]["spec"]["replicas"] = wanted
        cluster.ask("PUT", f"{path}/replicasets/{owned[0]['metadata']['name']}", owned[0])
        return
    status = {"observedGeneration": deployment["metadata"]["generation"], "replicas": counted.get("replicas", 0)}
    status["updatedReplicas"] = status["replicas"]
    status["readyReplicas"] = status["availableReplicas"] = counted.get("readyReplicas", 0)
    status["unavailableReplicas"] = max(0, wanted - status["availableReplicas"])
    status = {name: number for name, number in status.items() if number}
    if mode == "both":
        cluster.ask("PUT", f"{path}/replicasets/{owned[0]['metadata']['name']}/status", owned[0])
    if mode == "status-within":
        cluster.ask("PUT", f"{path}/deployments/{deployment['metadata']['name']}", {**deployment, "status": status})
        return
    if status != deployment.get("status", {}):
        cluster.ask("PUT", f"{path}/deployments/{deployment['metadata']['name']}/status", {**deployment, "status": status})


def follow(cluster, mode):
    invalid, doomed = mode == "invalid", "doomed" if mode == "ends-on-doomed" else None
    while True:
        sets = cluster.items("replicasets")
        for deployment in cluster.items("deployments"):
            meta = deployment["metadata"]
            if meta["name"] == doomed:
                raise ValueError("doomed is more than this controller can bear")
            if mode == "leaks":
                leak(cluster, deployment)
                if deployment["spec"]["replicas"] == 3:
                    raise ValueError(f"no more of {LEAKED}")
            if invalid:
                asked = replica_set(deployment)
                del asked["spec"]["selector"]
                cluster.ask("POST", f"/apis/apps/v1/namespaces/{meta['namespace']}/replicasets", asked)
                continue
            uids = lambda it: [owner["uid"] for owner in it["metadata"].get("ownerReferences", [])]
            roll_out(cluster, deployment, [it for it in sets if meta["uid"] in uids(it)], mode)
        time.sleep(0.02)


def list_only(cluster):
    while True:
        cluster.items("deployments")
        time.sleep(0.2)


def idle():
    while True:
        time.sleep(60)


def main(mode, *words):
    print(f"wrong.py starts: {mode}", flush=True)
    if mode == "ends":
        sys.exit(3)
    if mode == "mute":
        print("\033[31mI am waiting\033[0m for a war\x07rant", flush=True)
        idle()
    if mode == "in-cluster":
        return follow(Cluster(*in_cluster()), mode)
    found = kubeconfig(read(os.environ["KUBECONFIG"]))
    if mode == "home":
        home = os.path.expanduser("~/.kube/config")
        modes = [oct(os.stat(path).st_mode & 0o777) for path in (home, os.path.dirname(home))]
        print(f"home {os.environ['HOME']}")
        print(f"arguments {words}; modes {modes}; {'KUBERNETES_SERVICE_HOST' in os.environ}", flush=True)
        return follow(Cluster(*kubeconfig(read(home))), mode)
    if mode == "distrusts":
        while True:
            try:
                Cluster(*found, trusts=False).ask("GET", "/version")
            except ssl.SSLError as error:
                print(error, flush=True)
            time.sleep(0.2)
    if mode == "lists":
        list_only(Cluster(*found))
    if mode == "slow":
        time.sleep(float(words[0]))
    follow(Cluster(*found), mode)


if __name__ == "__main__":
    main(*sys.argv[1:])
