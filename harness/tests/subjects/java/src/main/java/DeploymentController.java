import io.kubernetes.client.common.KubernetesObject;
import io.kubernetes.client.custom.IntOrString;
import io.kubernetes.client.informer.ResourceEventHandler;
import io.kubernetes.client.informer.SharedIndexInformer;
import io.kubernetes.client.informer.SharedInformerFactory;
import io.kubernetes.client.informer.cache.Lister;
import io.kubernetes.client.openapi.ApiClient;
import io.kubernetes.client.openapi.ApiException;
import io.kubernetes.client.openapi.JSON;
import io.kubernetes.client.openapi.apis.AppsV1Api;
import io.kubernetes.client.openapi.apis.CoreV1Api;
import io.kubernetes.client.openapi.models.*;
import io.kubernetes.client.util.Config;
import io.kubernetes.client.util.generic.GenericKubernetesApi;
import java.time.Duration;
import java.time.OffsetDateTime;
import java.util.*;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.ToIntFunction;
import java.util.stream.Stream;

/**
 * A small Deployment controller on the official Java client, which uses JSON. It is independent of the harness.
 *
 * <pre>
 * mvn package
 * lockstep run cases/rolling --subject "command:java -jar target/deployment-controller.jar"
 * </pre>
 *
 * Informers list and watch; each change queues its Deployment, and one worker decides and writes. It neither adopts nor
 * releases ReplicaSets, and does not support rollback by annotation.
 */
public class DeploymentController {
    static final String REVISION = "deployment.kubernetes.io/revision";
    static final String HISTORY = "deployment.kubernetes.io/revision-history";
    static final String DESIRED = "deployment.kubernetes.io/desired-replicas";
    static final String MAX = "deployment.kubernetes.io/max-replicas";
    static final Set<String> NOT_COPIED = Set.of(REVISION, HISTORY, DESIRED, MAX,
        "kubectl.kubernetes.io/last-applied-configuration", "deprecated.deployment.rollback.to");
    static final String HASH = "pod-template-hash";
    static final String DONE = "NewReplicaSetAvailable";
    static final String TIMEOUT = "ProgressDeadlineExceeded";

    final AppsV1Api apps;
    final CoreV1Api core;
    final SharedInformerFactory informers;
    final Lister<V1Deployment> deployments;
    final Lister<V1ReplicaSet> replicaSets;
    final Lister<V1Pod> pods;

    public static void main(String[] arguments) throws Exception {
        ApiClient client = Config.defaultClient(); // $KUBECONFIG, ~/.kube/config, or a pod's service account
        client.setReadTimeout(0); // a watch stays open
        new DeploymentController(client).informers.startAllRegisteredInformers();
    }

    DeploymentController(ApiClient client) {
        apps = new AppsV1Api(client);
        core = new CoreV1Api(client);
        informers = new SharedInformerFactory(client);
        deployments = watch(client, V1Deployment.class, V1DeploymentList.class, "apps", "deployments", d -> Optional.of(key(d)));
        replicaSets = watch(client, V1ReplicaSet.class, V1ReplicaSetList.class, "apps", "replicasets", this::deploymentOf);
        pods = watch(client, V1Pod.class, V1PodList.class, "", "pods", pod -> owner(pod, "ReplicaSet")
            .map(o -> replicaSet(pod.getMetadata().getNamespace(), o.getName())).flatMap(this::deploymentOf));
    }

    // --- Queue: each Deployment once; retries after failures with back-off

    record Key(String namespace, String name) {}

    final ScheduledExecutorService worker = Executors.newSingleThreadScheduledExecutor();
    final Set<Key> queued = Collections.synchronizedSet(new HashSet<>());
    final Map<Key, Integer> failures = new HashMap<>();

    void queue(Key key) {
        if (queued.add(key)) worker.execute(() -> work(key));
    }

