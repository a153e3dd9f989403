"""deployment.py with less than a Deployment has, for the tests of descriptions that do not claim it.

    less.py [status] [events]

    status          writes no status; the revision goes by an ordinary write
    events          publishes no Events
"""

import os
import sys

sys.dont_write_bytecode = True
import deployment


def write_no_status(self, _status):
    kept = self.cached.get("metadata", {}).get("annotations") or {}
    if (self.deployment["metadata"].get("annotations") or {}) != kept:
        self.write_deployment("", {**self.deployment, "status": self.cached.get("status") or {}})


if __name__ == "__main__":
    if "status" in sys.argv[1:]:
        deployment.Sync.write_status = write_no_status
    if "events" in sys.argv[1:]:
        deployment.Sync.event = lambda *_: None
    deployment.Controller(deployment.Server(os.environ["KUBECONFIG"])).run()
