//! The permissions of the harness and of the subject on a disposable cluster, and their two service
//! accounts on one that was not created with the harness's tokens.

use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use k8s_openapi::api::rbac::v1::{ClusterRoleBinding, RoleRef, Subject};
use kube::api::{Api, DeleteParams, ObjectMeta, PostParams};
use kube::config::Kubeconfig;

use crate::ownership::ignore_missing;
use crate::{ClusterAccess, ClusterError, Credential, TokenUser};

const NAMESPACE: &str = "kube-system";
/// The API group of roles and bindings.
pub(super) const GROUP: &str = "rbac.authorization.k8s.io";
const ADMIN: &str = "lockstep-admin";
const SUBJECT: &str = "lockstep-subject";
/// The lifetime of a token in seconds, longer than any run. Deleting the account at the end of the
/// run ends the token earlier.
const TOKEN_SECONDS: i64 = 24 * 60 * 60;

/// Creates both accounts, bound to `cluster-admin` as on every disposable cluster, and a token for
/// each.
pub(super) async fn create_accounts(client: &kube::Client, kubeconfig: &str) -> Result<ClusterAccess, ClusterError> {
    let (server, ca_pem) = server_address(kubeconfig)?;
    let admin = Credential::Token(create_account(client, ADMIN).await?);
    let subject_token = create_account(client, SUBJECT).await?;
    Ok(ClusterAccess { server, server_name: None, ca_pem, proxy: None, admin, subject_token })
}

/// Deletes both accounts, and so their tokens, on a cluster that is not deleted.
pub(super) async fn delete_accounts(access: &ClusterAccess) -> Result<(), ClusterError> {
    let client = access.admin_client().await?;
    // The harness's account is deleted last, as it sends these requests.
    for name in [SUBJECT, ADMIN] {
        delete_account(&Api::namespaced(client.clone(), NAMESPACE), name).await?;
    }
    Ok(())
}

async fn delete_account(accounts: &Api<ServiceAccount>, name: &str) -> Result<(), ClusterError> {
    ignore_missing(accounts.delete(name, &DeleteParams::default()).await)
        .map_err(ClusterError::request("ending an account"))
}

/// The server's address and its CA, from the only cluster of a kubeconfig.
fn server_address(kubeconfig: &str) -> Result<(String, String), ClusterError> {
    let failed = |why: &str| ClusterError::Client { server: "the kubeconfig".to_owned(), why: why.to_owned() };
    let file = Kubeconfig::from_yaml(kubeconfig).map_err(|error| failed(&error.to_string()))?;
    let cluster = file.clusters.into_iter().next().and_then(|named| named.cluster);
    let cluster = cluster.ok_or_else(|| failed("it names no cluster"))?;
    let server = cluster.server.ok_or_else(|| failed("its cluster has no server"))?;
    let ca = cluster.certificate_authority_data.ok_or_else(|| failed("its cluster has no certificate authority"))?;
    // The Kubernetes API's type for bytes deserialises base64, as this field holds it.
    let ca: k8s_openapi::ByteString =
        serde_json::from_value(ca.into()).map_err(|_| failed("its certificate authority is not base64"))?;
    let ca = String::from_utf8(ca.0).map_err(|_| failed("its certificate authority is not PEM"))?;
    Ok((server, ca))
}

async fn create_account(client: &kube::Client, name: &str) -> Result<String, ClusterError> {
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), NAMESPACE);
    let metadata = ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
    let account = ServiceAccount { metadata, ..ServiceAccount::default() };
    // An account that a killed run left behind would work, but its old tokens would work too.
    delete_account(&accounts, name).await?;
    ignore_conflict(accounts.create(&PostParams::default(), &account).await)?;
    let binding = cluster_admin_binding(Subject {
        kind: "ServiceAccount".to_owned(),
        name: name.to_owned(),
        namespace: Some(NAMESPACE.to_owned()),
        api_group: None,
    });
    ignore_conflict(Api::<ClusterRoleBinding>::all(client.clone()).create(&PostParams::default(), &binding).await)?;
    request_token(&accounts, name).await
}

/// Binds the subject's user to `cluster-admin`: the server is disposable, and permissions are not
/// judged on it.
pub(super) async fn bind_subject_to_cluster_admin(client: kube::Client) -> Result<(), ClusterError> {
    let binding = cluster_admin_binding(Subject {
        kind: "User".to_owned(),
        name: TokenUser::Subject.name().to_owned(),
        namespace: None,
        api_group: Some(GROUP.to_owned()),
    });
    let created = Api::<ClusterRoleBinding>::all(client).create(&PostParams::default(), &binding).await;
    created.map(drop).map_err(ClusterError::request("binding the subject's user"))
}

/// Binds an account or a user to `cluster-admin`, in a binding of the same name.
fn cluster_admin_binding(subject: Subject) -> ClusterRoleBinding {
    ClusterRoleBinding {
        metadata: ObjectMeta { name: Some(subject.name.clone()), ..ObjectMeta::default() },
        role_ref: RoleRef {
            api_group: Some(GROUP.to_owned()),
            kind: "ClusterRole".to_owned(),
            name: "cluster-admin".to_owned(),
        },
        subjects: Some(vec![subject]),
    }
}

/// Requests a token for a service account that lasts longer than any run.
pub(super) async fn request_token(accounts: &Api<ServiceAccount>, name: &str) -> Result<String, ClusterError> {
    let request = TokenRequest {
        spec: Some(TokenRequestSpec { expiration_seconds: Some(TOKEN_SECONDS), ..TokenRequestSpec::default() }),
        ..TokenRequest::default()
    };
    let answer = accounts.create_token_request(name, &PostParams::default(), &request).await;
    let answer = answer.map_err(ClusterError::request("asking for a token"))?;
    Ok(answer.status.and_then(|status| status.token).unwrap_or_default())
}

/// Accepts an object that an earlier run has created.
fn ignore_conflict<T>(created: kube::Result<T>) -> Result<(), ClusterError> {
    match created {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
        Err(error) => Err(ClusterError::request("making an account")(error)),
    }
}