    void work(Key key) {
        queued.remove(key);
        try {
            V1Deployment cached = deployments.namespace(key.namespace()).get(key.name());
            if (cached != null) reconcile(copy(cached)).ifPresent(wait -> later(key, wait));
            failures.remove(key);
        } catch (Exception error) { // such as a conflict: the cache was behind
            if (!(error instanceof ApiException refused) || refused.getCode() != 409) error.printStackTrace();
            later(key, Duration.ofMillis(5L << Math.min(13, failures.merge(key, 1, Integer::sum))));
        }
    }

    void later(Key key, Duration wait) {
        worker.schedule(() -> queue(key), wait.toMillis(), TimeUnit.MILLISECONDS);
    }

    <T extends KubernetesObject, L extends io.kubernetes.client.common.KubernetesListObject> Lister<T> watch(
            ApiClient client, Class<T> type, Class<L> list, String group, String plural, Function<T, Optional<Key>> concerns) {
        SharedIndexInformer<T> informer = informers.sharedIndexInformerFor(
            new GenericKubernetesApi<>(type, list, group, "v1", plural, client), type, 0);
        informer.addEventHandler(new ResourceEventHandler<>() {
            public void onAdd(T now) { concerns.apply(now).ifPresent(DeploymentController.this::queue); }
            public void onUpdate(T before, T now) { onAdd(before); onAdd(now); }
            public void onDelete(T last, boolean stale) { onAdd(last); }
        });
        return new Lister<>(informer.getIndexer());
    }

    Optional<Key> deploymentOf(V1ReplicaSet set) {
        return owner(set, "Deployment").map(o -> new Key(set.getMetadata().getNamespace(), o.getName()));
    }

    V1ReplicaSet replicaSet(String namespace, String name) { return replicaSets.namespace(namespace).get(name); }

    // --- One reconciliation of a Deployment

    /** Returns when to reconcile again without a change. */
    Optional<Duration> reconcile(V1Deployment deployment) throws ApiException {
        V1Deployment before = copy(deployment);
        Rollout rollout = new Rollout(deployment);
        rollout.report(rollout.act(), before.getStatus());
        boolean changed = !deployment.getStatus().equals(before.getStatus())
            || !Objects.equals(annotation(deployment, REVISION), annotation(before, REVISION));
        if (!changed) return rollout.untilDeadline();
        apps.replaceNamespacedDeploymentStatus(before.getMetadata().getName(), before.getMetadata().getNamespace(), deployment).execute();
        return Optional.empty();
    }

    class Rollout {
        final V1Deployment deployment;
        final V1DeploymentSpec spec;
        final V1DeploymentStatus status;
        final String namespace;
        final int replicas;
        final boolean rolling;
        V1ReplicaSet current; // of the present template; null before it is created
        final List<V1ReplicaSet> old = new ArrayList<>(); // all others, oldest first

        Rollout(V1Deployment d) {
            deployment = d;
            spec = d.getSpec();
            if (d.getStatus() == null) d.setStatus(new V1DeploymentStatus());
            status = d.getStatus();
            if (status.getConditions() == null) status.setConditions(new ArrayList<>());
            namespace = d.getMetadata().getNamespace();
            replicas = spec.getReplicas();
            rolling = "RollingUpdate".equals(spec.getStrategy().getType());
            replicaSets.namespace(namespace).list().stream()
                .filter(set -> isOwned(set, d)).map(set -> copy(set)).sorted(BY_AGE).forEach(old::add);
            current = old.stream().filter(set -> template(set.getSpec().getTemplate()).equals(template(spec.getTemplate()))).findFirst().orElse(null);
            old.remove(current);
        }

        /** Does the next action, and returns whether to update the progress condition. */
        boolean act() throws ApiException {
            if (deployment.getMetadata().getDeletionTimestamp() != null) return false;
            notePause();
            boolean paused = Boolean.TRUE.equals(spec.getPaused());
            boolean scaled = active(all()).stream().anyMatch(set -> count(set, DESIRED).orElse(replicas) != replicas);
            if (paused || scaled) {
                refresh();
                scale();
                if (paused) cleanUp();
            } else if (rolling) {
                roll();
            } else {
                recreate();
            }
            return !(paused || scaled);
        }

