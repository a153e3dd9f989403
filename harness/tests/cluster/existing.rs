//! A user's own cluster: what a session leaves there, what the subject may do, and when the cluster
//! is refused.
//!
//! A control plane of the trial acts as the user's cluster. Without upstream's programs, and
//! without Go to build them, the trials are listed as ignored.

use std::time::Duration;

use k8s_openapi::api::admissionregistration::v1::{ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding};
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Namespace, Node, Pod};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use k8s_openapi::{ClusterResourceScope, NamespaceResourceScope};
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Client, Resource, ResourceExt};
use libtest_mimic::{Failed, Trial};
use lockstep_cluster::existing::{self, KubeconfigOptions};
use lockstep_cluster::{Cluster, ClusterError, ClusterPlan, DEFAULT_VERSION, Site, available, boot};
use lockstep_runner::observe::namespace::make_namespace;
use lockstep_support::clock;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::outcome::{Outcome, check, trial};

const OURS: &str = "app.kubernetes.io/managed-by";
const HOME: &str = "lockstep-environment";

pub(crate) fn trials() -> Vec<Trial> {
    let ignored = available(DEFAULT_VERSION).is_err();
    vec![
        trial("control-plane::own::session_confines_the_subject_and_leaves_nothing", ignored, stay),
        trial("control-plane::own::foreign_cluster_is_refused", ignored, refused),
    ]
}

/// A control plane as the user's cluster, a client with the user's rights, and the command-line
/// options.
pub(crate) async fn users_own() -> Result<(Cluster, Client, KubeconfigOptions), Failed> {
    let cluster = boot(&ClusterPlan::new(DEFAULT_VERSION)).await?;
    let client = cluster.access().admin_client().await?;
    let (files, context) = (vec![cluster.admin_kubeconfig_path()], "lockstep".to_owned());
    let options = KubeconfigOptions { files, context, accept_unguarded_pods: false };
    Ok((cluster, client, options))
}

async fn visit(options: &KubeconfigOptions) -> Result<Cluster, ClusterError> {
    boot(&ClusterPlan::new(DEFAULT_VERSION).at(Site::Kubeconfig(options.clone()))).await
}

async fn make<K>(client: &Client, object: Value) -> Outcome
where
    K: Resource<Scope = ClusterResourceScope, DynamicType = ()>
        + Clone
        + DeserializeOwned
        + std::fmt::Debug
        + serde::Serialize,
{
    Api::<K>::all(client.clone()).create(&PostParams::default(), &serde_json::from_value(object)?).await?;
    Ok(())
}

async fn make_in<K>(client: &Client, namespace: &str, object: Value) -> Result<(), kube::Error>
where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>
        + Clone
        + DeserializeOwned
        + std::fmt::Debug
        + serde::Serialize,
{
    let object = serde_json::from_value(object).expect("a literal of the right shape");
    Api::<K>::namespaced(client.clone(), namespace).create(&PostParams::default(), &object).await.map(drop)
}

/// The names of all objects with the harness's label.
pub(crate) async fn labelled(client: &Client) -> Result<Vec<String>, Failed> {
    async fn of<K>(client: &Client) -> Result<Vec<String>, kube::Error>
    where
        K: Resource<DynamicType = ()> + Clone + DeserializeOwned + std::fmt::Debug,
    {
        let ours = ListParams::default().labels(&format!("{OURS}=lockstep"));
        Ok(Api::<K>::all(client.clone()).list(&ours).await?.iter().map(ResourceExt::name_any).collect())
    }
    let mut names = of::<Namespace>(client).await?;
    names.extend(of::<Node>(client).await?);
    names.extend(of::<Lease>(client).await?);
    names.extend(of::<ClusterRole>(client).await?);
    names.extend(of::<ClusterRoleBinding>(client).await?);
    names.extend(of::<ValidatingAdmissionPolicy>(client).await?);
    names.extend(of::<ValidatingAdmissionPolicyBinding>(client).await?);
    Ok(names)
}

