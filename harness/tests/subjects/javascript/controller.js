// A small Deployment controller on the official JavaScript client, which uses JSON. It is
// independent of the harness.
//
//   npm ci
//   lockstep run cases/rolling --subject "command:node controller.js"
//
// Informers list and watch; each change queues its Deployment, and one worker decides and
// writes. It neither adopts nor releases ReplicaSets, and does not support rollback by annotation.

import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { AppsV1Api, CoreV1Api, KubeConfig, makeInformer } from "@kubernetes/client-node";

const REVISION = "deployment.kubernetes.io/revision";
const HISTORY = "deployment.kubernetes.io/revision-history";
const DESIRED = "deployment.kubernetes.io/desired-replicas";
const MAX = "deployment.kubernetes.io/max-replicas";
const NOT_COPIED = new Set([REVISION, HISTORY, DESIRED, MAX, "kubectl.kubernetes.io/last-applied-configuration",
  "deprecated.deployment.rollback.to"]);
const HASH = "pod-template-hash";
const DONE = "NewReplicaSetAvailable";
const TIMEOUT = "ProgressDeadlineExceeded";
const NO_DEADLINE = 2 ** 31 - 1;

const config = new KubeConfig();
config.loadFromDefault(); // $KUBECONFIG, ~/.kube/config, or a pod's service account
const apps = config.makeApiClient(AppsV1Api);
const core = config.makeApiClient(CoreV1Api);

// --- Caches

const replicaSets = watch("/apis/apps/v1/replicasets", () => apps.listReplicaSetForAllNamespaces(), deploymentOf);
const pods = watch("/api/v1/pods", () => core.listPodForAllNamespaces(), (pod) => {
  const owner = controllerOf(pod, "ReplicaSet");
  const set = owner && replicaSets.get(owner.name, pod.metadata.namespace);
  return set && deploymentOf(set);
});
const deployments = watch("/apis/apps/v1/deployments", () => apps.listDeploymentForAllNamespaces(), keyOf);

function watch(path, list, concerns) {
  const informer = makeInformer(config, path, list);
  informer.on("change", (object) => {
    // The client treats an exception in a handler as an invalid JSON line, and drops it.
    try {
      const key = concerns(object);
      if (key) queue(key);
    } catch (error) {
      console.error(`${path}:`, error);
    }
  });
  // After an error the informer must be restarted.
  informer.on("error", (error) => {
    console.error(`${path}: ${error.message}; watching again`);
    setTimeout(() => informer.start(), 200);
  });
  informer.start();
  return informer;
}

// --- Queue: each Deployment once; retries after failures with back-off

const queued = new Set();
const failures = new Map();
let busy = false;

function queue(key) {
  queued.add(key);
  if (!busy) work();
}

async function work() {
  busy = true;
  // Reconcile once for a burst of events.
  await new Promise(setImmediate);
  for (const key of queued) {
    queued.delete(key);
    try {
      const [namespace, name] = key.split("/");
      const cached = deployments.get(name, namespace);
      const wait = cached && await new Rollout(plain(cached)).run();
      failures.delete(key);
      if (wait !== undefined) setTimeout(queue, wait, key);
    } catch (error) { // such as a conflict: the cache was behind
      if (error.code !== 409) console.error(`${key}:`, error.body ?? error);
      const count = (failures.get(key) ?? 0) + 1;
      failures.set(key, count);
      setTimeout(queue, 5 * 2 ** Math.min(13, count), key);
    }
  }
  busy = false;
}

// --- One reconciliation of a Deployment

class Rollout {
  constructor(deployment) {
    this.deployment = deployment;
    this.meta = deployment.metadata;
    this.spec = deployment.spec;
    this.status = deployment.status ??= {};
    this.status.conditions ??= [];
    this.before = plain(deployment);
    this.replicas = this.spec.replicas;
    this.rolling = this.spec.strategy.type === "RollingUpdate";
    // All but the one with the current template, oldest first.
    this.old = replicaSets.list(this.meta.namespace).filter((set) => isOwned(set, deployment)).map(plain).sort(byAge);
    this.current = this.old.find((set) => isDeepStrictEqual(template(set), template(deployment)));
    if (this.current) this.old.splice(this.old.indexOf(this.current), 1);
  }

