"""deployment.py for Deployments whose strategy is JSON in the annotation fork.example.com/strategy, as forks have it
that run beside the native controller: the Deployment itself is paused with the strategy Recreate, and one without the
annotation is left alone. annotated.yaml describes such Deployments.

    annotated.py
"""

import json
import os
import sys

sys.dont_write_bytecode = True
import deployment

STRATEGY = "fork.example.com/strategy"


class Sync(deployment.Sync):
    def __init__(self, controller, api, key, obj):
        super().__init__(controller, api, key, obj)
        strategy = json.loads(deployment.annotations_of(obj).get(STRATEGY, "null"))
        self.is_ours, strategy = strategy is not None, strategy or {}
        self.rolling = True
        self.spec = {**self.spec, "paused": strategy.get("paused", False),
                     "strategy": {"type": "RollingUpdate", "rollingUpdate": strategy.get("rollingUpdate", {})}}

    def run(self):
        if self.is_ours:
            super().run()


if __name__ == "__main__":
    deployment.Sync = Sync
    deployment.NOT_COPIED.add(STRATEGY)
    deployment.Controller(deployment.Server(os.environ["KUBECONFIG"])).run()