        void roll() throws ApiException {
            refreshOrCreate();
            int now = size(current);
            if (resize(current, now < replicas ? newSize(now) : replicas) || reduceOld()) return;
            if (isComplete()) cleanUp();
        }

        int newSize(int now) {
            if (!rolling) return replicas;
            return now + Math.min(Math.max(0, replicas + maxSurge() - wanted(all())), replicas - now);
        }

        /** Removes unavailable pods first, which does not reduce availability. */
        boolean reduceOld() throws ApiException {
            int least = replicas - maxUnavailable(), total = 0;
            int budget = wanted(all()) - least - (size(current) - available(current));
            for (V1ReplicaSet set : active(old)) {
                int unhealthy = size(set) - available(set);
                if (unhealthy < 0 && budget > 0) return total > 0; // its status is behind its last cut
                int cut = Math.min(unhealthy, budget);
                if (cut > 0) {
                    resize(set, size(set) - cut);
                    budget -= cut;
                    total += cut;
                }
            }
            budget = Math.min(budget, sum(all(), DeploymentController::available) - least);
            for (V1ReplicaSet set : active(old)) {
                int cut = Math.min(size(set), budget);
                if (cut > 0) {
                    resize(set, size(set) - cut);
                    budget -= cut;
                    total += cut;
                }
            }
            return total > 0;
        }

        /** Waits for the last old pod before the first new one. */
        void recreate() throws ApiException {
            refresh();
            List<V1ReplicaSet> running = active(old);
            for (V1ReplicaSet set : running) resize(set, 0);
            if (!running.isEmpty() || oldPodsRun()) return;
            refreshOrCreate();
            resize(current, replicas);
            if (isComplete()) cleanUp();
        }

        boolean oldPodsRun() {
            return old.stream().anyMatch(set -> reported(set) > 0 || pods.namespace(namespace).list().stream()
                .anyMatch(pod -> isOwned(pod, set) && !List.of("Failed", "Succeeded").contains(String.valueOf(pod.getStatus().getPhase()))));
        }

        /** Scales to a new number of replicas: the only active ReplicaSet, or each in proportion. */
        void scale() throws ApiException {
            List<V1ReplicaSet> sets = active(all());
            if (sets.size() < 2) {
                V1ReplicaSet only = !sets.isEmpty() ? sets.get(0) : current != null ? current : old.isEmpty() ? null : old.get(old.size() - 1);
                if (only != null) resize(only, replicas);
            } else if (current != null && size(current) == replicas && available(current) == replicas && count(current, DESIRED).orElse(-1) == replicas) {
                for (V1ReplicaSet set : active(old)) resize(set, 0);
            } else if (rolling) {
                scaleInProportion(sets);
            }
        }

        /** The largest first; among equals the newest grows first, and the oldest shrinks first. */
        void scaleInProportion(List<V1ReplicaSet> sets) throws ApiException {
            int left = (replicas > 0 ? replicas + maxSurge() : 0) - wanted(sets);
            boolean grows = left > 0;
            sets.sort(Comparator.<V1ReplicaSet>comparingInt(set -> -size(set)).thenComparing(grows ? BY_AGE.reversed() : BY_AGE));
            int[] sizes = new int[sets.size()];
            for (int i = 0; i < sizes.length; i++) {
                int share = grows ? Math.min(share(sets.get(i)), left) : Math.max(share(sets.get(i)), left);
                left -= share;
                sizes[i] = size(sets.get(i)) + share;
            }
            sizes[0] = Math.max(0, sizes[0] + left); // what rounding leaves over
            for (int i = 0; i < sizes.length; i++) resizeAndNote(sets.get(i), sizes[i]);
        }

