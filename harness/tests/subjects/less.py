"""deployment.py with fewer capabilities, for the tests of reduced workload descriptions.

    less.py [status] [events]

    status          writes no status; writes the revision by an ordinary update
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