  // Returns when to reconcile again without a change, in milliseconds.
  async run() {
    this.report(await this.act());
    const { deployment, before, meta } = this;
    const changed = !isDeepStrictEqual(plain(deployment.status), before.status)
      || meta.annotations?.[REVISION] !== before.metadata.annotations?.[REVISION];
    if (!changed) return this.untilDeadline();
    await apps.replaceNamespacedDeploymentStatus({ name: meta.name, namespace: meta.namespace, body: deployment });
  }

  // Does the next action, and returns whether to update the progress condition.
  async act() {
    if (this.meta.deletionTimestamp) return false;
    this.notePause();
    const scaled = active(this.all()).some((set) => (count(set, DESIRED) ?? this.replicas) !== this.replicas);
    if (this.spec.paused || scaled) {
      await this.refresh();
      await this.scale();
      if (this.spec.paused) await this.cleanUp();
      return false;
    }
    await (this.rolling ? this.roll() : this.recreate());
    return true;
  }

  async roll() {
    await this.refreshOrCreate();
    const now = size(this.current);
    if (await this.resize(this.current, now < this.replicas ? this.newSize(now) : this.replicas)) return;
    if (await this.reduceOld()) return;
    if (this.isComplete()) await this.cleanUp();
  }

  newSize(now) {
    if (!this.rolling) return this.replicas;
    return now + Math.min(Math.max(0, this.replicas + this.maxSurge() - wanted(this.all())), this.replicas - now);
  }

  // Unavailable pods are removed first, which does not reduce availability.
  async reduceOld() {
    const least = this.replicas - this.maxUnavailable();
    let budget = wanted(this.all()) - least - (size(this.current) - available(this.current));
    let total = 0;
    const cut = async (set, most) => {
      const by = Math.min(most, budget);
      if (by <= 0) return;
      await this.resize(set, size(set) - by);
      budget -= by;
      total += by;
    };
    for (const set of active(this.old)) {
      const unhealthy = size(set) - available(set);
      if (unhealthy < 0 && budget > 0) return total > 0; // its status is behind its last cut
      await cut(set, unhealthy);
    }
    budget = Math.min(budget, sum(this.all(), available) - least);
    for (const set of active(this.old)) await cut(set, size(set));
    return total > 0;
  }

  // Waits for the last old pod before the first new one.
  async recreate() {
    await this.refresh();
    const running = active(this.old);
    for (const set of running) await this.resize(set, 0);
    if (running.length > 0 || this.oldPodsRun()) return;
    await this.refreshOrCreate();
    await this.resize(this.current, this.replicas);
    if (this.isComplete()) await this.cleanUp();
  }

  oldPodsRun() {
    const runs = (pod) => !["Failed", "Succeeded"].includes(pod.status?.phase);
    const all = pods.list(this.meta.namespace);
    return this.old.some((set) => reported(set) > 0 || all.some((pod) => isOwned(pod, set) && runs(pod)));
  }

  // Scales to a new number of replicas: the only active ReplicaSet, or each in proportion.
  async scale() {
    const sets = active(this.all());
    const { current, old, replicas } = this;
    if (sets.length < 2) {
      const only = sets[0] ?? current ?? old.at(-1);
      if (only) await this.resize(only, replicas);
    } else if (current && size(current) === replicas && available(current) === replicas && count(current, DESIRED) === replicas) {
      for (const set of active(old)) await this.resize(set, 0);
    } else if (this.rolling) {
      await this.scaleInProportion(sets);
    }
  }

  // The largest first; among equals the newest grows first, and the oldest shrinks first.
  async scaleInProportion(sets) {
    let left = (this.replicas > 0 ? this.replicas + this.maxSurge() : 0) - wanted(sets);
    const grows = left > 0;
    sets.sort((a, b) => size(b) - size(a) || (grows ? byAge(b, a) : byAge(a, b)));
    const sizes = sets.map((set) => {
      const share = grows ? Math.min(this.share(set), left) : Math.max(this.share(set), left);
      left -= share;
      return size(set) + share;
    });
    sizes[0] = Math.max(0, sizes[0] + left); // what rounding leaves over
    for (const [index, set] of sets.entries()) await this.resizeAndNote(set, sizes[index]);
  }

  share(set) {
    if (this.replicas === 0) return -size(set);
    const before = count(set, MAX) || this.status.replicas;
    return before ? Math.round(size(set) * (this.replicas + this.maxSurge()) / before) - size(set) : 0;
  }