/// A Deployment or ReplicaSet with two replicas.
fn two(name: &str) -> Value {
    let labels = json!({"app": name});
    let template = json!({"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "app:1"}]}});
    json!({"metadata": {"name": name}, "spec": {"replicas": 2, "selector": {"matchLabels": labels}, "template": template}})
}

fn is_refused<T>(answer: &Result<T, kube::Error>) -> bool {
    matches!(answer, Err(kube::Error::Api(status)) if status.code == 403)
}

async fn stay() -> Outcome {
    let (plane, client, options) = users_own().await?;
    make_in::<Deployment>(&client, "default", two("users-own")).await?;
    // The remains of a killed run, and objects that only look like them.
    let (key, id) = existing::label();
    let (left, copied, none) = (json!({OURS: "lockstep", key: id}), json!({OURS: "lockstep"}), json!({}));
    let others = json!({OURS: "lockstep", key: "another"});
    for (name, labels) in [
        ("ls-left-0-1", &left),
        ("users", &left),
        ("ls-prod", &copied),
        ("ls-others", &others),
        ("lockstep-users", &none),
    ] {
        make::<Namespace>(&client, json!({"metadata": {"name": name, "labels": labels}})).await?;
    }
    make::<Node>(&client, json!({"metadata": {"name": "lockstep-9", "labels": left}})).await?;

    let cluster = visit(&options).await?;
    let left = labelled(&client).await?;
    check(!left.iter().any(|name| name == "lockstep-9") && left.iter().any(|name| name == HOME), format!("{left:?}"))?;
    check(!serde_json::to_string(&cluster.access().admin)?.contains("token"), "the user's credential is written down")?;

    // The subject can read the user's Deployment and not change it.
    let subject = cluster.access().subject_client()?;
    let seen = Api::<Deployment>::all(subject.clone()).list(&ListParams::default()).await?;
    check(seen.iter().any(|one| one.name_any() == "users-own"), "the subject does not see the user's Deployments")?;
    let (yes, none) = (PatchParams::default(), PostParams::default());
    let users: Api<Deployment> = Api::namespaced(subject.clone(), "default");
    let paused = Patch::Merge(json!({"spec": {"paused": true}}));
    check(is_refused(&users.patch("users-own", &yes, &paused).await), "the subject paused the user's Deployment")?;
    check(is_refused(&users.delete("users-own", &DeleteParams::default()).await), "the subject deleted it")?;
    check(is_refused(&make_in::<ReplicaSet>(&subject, "default", two("rs")).await), "the subject made a ReplicaSet")?;
    let namespace = serde_json::from_value(json!({"metadata": {"name": "subjects"}}))?;
    let made = Api::<Namespace>::all(subject.clone()).create(&none, &namespace).await;
    check(is_refused(&made), "the subject made a namespace")?;
    let secrets = Api::<k8s_openapi::api::core::v1::Secret>::all(subject.clone()).list(&ListParams::default()).await;
    check(is_refused(&secrets), "the subject reads secrets")?;

    // In the harness's namespaces it has a controller's rights.
    make_namespace(&client, "ls-case-0-1", Some(id)).await?;
    check(is_refused(&make_in::<ReplicaSet>(&subject, "ls-case-0-1", two("rs")).await), "it was let in too early")?;
    cluster.grant_namespace_access("ls-case-0-1").await?;
    make_in::<ReplicaSet>(&subject, "ls-case-0-1", two("rs")).await?;
    pods_are_kept_off_nodes(&client, &subject).await?;

    cluster.end().await;
    let left = labelled(&client).await?;
    check(left == ["ls-others", "ls-prod", "users"], format!("left, or taken: {left:?}"))?;
    its_token_ends(&subject).await?;
    check(
        Api::<Namespace>::all(client.clone()).get_opt("lockstep-users").await?.is_some(),
        "a user's namespace is gone",
    )?;
    check(users_are_untouched(&client).await?, "the user's Deployment was touched")?;
    let swept = existing::down(&options).await?;
    check(swept.is_empty(), format!("something was left: {swept}"))?;
    let report = swept.foreign().unwrap_or_default();
    check(
        report.contains("2 namespaces (ls-others, ls-prod)"),
        format!("no report of the remaining namespaces: {report}"),
    )?;
    plane.end().await;
    Ok(())
}

/// No pod in the harness's namespaces reaches a user's node, whichever client creates it. The
/// cluster's ReplicaSet controller has no more rights there than the user.
async fn pods_are_kept_off_nodes(user: &Client, subject: &Client) -> Outcome {
    let pod = |more: Value| {
        let mut pod = json!({"metadata": {"generateName": "p-"}, "spec": {"schedulerName": "lockstep",
            "automountServiceAccountToken": false, "containers": [{"name": "c", "image": "app:1"}]}});
        for (key, value) in more.as_object().into_iter().flatten() {
            pod["spec"][key] = value.clone();
        }
        pod
    };
    let privileged = json!([{"name": "c", "image": "app:1", "securityContext": {"privileged": true}}]);
    let forbidden = [
        json!({"containers": privileged}),
        json!({"volumes": [{"name": "v", "hostPath": {"path": "/"}}]}),
        json!({"hostNetwork": true}),
        json!({"hostPID": true}),
        json!({"nodeName": "users-node"}),
    ];
    for more in forbidden {
        let made = make_in::<Pod>(user, "ls-case-0-1", pod(more.clone())).await;
        // This server has no --allow-privileged, so it refuses privileged pods before admission.
        let invalid = more.get("containers").is_some()
            && matches!(&made, Err(kube::Error::Api(status)) if status.code == 422 && status.message.contains("privileged"));
        check(invalid || is_refused(&made), format!("a pod with {more} was let in: {made:?}"))?;
    }
    // A pod that differs in one field is refused for that field alone.
    make_in::<Pod>(user, "ls-case-0-1", pod(json!({"nodeName": "lockstep-1"}))).await?;
    make_in::<Pod>(user, "default", pod(json!({"nodeName": "users-node"}))).await?;
    // A subject with only the Deployment controller creates no pods at all.
    check(is_refused(&make_in::<Pod>(subject, "ls-case-0-1", pod(json!({}))).await), "the subject made a pod")?;
    let pods: Api<Pod> = Api::namespaced(user.clone(), "ls-case-0-1");
    let free: Pod = serde_json::from_value(pod(json!({})))?;
    let free = pods.create(&PostParams::default(), &free).await?.name_any();
    let binding = json!({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": free},
        "target": {"apiVersion": "v1", "kind": "Node", "name": "users-node"}});
    let bound = pods.create_subresource::<_, Value>("binding", &free, &PostParams::default(), &binding).await;
    check(is_refused(&bound), format!("a pod was bound to the user's node: {bound:?}"))
}

async fn users_are_untouched(client: &Client) -> Result<bool, Failed> {
    let users = Api::<Deployment>::namespaced(client.clone(), "default").get("users-own").await?;
    let made = Api::<ReplicaSet>::namespaced(client.clone(), "default").list(&ListParams::default()).await?;
    Ok(users.metadata.generation == Some(1)
        && users.status.is_none_or(|status| status.replicas.is_none())
        && made.items.is_empty())
}

async fn refused() -> Outcome {
    let (plane, client, options) = users_own().await?;
    let refuses = async |word: &str| match visit(&options).await {
        Err(error) if error.to_string().contains(word) => Ok(()),
        Err(error) => Err(Failed::from(format!("not {word}: {error}"))),
        Ok(_) => Err(Failed::from(format!("not refused: {word}"))),
    };

    let open = json!({"metadata": {"name": "open-house"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "system:serviceaccounts"}]});
    make::<ClusterRoleBinding>(&client, open).await?;
    // The server applies it a moment later.
    clock::pause(Duration::from_secs(1)).await;
    refuses("lets every service account update deployments in any namespace").await?;
    let left = labelled(&client).await?;
    check(left.is_empty(), format!("left behind: {left:?}"))?;
    Api::<ClusterRoleBinding>::all(client.clone()).delete("open-house", &DeleteParams::default()).await?;

    make::<Namespace>(&client, json!({"metadata": {"name": HOME}})).await?;
    refuses("was not made by lockstep").await?;
    let labels = json!({"metadata": {"labels": {OURS: "lockstep", "app.kubernetes.io/component": "home"}}});
    let namespaces: Api<Namespace> = Api::all(client.clone());
    namespaces.patch(HOME, &PatchParams::default(), &Patch::Merge(labels)).await?;

    // A run on another machine that is still alive.
    make_in::<Lease>(&client, HOME, json!({"metadata": {"name": "lockstep"}, "spec": {"holderIdentity": "there/7/x"}}))
        .await?;
    let leases: Api<Lease> = Api::namespaced(client.clone(), HOME);
    let renewing = tokio::spawn(async move {
        loop {
            clock::pause(Duration::from_secs(1)).await;
            let now = Patch::Merge(json!({"spec": {"renewTime": clock::rfc3339_micros()}}));
            leases.patch("lockstep", &PatchParams::default(), &now).await.ok();
        }
    });
    refuses("process 7 on there is running lockstep on this cluster").await?;
    renewing.abort();
    plane.end().await;
    Ok(())
}

/// Its rights are removed with the run, so its requests are forbidden (403) until the server's
/// token cache expires some ten seconds after the last use; then they are unauthorized (401).
async fn its_token_ends(subject: &Client) -> Outcome {
    let deadline = clock::instant() + Duration::from_secs(60);
    loop {
        let answer = Api::<Deployment>::all(subject.clone()).list(&ListParams::default()).await;
        match &answer {
            Err(kube::Error::Api(status)) if status.code == 401 => return Ok(()),
            Err(kube::Error::Api(status)) if status.code == 403 && clock::instant() < deadline => {}
            _ => return check(false, format!("the subject's token outlives the run: {answer:?}")),
        }
        clock::sleep(Duration::from_millis(500)).await;
    }
}