        int share(V1ReplicaSet set) {
            if (replicas == 0) return -size(set);
            int before = count(set, MAX).filter(n -> n > 0).orElse(or0(status.getReplicas()));
            return before == 0 ? 0 : (int) Math.round((double) size(set) * (replicas + maxSurge()) / before) - size(set);
        }

        /** Deletes old ReplicaSets beyond the history limit, the lowest revision first. */
        void cleanUp() throws ApiException {
            List<V1ReplicaSet> sets = old.stream().filter(set -> set.getMetadata().getDeletionTimestamp() == null)
                .sorted(Comparator.comparingLong(DeploymentController::revision)).toList();
            int beyond = sets.size() - spec.getRevisionHistoryLimit();
            for (V1ReplicaSet set : sets.subList(0, Math.max(0, beyond))) {
                boolean seen = set.getMetadata().getGeneration() <= Optional.ofNullable(set.getStatus().getObservedGeneration()).orElse(0L);
                if (size(set) == 0 && reported(set) == 0 && seen) apps.deleteNamespacedReplicaSet(set.getMetadata().getName(), namespace).execute();
            }
        }

        // ReplicaSets

        void refreshOrCreate() throws ApiException {
            if (current == null) create(); else refresh();
        }

        void refresh() throws ApiException {
            if (current == null) return;
            V1ReplicaSet before = copy(current);
            annotate(current);
            current.getSpec().setMinReadySeconds(spec.getMinReadySeconds());
            if (!current.equals(before)) current = update(current);
            deployment.getMetadata().putAnnotationsItem(REVISION, annotation(current, REVISION));
            if (condition("Progressing") == null) noteProgress("FoundNewReplicaSet", "Found new replica set \"" + current.getMetadata().getName() + "\"");
        }

        /** The Deployment's annotations and the revision. */
        void annotate(V1ReplicaSet set) {
            Optional.ofNullable(deployment.getMetadata().getAnnotations()).orElse(Map.of()).forEach((name, value) -> {
                if (!NOT_COPIED.contains(name)) set.getMetadata().putAnnotationsItem(name, value);
            });
            noteRevision(set);
        }

        /** Sets the highest revision; an annotation keeps the earlier ones. */
        void noteRevision(V1ReplicaSet set) {
            long next = 1 + old.stream().mapToLong(DeploymentController::revision).max().orElse(0);
            String was = annotation(set, REVISION);
            if (revision(set) >= next) return;
            set.getMetadata().putAnnotationsItem(REVISION, Long.toString(next));
            if (was != null) set.getMetadata().putAnnotationsItem(HISTORY, Stream.of(annotation(set, HISTORY), was)
                .filter(text -> text != null && !text.isEmpty()).reduce((a, b) -> a + "," + b).orElse(was));
        }

        /** Its name contains the template's hash, so that a controller with a stale cache creates no second one. */
        void create() throws ApiException {
            V1ObjectMeta meta = deployment.getMetadata();
            String seed = JSON.serialize(spec.getTemplate()) + Objects.toString(status.getCollisionCount(), "");
            String hash = Integer.toUnsignedString(seed.hashCode(), 36).replaceAll("[aeiou013]", "x");
            V1PodTemplateSpec template = copy(spec.getTemplate());
            template.getMetadata().putLabelsItem(HASH, hash);
            int size = newSize(0);
            V1ReplicaSet set = new V1ReplicaSet().apiVersion("apps/v1").kind("ReplicaSet")
                .metadata(new V1ObjectMeta().namespace(namespace)
                    .name(meta.getName().substring(0, Math.min(meta.getName().length(), 252 - hash.length())) + "-" + hash)
                    .labels(template.getMetadata().getLabels())
                    .addOwnerReferencesItem(new V1OwnerReference().apiVersion("apps/v1").kind("Deployment").name(meta.getName())
                        .uid(meta.getUid()).controller(true).blockOwnerDeletion(true)))
                .spec(new V1ReplicaSetSpec().replicas(size).minReadySeconds(spec.getMinReadySeconds()).template(template)
                    .selector(copy(spec.getSelector()).putMatchLabelsItem(HASH, hash)));
            annotate(set);
            noteSizes(set);
            current = apps.createNamespacedReplicaSet(namespace, set).execute();
            if (size > 0) event(current, "up", 0, size);
            meta.putAnnotationsItem(REVISION, annotation(current, REVISION));
            noteProgress("NewReplicaSetCreated", "Created new replica set \"" + current.getMetadata().getName() + "\"");
        }

