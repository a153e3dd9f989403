"""deployment.py with a rate limit for each Deployment.

    limited.py SECONDS

It resizes the ReplicaSets of a Deployment once in this time, and everything else at once. So it
answers for one Deployment before it has decided about another.
"""

import os
import sys
import time

sys.dont_write_bytecode = True
import deployment

resize_before, resized_at = deployment.Sync.resize, {}


def resize(self, rs, size, refresh=False):
    left = resized_at.get(self.key, 0) + float(sys.argv[1]) - time.monotonic()
    if left > 0 and size != rs["spec"].get("replicas", 1):
        self.controller.queue.add_after(self.key, left)
        return False, rs
    changed, answer = resize_before(self, rs, size, refresh)
    if changed:
        resized_at[self.key] = time.monotonic()
    return changed, answer


if __name__ == "__main__":
    deployment.Sync.resize = resize
    deployment.Controller(deployment.Server(os.environ["KUBECONFIG"])).run()
