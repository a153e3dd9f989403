"""A controller that rolls Deployments out, and attacks the harness if a Deployment has the name of an attack. Python's standard library only.

    brackets   posts 100,000 opening brackets
    doubling   sends a JSON patch whose operations copy the object into itself
    huge       posts a body of 300 MB
    endless    posts an endless body
    floods     opens endless watches
    kill       kills the simulated server
    stop       stops the simulated server, which then does not respond
    shouts     prints endlessly
"""

import http.client
import json
import os
import signal
import subprocess
import time

import wrong


def server():
    """The process of this harness's simulated server."""
    listed = subprocess.run(["ps", "-axo", "pid=,ppid=,args="], capture_output=True, text=True, check=True).stdout
    rows = [line.split(None, 2) for line in listed.splitlines()]
    parents = {int(pid): int(parent) for pid, parent, *_ in rows}
    harness = lambda pid: parents.get(parents.get(pid, 0), 0)
    servers = [int(pid) for pid, _, *words in rows if words and "--simulated-server" in words[0]]
    return next(pid for pid in servers if harness(pid) == harness(os.getpid()))


def send(cluster, method, path, pieces, kind="application/json"):
    """A request over a new connection with a chunked body; errors are ignored."""
    known = cluster.connection
    connection = http.client.HTTPSConnection(known.host, known.port, context=known._context, timeout=60)
    headers = {"Authorization": f"Bearer {cluster.token}", "Content-Type": kind, "Transfer-Encoding": "chunked"}
    try:
        connection.request(method, path, pieces, headers, encode_chunked=True)
        print(f"{method} {path}: {connection.getresponse().status}", flush=True)
    except OSError as error:
        print(f"{method} {path}: {error}", flush=True)
    except http.client.HTTPException as error:
        print(f"{method} {path}: {error!r}", flush=True)
    return connection


def attack(cluster, deployment):
    way = deployment["metadata"]["name"]
    namespace, megabyte = deployment["metadata"]["namespace"], b" " * 1_000_000
    maps = f"/api/v1/namespaces/{namespace}/configmaps"
    if way == "brackets":
        send(cluster, "POST", maps, [b"[" * 100_000])
    elif way == "doubling":
        copies = [{"op": "copy", "from": "/metadata/annotations", "path": f"/metadata/annotations/{n}"} for n in range(24)]
        path = f"/apis/apps/v1/namespaces/{namespace}/deployments/{way}"
        send(cluster, "PATCH", path, [json.dumps(copies).encode()], "application/json-patch+json")
    elif way == "huge":
        send(cluster, "POST", maps, (megabyte for _ in range(300)))
    elif way == "endless":
        send(cluster, "POST", maps, iter(lambda: megabyte, None))
    elif way == "floods":
        ask = lambda: http.client.HTTPSConnection(cluster.connection.host, cluster.connection.port, context=cluster.connection._context)
        opened = []
        for _ in range(500):
            opened.append(ask())
            opened[-1].request("GET", "/apis/apps/v1/deployments?watch=true", headers={"Authorization": f"Bearer {cluster.token}"})
        return opened
    elif way in ("kill", "stop"):
        os.kill(server(), signal.SIGKILL if way == "kill" else signal.SIGSTOP)
    elif way == "shouts":
        for _ in range(300):
            print("x" * 1_000_000, flush=True)
    return None


def main():
    cluster = wrong.Cluster(*wrong.kubeconfig(wrong.read(os.environ["KUBECONFIG"])))
    attacked = {}
    while True:
        sets = cluster.items("replicasets")
        for deployment in cluster.items("deployments"):
            meta = deployment["metadata"]
            if meta["uid"] not in attacked:
                attacked[meta["uid"]] = attack(cluster, deployment)
            uids = lambda it: [owner["uid"] for owner in it["metadata"].get("ownerReferences", [])]
            wrong.roll_out(cluster, deployment, [it for it in sets if meta["uid"] in uids(it)])
        time.sleep(0.02)


if __name__ == "__main__":
    main()