        boolean resize(V1ReplicaSet set, int size) throws ApiException {
            return size(set) != size && resizeAndNote(set, size);
        }

        /** Also writes if only the annotations differ. */
        boolean resizeAndNote(V1ReplicaSet set, int size) throws ApiException {
            int from = size(set);
            if (!noteSizes(set) && from == size) return false;
            set.getSpec().setReplicas(size);
            V1ReplicaSet answer = update(set);
            set.setMetadata(answer.getMetadata()); // so that it can be written again
            if (from != size) event(set, from < size ? "up" : "down", from, size);
            return from != size;
        }

        boolean noteSizes(V1ReplicaSet set) {
            var before = new HashMap<>(Optional.ofNullable(set.getMetadata().getAnnotations()).orElse(Map.of()));
            set.getMetadata().putAnnotationsItem(DESIRED, Integer.toString(replicas));
            set.getMetadata().putAnnotationsItem(MAX, Integer.toString(replicas + maxSurge()));
            return !set.getMetadata().getAnnotations().equals(before);
        }

        V1ReplicaSet update(V1ReplicaSet set) throws ApiException {
            return apps.replaceNamespacedReplicaSet(set.getMetadata().getName(), namespace, set).execute();
        }

        void event(V1ReplicaSet set, String direction, int from, int to) throws ApiException {
            V1ObjectMeta meta = deployment.getMetadata();
            OffsetDateTime now = OffsetDateTime.now();
            core.createNamespacedEvent(namespace, new CoreV1Event()
                .metadata(new V1ObjectMeta().namespace(namespace).generateName(meta.getName() + "."))
                .involvedObject(new V1ObjectReference().apiVersion("apps/v1").kind("Deployment").namespace(namespace).name(meta.getName()).uid(meta.getUid()))
                .type("Normal").reason("ScalingReplicaSet").count(1).firstTimestamp(now).lastTimestamp(now)
                .source(new V1EventSource().component("deployment-controller"))
                .message("Scaled %s replica set %s from %d to %d".formatted(direction, set.getMetadata().getName(), from, to))).execute();
        }

        List<V1ReplicaSet> all() {
            List<V1ReplicaSet> sets = new ArrayList<>(old);
            if (current != null) sets.add(current);
            return sets;
        }

        int maxSurge() { return rolling ? bound(spec.getStrategy().getRollingUpdate().getMaxSurge(), true) : 0; }

        /** 1 if both bounds are zero after rounding, because nothing could change otherwise. */
        int maxUnavailable() {
            if (!rolling || replicas == 0) return 0;
            int bound = bound(spec.getStrategy().getRollingUpdate().getMaxUnavailable(), false);
            return Math.min(bound == 0 && maxSurge() == 0 ? 1 : bound, replicas);
        }

        int bound(IntOrString value, boolean up) {
            if (value.isInteger()) return value.getIntValue();
            double share = Integer.parseInt(value.getStrValue().replace("%", "")) * (double) replicas / 100;
            return (int) (up ? Math.ceil(share) : Math.floor(share));
        }

        // Status