  // Old ReplicaSets beyond the history limit are deleted, the lowest revision first.
  async cleanUp() {
    const sets = this.old.filter((set) => !set.metadata.deletionTimestamp).sort((a, b) => revision(a) - revision(b));
    for (const set of sets.slice(0, Math.max(0, sets.length - this.spec.revisionHistoryLimit))) {
      const isSeen = set.metadata.generation <= (set.status?.observedGeneration ?? 0);
      if (size(set) > 0 || reported(set) > 0 || !isSeen) continue;
      await apps.deleteNamespacedReplicaSet({ name: set.metadata.name, namespace: this.meta.namespace });
    }
  }

  // ReplicaSets

  async refreshOrCreate() {
    await (this.current ? this.refresh() : this.create());
  }

  async refresh() {
    if (!this.current) return;
    const before = plain(this.current);
    this.annotate(this.current);
    if (this.spec.minReadySeconds) this.current.spec.minReadySeconds = this.spec.minReadySeconds;
    else delete this.current.spec.minReadySeconds;
    if (!isDeepStrictEqual(this.current, before)) this.current = await this.update(this.current);
    (this.meta.annotations ??= {})[REVISION] = this.current.metadata.annotations[REVISION];
    if (!this.condition("Progressing")) {
      this.noteProgress("FoundNewReplicaSet", `Found new replica set "${this.current.metadata.name}"`);
    }
  }

  // The Deployment's annotations and the revision.
  annotate(set) {
    const annotations = set.metadata.annotations ??= {};
    for (const [name, value] of Object.entries(this.meta.annotations ?? {})) {
      if (!NOT_COPIED.has(name)) annotations[name] = value;
    }
    // The highest revision; an annotation keeps the earlier ones.
    const next = 1 + Math.max(0, ...this.old.map(revision));
    const was = annotations[REVISION];
    if (revision(set) >= next) return;
    annotations[REVISION] = String(next);
    if (was) annotations[HISTORY] = [annotations[HISTORY], was].filter(Boolean).join(",");
  }

  // Its name contains the template's hash, so that a controller with a stale cache creates no second one.
  async create() {
    const { meta, spec } = this;
    const seed = stable(template(this.deployment)) + (this.status.collisionCount ?? "");
    const hash = createHash("sha256").update(seed).digest("hex").slice(0, 10).replace(/[aeiou013]/g, "x");
    const pod = plain(spec.template);
    (pod.metadata ??= {}).labels = { ...pod.metadata.labels, [HASH]: hash };
    const replicas = this.newSize(0);
    const set = {
      apiVersion: "apps/v1", kind: "ReplicaSet",
      metadata: {
        name: `${meta.name.slice(0, 252 - hash.length)}-${hash}`, namespace: meta.namespace, labels: pod.metadata.labels,
        // Listed objects lack apiVersion and kind.
        ownerReferences: [{ apiVersion: "apps/v1", kind: "Deployment", name: meta.name, uid: meta.uid,
          controller: true, blockOwnerDeletion: true }],
      },
      spec: {
        replicas, minReadySeconds: spec.minReadySeconds, template: pod,
        selector: { ...spec.selector, matchLabels: { ...spec.selector.matchLabels, [HASH]: hash } },
      },
    };
    this.annotate(set);
    this.noteSizes(set);
    this.current = plain(await apps.createNamespacedReplicaSet({ namespace: meta.namespace, body: set }));
    if (replicas > 0) await this.event(this.current, 0, replicas);
    (meta.annotations ??= {})[REVISION] = this.current.metadata.annotations[REVISION];
    this.noteProgress("NewReplicaSetCreated", `Created new replica set "${this.current.metadata.name}"`);
  }

  async resize(set, to) {
    return size(set) !== to && await this.resizeAndNote(set, to);
  }

  // Also writes if only the annotations differ.
  async resizeAndNote(set, to) {
    const from = size(set);
    if (!this.noteSizes(set) && from === to) return false;
    set.spec.replicas = to;
    set.metadata = (await this.update(set)).metadata; // so that it can be written again
    if (from !== to) await this.event(set, from, to);
    return from !== to;
  }

