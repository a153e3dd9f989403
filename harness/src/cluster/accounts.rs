//! Two service accounts on a cluster that was not made with our tokens in it.

use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use k8s_openapi::api::rbac::v1::{ClusterRoleBinding, RoleRef, Subject};
use kube::api::{Api, DeleteParams, ObjectMeta, PostParams};
use kube::config::Kubeconfig;

use super::ours::gone;
use super::{Access, ClusterError, Credential};

const NAMESPACE: &str = "kube-system";
const ADMIN: &str = "lockstep-admin";
const SUBJECT: &str = "lockstep-subject";
/// How long a token is good for at most, in seconds: longer than any run. It ends with its account,
/// and that with the run.
const SECONDS: i64 = 24 * 60 * 60;

/// Make both accounts, `cluster-admin` as on every cluster that is thrown away, and a token for
/// each.
pub(super) async fn admit(client: &kube::Client, kubeconfig: &str) -> Result<Access, ClusterError> {
    let (server, ca_pem) = address(kubeconfig)?;
    let admin = Credential::Token(account(client, ADMIN).await?);
    let subject_token = account(client, SUBJECT).await?;
    Ok(Access { server, server_name: None, ca_pem, proxy: None, admin, subject_token })
}

/// End both accounts and with them their tokens, on a cluster that stays.
pub(super) async fn dismiss(access: &Access) -> Result<(), ClusterError> {
    let client = access.admin_client().await?;
    // The harness's own goes last: it is who asks.
    for name in [SUBJECT, ADMIN] {
        delete(&Api::namespaced(client.clone(), NAMESPACE), name).await?;
    }
    Ok(())
}

async fn delete(accounts: &Api<ServiceAccount>, name: &str) -> Result<(), ClusterError> {
    gone(accounts.delete(name, &DeleteParams::default()).await).map_err(ClusterError::request("ending an account"))
}

/// The server's address and the CA that vouches for it, of the file's only cluster.
fn address(kubeconfig: &str) -> Result<(String, String), ClusterError> {
    let failed = |why: &str| ClusterError::Client { server: "the kubeconfig".to_owned(), why: why.to_owned() };
    let file = Kubeconfig::from_yaml(kubeconfig).map_err(|error| failed(&error.to_string()))?;
    let cluster = file.clusters.into_iter().next().and_then(|named| named.cluster);
    let cluster = cluster.ok_or_else(|| failed("it names no cluster"))?;
    let server = cluster.server.ok_or_else(|| failed("its cluster has no server"))?;
    let ca = cluster.certificate_authority_data.ok_or_else(|| failed("its cluster has no certificate authority"))?;
    // The API's own type for bytes reads base64, which is what this field holds.
    let ca: k8s_openapi::ByteString =
        serde_json::from_value(ca.into()).map_err(|_| failed("its certificate authority is not base64"))?;
    let ca = String::from_utf8(ca.0).map_err(|_| failed("its certificate authority is not PEM"))?;
    Ok((server, ca))
}

async fn account(client: &kube::Client, name: &str) -> Result<String, ClusterError> {
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), NAMESPACE);
    let metadata = || ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
    let account = ServiceAccount { metadata: metadata(), ..ServiceAccount::default() };
    // One that a killed run has left would do, but so would its tokens.
    delete(&accounts, name).await?;
    there(accounts.create(&PostParams::default(), &account).await)?;
    let group = "rbac.authorization.k8s.io".to_owned();
    let binding = ClusterRoleBinding {
        metadata: metadata(),
        role_ref: RoleRef { api_group: Some(group), kind: "ClusterRole".to_owned(), name: "cluster-admin".to_owned() },
        subjects: Some(vec![Subject {
            kind: "ServiceAccount".to_owned(),
            name: name.to_owned(),
            namespace: Some(NAMESPACE.to_owned()),
            api_group: None,
        }]),
    };
    there(Api::<ClusterRoleBinding>::all(client.clone()).create(&PostParams::default(), &binding).await)?;
    token(&accounts, name).await
}

/// A token for a service account, good for longer than any run.
pub(super) async fn token(accounts: &Api<ServiceAccount>, name: &str) -> Result<String, ClusterError> {
    let request = TokenRequest {
        spec: Some(TokenRequestSpec { expiration_seconds: Some(SECONDS), ..TokenRequestSpec::default() }),
        ..TokenRequest::default()
    };
    let answer = accounts.create_token_request(name, &PostParams::default(), &request).await;
    let answer = answer.map_err(ClusterError::request("asking for a token"))?;
    Ok(answer.status.and_then(|status| status.token).unwrap_or_default())
}

/// One that is there from an earlier run will do.
fn there<T>(created: kube::Result<T>) -> Result<(), ClusterError> {
    match created {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
        Err(error) => Err(ClusterError::request("making an account")(error)),
    }
}