        void report(boolean judged, V1DeploymentStatus before) {
            List<V1ReplicaSet> sets = all();
            int available = sum(sets, DeploymentController::available);
            status.observedGeneration(deployment.getMetadata().getGeneration())
                .replicas(orNull(sum(sets, DeploymentController::reported)))
                .updatedReplicas(current == null ? null : orNull(reported(current)))
                .readyReplicas(orNull(sum(sets, set -> or0(set.getStatus().getReadyReplicas()))))
                .availableReplicas(orNull(available)).unavailableReplicas(orNull(Math.max(0, wanted(sets) - available)));
            boolean known = sets.stream().allMatch(set -> set.getStatus().getTerminatingReplicas() != null || set.getStatus().getObservedGeneration() == null);
            status.setTerminatingReplicas(known ? sum(sets, set -> or0(set.getStatus().getTerminatingReplicas())) : null);
            if (available >= replicas - maxUnavailable()) set("Available", "True", "MinimumReplicasAvailable", "Deployment has minimum availability.");
            else set("Available", "False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability.");
            if (!judged) return;
            judgeProgress(before == null ? new V1DeploymentStatus() : before);
            var failure = sets.stream().flatMap(set -> Optional.ofNullable(set.getStatus().getConditions()).orElse(List.of()).stream())
                .filter(c -> c.getType().equals("ReplicaFailure")).reduce((a, b) -> b);
            if (failure.isPresent()) set("ReplicaFailure", failure.get().getStatus(), failure.get().getReason(), failure.get().getMessage());
            else status.getConditions().removeIf(c -> c.getType().equals("ReplicaFailure"));
        }

        /** Whether the rollout is complete, progresses, or has exceeded its deadline. */
        void judgeProgress(V1DeploymentStatus before) {
            V1DeploymentCondition was = condition("Progressing");
            if (!hasDeadline()) status.getConditions().remove(was);
            if (!hasDeadline() || was != null && DONE.equals(was.getReason()) && oldPods(status) == 0) return;
            String subject = current != null ? "ReplicaSet \"" + current.getMetadata().getName() + "\"" : "Deployment \"" + deployment.getMetadata().getName() + "\"";
            boolean moves = or0(status.getUpdatedReplicas()) > or0(before.getUpdatedReplicas()) || or0(status.getReadyReplicas()) > or0(before.getReadyReplicas())
                || or0(status.getAvailableReplicas()) > or0(before.getAvailableReplicas()) || oldPods(status) < oldPods(before);
            if (isComplete()) {
                set("Progressing", "True", DONE, subject + " has successfully progressed.");
            } else if (moves) {
                if (was != null) was.setLastUpdateTime(OffsetDateTime.now()); // the deadline counts from here
                set("Progressing", "True", "ReplicaSetUpdated", subject + " is progressing.");
            } else if (was != null && !DONE.equals(was.getReason()) && left(was).isNegative()) {
                set("Progressing", "False", TIMEOUT, subject + " has timed out progressing.");
            }
        }

        boolean isComplete() {
            return or0(status.getUpdatedReplicas()) == replicas && or0(status.getReplicas()) == replicas && or0(status.getAvailableReplicas()) == replicas
                && deployment.getMetadata().getGeneration().equals(status.getObservedGeneration());
        }

        void notePause() {
            V1DeploymentCondition was = condition("Progressing");
            String reason = was == null ? "" : was.getReason();
            boolean paused = Boolean.TRUE.equals(spec.getPaused());
            if (!hasDeadline() || reason.equals(TIMEOUT)) return;
            if (paused && !reason.equals("DeploymentPaused")) set("Progressing", "Unknown", "DeploymentPaused", "Deployment is paused");
            if (!paused && reason.equals("DeploymentPaused")) set("Progressing", "Unknown", "DeploymentResumed", "Deployment is resumed");
        }

        void noteProgress(String reason, String message) {
            if (hasDeadline()) set("Progressing", "True", reason, message);
        }

        boolean hasDeadline() { return spec.getProgressDeadlineSeconds() != null && spec.getProgressDeadlineSeconds() != Integer.MAX_VALUE; }

        Duration left(V1DeploymentCondition c) {
            return Duration.between(OffsetDateTime.now(), c.getLastUpdateTime().plusSeconds(spec.getProgressDeadlineSeconds()));
        }