  noteSizes(set) {
    const annotations = set.metadata.annotations ??= {};
    const before = { ...annotations };
    annotations[DESIRED] = String(this.replicas);
    annotations[MAX] = String(this.replicas + this.maxSurge());
    return !isDeepStrictEqual(annotations, before);
  }

  async update(set) {
    const { name, namespace } = set.metadata;
    // With the cached resourceVersion, so that the server refuses decisions on stale data.
    return plain(await apps.replaceNamespacedReplicaSet({ name, namespace, body: set }));
  }

  async event(set, from, to) {
    const { name, namespace, uid } = this.meta;
    const now = new Date();
    await core.createNamespacedEvent({ namespace, body: {
      metadata: { namespace, generateName: `${name}.` },
      involvedObject: { apiVersion: "apps/v1", kind: "Deployment", namespace, name, uid },
      type: "Normal", reason: "ScalingReplicaSet", count: 1, firstTimestamp: now, lastTimestamp: now,
      source: { component: "deployment-controller" },
      message: `Scaled ${from < to ? "up" : "down"} replica set ${set.metadata.name} from ${from} to ${to}`,
    } });
  }

  all() {
    return this.current ? [...this.old, this.current] : this.old;
  }

  maxSurge() {
    return this.rolling ? this.bound(this.spec.strategy.rollingUpdate.maxSurge, Math.ceil) : 0;
  }

  // 1 if both bounds are zero after rounding, because nothing could change otherwise.
  maxUnavailable() {
    if (!this.rolling || this.replicas === 0) return 0;
    const bound = this.bound(this.spec.strategy.rollingUpdate.maxUnavailable, Math.floor);
    return Math.min(bound === 0 && this.maxSurge() === 0 ? 1 : bound, this.replicas);
  }

  bound(value, round) {
    return typeof value === "number" ? value : round(parseInt(value, 10) * this.replicas / 100);
  }

  // Status

  report(isJudged) {
    const { status, current, replicas } = this;
    const sets = this.all();
    const up = sum(sets, available);
    const isKnown = sets.every((set) => set.status?.terminatingReplicas !== undefined || set.status?.observedGeneration === undefined);
    Object.assign(status, {
      observedGeneration: this.meta.generation,
      // The server omits zero counts, and so does this, to detect changes of the status.
      replicas: sum(sets, reported) || undefined,
      updatedReplicas: (current && reported(current)) || undefined,
      readyReplicas: sum(sets, (set) => set.status?.readyReplicas ?? 0) || undefined,
      availableReplicas: up || undefined,
      unavailableReplicas: Math.max(0, wanted(sets) - up) || undefined,
      terminatingReplicas: isKnown ? sum(sets, (set) => set.status?.terminatingReplicas ?? 0) : undefined,
    });
    if (up >= replicas - this.maxUnavailable()) {
      this.set("Available", "True", "MinimumReplicasAvailable", "Deployment has minimum availability.");
    } else {
      this.set("Available", "False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability.");
    }
    if (!isJudged) return;
    this.judgeProgress();
    const failure = sets.flatMap((set) => set.status?.conditions ?? []).findLast((it) => it.type === "ReplicaFailure");
    if (failure) this.set("ReplicaFailure", failure.status, failure.reason, failure.message);
    else this.drop("ReplicaFailure");
  }

  // Whether the rollout is complete, progresses, or has exceeded its deadline.
  judgeProgress() {
    const { status, before } = this;
    if (!this.hasDeadline()) return this.drop("Progressing");
    const was = this.condition("Progressing");
    if (was?.reason === DONE && oldPods(status) === 0) return;
    const subject = this.current ? `ReplicaSet "${this.current.metadata.name}"` : `Deployment "${this.meta.name}"`;
    const rises = (counter) => (status[counter] ?? 0) > (before.status[counter] ?? 0);
    if (this.isComplete()) {
      this.set("Progressing", "True", DONE, `${subject} has successfully progressed.`);
    } else if (["updatedReplicas", "readyReplicas", "availableReplicas"].some(rises) || oldPods(status) < oldPods(before.status)) {
      if (was) was.lastUpdateTime = new Date().toISOString(); // the deadline counts from here
      this.set("Progressing", "True", "ReplicaSetUpdated", `${subject} is progressing.`);
    } else if (was && was.reason !== DONE && this.left(was) < 0) {
      this.set("Progressing", "False", TIMEOUT, `${subject} has timed out progressing.`);
    }
  }

