"""A Deployment controller that shares its work with the native one, on Deployments as annotated.py has them: it
rolls out, and leaves the status, and the size of a Deployment with one active ReplicaSet, to upstream. It decides
about a Deployment once upstream has observed it. shared.yaml describes such Deployments.

    lockstep run cases/rolling --workload harness/tests/subjects/shared.yaml --beside upstream \
        --subject "command:python3 harness/tests/subjects/shared.py"
"""

import os
import sys

sys.dont_write_bytecode = True
import annotated
import deployment


class Sync(annotated.Sync):
    def run(self):
        if self.status.get("observedGeneration") == self.deployment["metadata"]["generation"]:
            super().run()

    def scale_and_report(self, owned):
        active = [rs for rs in owned if rs["spec"].get("replicas", 1)]
        if len(active) != 1:
            super().scale_and_report(owned)

    def write_status(self, status):
        pass

    def event(self, kind, reason, message):
        pass


if __name__ == "__main__":
    deployment.Sync = Sync
    deployment.NOT_COPIED.add(annotated.STRATEGY)
    deployment.Controller(deployment.Server(os.environ["KUBECONFIG"])).run()