        /** No watch reports that time has passed. */
        Optional<Duration> untilDeadline() {
            V1DeploymentCondition c = condition("Progressing");
            if (c == null || !hasDeadline() || List.of(DONE, TIMEOUT).contains(c.getReason()) || isComplete()) return Optional.empty();
            return Optional.of(left(c).isNegative() ? Duration.ofMillis(50) : left(c).plusMillis(50));
        }

        V1DeploymentCondition condition(String type) {
            return status.getConditions().stream().filter(c -> c.getType().equals(type)).findFirst().orElse(null);
        }

        /** Sets a condition, unless it already has this status and reason. */
        void set(String type, String value, String reason, String message) {
            V1DeploymentCondition c = condition(type);
            if (c == null) status.addConditionsItem(c = new V1DeploymentCondition().type(type));
            else if (value.equals(c.getStatus()) && reason.equals(c.getReason())) return;
            OffsetDateTime now = OffsetDateTime.now();
            if (!value.equals(c.getStatus())) c.setLastTransitionTime(now);
            c.status(value).reason(reason).message(message).lastUpdateTime(now);
        }
    }

    // --- Objects

    static final Comparator<V1ReplicaSet> BY_AGE = Comparator.<V1ReplicaSet, OffsetDateTime>comparing(set -> set.getMetadata().getCreationTimestamp())
        .thenComparing(set -> set.getMetadata().getName());

    @SuppressWarnings("unchecked")
    static <T> T copy(T object) { return (T) JSON.deserialize(JSON.serialize(object), object.getClass()); }

    static Key key(KubernetesObject object) { return new Key(object.getMetadata().getNamespace(), object.getMetadata().getName()); }

    static Optional<V1OwnerReference> owner(KubernetesObject object, String kind) {
        return Optional.ofNullable(object).map(o -> o.getMetadata().getOwnerReferences()).orElse(List.of()).stream()
            .filter(o -> Boolean.TRUE.equals(o.getController()) && o.getKind().equals(kind)).findFirst();
    }

    static boolean isOwned(KubernetesObject object, KubernetesObject by) {
        return Stream.of("Deployment", "ReplicaSet").anyMatch(kind -> owner(object, kind).filter(o -> o.getUid().equals(by.getMetadata().getUid())).isPresent());
    }

    static V1PodTemplateSpec template(V1PodTemplateSpec of) {
        V1PodTemplateSpec template = copy(of);
        template.getMetadata().getLabels().remove(HASH);
        return template;
    }

    static String annotation(KubernetesObject object, String name) {
        return Optional.ofNullable(object.getMetadata().getAnnotations()).orElse(Map.of()).get(name);
    }

    static Optional<Integer> count(V1ReplicaSet set, String name) {
        String text = annotation(set, name);
        return text != null && text.matches("\\d{1,9}") ? Optional.of(Integer.parseInt(text)) : Optional.empty();
    }

    static long revision(V1ReplicaSet set) { return count(set, REVISION).orElse(0); }

    static List<V1ReplicaSet> active(List<V1ReplicaSet> sets) { return new ArrayList<>(sets.stream().filter(set -> size(set) > 0).toList()); }

    static int sum(List<V1ReplicaSet> sets, ToIntFunction<V1ReplicaSet> of) { return sets.stream().mapToInt(of).sum(); }

    static int wanted(List<V1ReplicaSet> sets) { return sum(sets, DeploymentController::size); }

    static int size(V1ReplicaSet set) { return set.getSpec().getReplicas(); }

    static int available(V1ReplicaSet set) { return set.getStatus() == null ? 0 : or0(set.getStatus().getAvailableReplicas()); }

    static int reported(V1ReplicaSet set) { return set.getStatus() == null ? 0 : or0(set.getStatus().getReplicas()); }

    static int oldPods(V1DeploymentStatus status) { return or0(status.getReplicas()) - or0(status.getUpdatedReplicas()); }

    static int or0(Integer number) { return number == null ? 0 : number; }

    /** The server omits zero counts, and so does this controller, to detect changes of the status. */
    static Integer orNull(int number) { return number == 0 ? null : number; }
}