  isComplete() {
    const { status, replicas } = this;
    const all = ["updatedReplicas", "replicas", "availableReplicas"].every((counter) => (status[counter] ?? 0) === replicas);
    return all && this.meta.generation === status.observedGeneration;
  }

  notePause() {
    const reason = this.condition("Progressing")?.reason;
    if (!this.hasDeadline() || reason === TIMEOUT) return;
    if (this.spec.paused && reason !== "DeploymentPaused") {
      this.set("Progressing", "Unknown", "DeploymentPaused", "Deployment is paused");
    }
    if (!this.spec.paused && reason === "DeploymentPaused") {
      this.set("Progressing", "Unknown", "DeploymentResumed", "Deployment is resumed");
    }
  }

  noteProgress(reason, message) {
    if (this.hasDeadline()) this.set("Progressing", "True", reason, message);
  }

  hasDeadline() {
    return (this.spec.progressDeadlineSeconds ?? NO_DEADLINE) !== NO_DEADLINE;
  }

  left(condition) {
    return Date.parse(condition.lastUpdateTime) + this.spec.progressDeadlineSeconds * 1000 - Date.now();
  }

  // No watch reports that time has passed.
  untilDeadline() {
    const was = this.condition("Progressing");
    if (!was || !this.hasDeadline() || [DONE, TIMEOUT].includes(was.reason) || this.isComplete()) return undefined;
    return Math.max(0, this.left(was)) + 50;
  }

  condition(type) {
    return this.status.conditions.find((it) => it.type === type);
  }

  drop(type) {
    this.status.conditions = this.status.conditions.filter((it) => it.type !== type);
  }

  // Sets a condition, unless it already has this status and reason.
  set(type, value, reason, message) {
    let condition = this.condition(type);
    if (condition?.status === value && condition.reason === reason) return;
    if (!condition) this.status.conditions.push(condition = { type });
    const now = new Date().toISOString();
    if (condition.status !== value) condition.lastTransitionTime = now;
    Object.assign(condition, { status: value, reason, message, lastUpdateTime: now });
  }
}

// --- Objects

// As JSON: the client parses listed objects into classes with Dates, and watched ones not.
function plain(object) {
  return JSON.parse(JSON.stringify(object));
}

// A text independent of the order of keys, which differs between lists and watches.
function stable(value) {
  if (Array.isArray(value)) return `[${value.map(stable)}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  return `{${Object.keys(value).sort().map((key) => `${JSON.stringify(key)}:${stable(value[key])}`)}}`;
}

function template(object) {
  const { metadata, ...rest } = plain(object.spec.template);
  const { [HASH]: _, ...labels } = metadata?.labels ?? {};
  const { creationTimestamp: __, ...others } = metadata ?? {};
  return { ...rest, metadata: { ...others, labels } };
}

// A timestamp is a string in watched objects, and a Date in listed ones.
function byAge(a, b) {
  const time = (set) => new Date(set.metadata.creationTimestamp).getTime();
  return time(a) - time(b) || (a.metadata.name < b.metadata.name ? -1 : 1);
}

function keyOf(object) {
  return `${object.metadata.namespace}/${object.metadata.name}`;
}

function controllerOf(object, kind) {
  return object.metadata.ownerReferences?.find((owner) => owner.controller && owner.kind === kind);
}

function isOwned(object, by) {
  return object.metadata.ownerReferences?.some((owner) => owner.controller && owner.uid === by.metadata.uid) ?? false;
}

function deploymentOf(set) {
  const owner = controllerOf(set, "Deployment");
  return owner && `${set.metadata.namespace}/${owner.name}`;
}

function count(set, annotation) {
  const text = set.metadata.annotations?.[annotation] ?? "";
  return /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}

function revision(set) {
  return count(set, REVISION) ?? 0;
}

function size(set) {
  return set.spec.replicas;
}

function available(set) {
  return set.status?.availableReplicas ?? 0;
}

function reported(set) {
  return set.status?.replicas ?? 0;
}

function active(sets) {
  return sets.filter((set) => size(set) > 0);
}

function sum(sets, number) {
  return sets.reduce((total, set) => total + number(set), 0);
}

function wanted(sets) {
  return sum(sets, size);
}

function oldPods(status) {
  return (status.replicas ?? 0) - (status.updatedReplicas ?? 0);
}
