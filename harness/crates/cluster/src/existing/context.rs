//! Resolves a context of a kubeconfig for a client, as kubectl does.
//!
//! Only the proxy variables are read from the environment. A token file takes precedence over a
//! token, both over a plugin, and a user name with password excludes them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use kube::config::{AuthInfo, Cluster, Kubeconfig};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use super::ContextError;
use super::kubeconfig::{Trust, find_context, list_contexts, trust};
use crate::client::{Authorization, build_client};
use crate::proxy::{self, ForwardProxy};

/// What a client needs to reach the cluster of a context.
pub struct ResolvedContext {
    /// The context's name.
    pub context: String,
    config: kube::Config,
    authorization: Authorization,
    /// The proxy to the server, if there is one.
    pub(crate) proxy: Option<ForwardProxy>,
    /// The credential plugin, with the kubeconfig's installation hint.
    plugin: Option<String>,
}

/// A variable of the environment.
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

impl ResolvedContext {
    /// Resolves a context of a kubeconfig, by default its current one.
    ///
    /// # Errors
    /// See [`ContextError`].
    pub fn new(kubeconfig: &Kubeconfig, context: Option<&str>) -> Result<Self, ContextError> {
        Self::with(kubeconfig, context, &variable)
    }

    pub(super) fn with(
        kubeconfig: &Kubeconfig,
        context: Option<&str>,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, ContextError> {
        let name = context.or(kubeconfig.current_context.as_deref()).filter(|name| !name.is_empty());
        let name = name.ok_or_else(|| ContextError::NoCurrent { available: list_contexts(kubeconfig) })?;
        let (context, cluster) = find_context(kubeconfig, name)?;
        let bad = |why: String| ContextError::Context { context: name.to_owned(), why };
        let user = match context.user.as_deref() {
            None => AuthInfo::default(),
            Some(user) => {
                let found = kubeconfig.auth_infos.iter().find(|named| named.name == user);
                let found = found.ok_or_else(|| bad(format!("its user `{user}` is not in the kubeconfig")))?;
                found.auth_info.clone().unwrap_or_default()
            }
        };
        let server = cluster.server.as_deref().unwrap_or_default();
        let is_address = |uri: &hyper::Uri| matches!(uri.scheme_str(), Some("http" | "https")) && uri.host().is_some();
        let uri = server.parse::<hyper::Uri>().ok().filter(is_address);
        // Do not quote an address that may contain a password.
        let has_user = server.contains('@');
        let named = if has_user { String::new() } else { format!(" `{server}`") };
        let uri =
            uri.ok_or_else(|| bad(format!("its server{named} is not an address of the form https://HOST:PORT")))?;
        if has_user {
            let why = "its server has a user in its address; write username and password of the context's user instead";
            return Err(bad(why.to_owned()));
        }
        let proxy = proxy::choose_proxy(&uri, cluster.proxy_url.as_deref(), variable).map_err(bad)?;
        let authorization = authorization(&user).map_err(bad)?;
        let mut config = kube::Config::new(uri);
        config.default_namespace = context.namespace.clone().unwrap_or_else(|| "default".to_owned());
        config.accept_invalid_certs = cluster.insecure_skip_tls_verify == Some(true);
        config.tls_server_name.clone_from(&cluster.tls_server_name);
        config.root_cert = authorities(cluster).map_err(bad)?;
        if config.accept_invalid_certs && config.root_cert.is_some() {
            return Err(bad(
                "it has insecure-skip-tls-verify and a certificate-authority; leave one of them out".to_owned()
            ));
        }
        let user = with_plugin(user, &authorization, cluster).map_err(bad)?;
        let plugin = user.exec.as_ref().map(|exec| {
            let hint = exec.install_hint.as_deref().map(|hint| format!("; {}", hint.trim())).unwrap_or_default();
            format!("{}{hint}", exec.command.as_deref().unwrap_or_default())
        });
        config.auth_info = user;
        Ok(Self { context: name.to_owned(), config, authorization, proxy, plugin })
    }

    /// Uses a pod's service account.
    ///
    /// # Errors
    /// See [`ContextError`].
    pub fn in_cluster() -> Result<Self, ContextError> {
        let context = "in-cluster".to_owned();
        let bad = |why: String| ContextError::Context { context: "in-cluster".to_owned(), why };
        let mut config = kube::Config::incluster().map_err(|error| bad(error.to_string()))?;
        let proxy = proxy::choose_proxy(&config.cluster_url, None, &variable).map_err(bad)?;
        let token_file = config.auth_info.token_file.take().map(PathBuf::from);
        let authorization = Authorization { token_file, ..Authorization::default() };
        Ok(Self { context, config, authorization, proxy, plugin: None })
    }

    /// The default namespace.
    pub fn namespace(&self) -> &str {
        &self.config.default_namespace
    }

    /// A client with this connection time limit. Runs the credential plugin, if there is one. Needs
    /// a tokio runtime.
    ///
    /// # Errors
    /// See [`ContextError`].
    pub fn client(&self, limit: Duration) -> Result<kube::Client, ContextError> {
        let client = build_client(&self.config, self.authorization.clone(), self.proxy.as_ref(), limit);
        client.map_err(|why| {
            let plugin = self.plugin.as_ref().map(|plugin| format!(" (its credentials come from {plugin})"));
            ContextError::Context { context: self.context.clone(), why: why + &plugin.unwrap_or_default() }
        })
    }
}

/// The auth providers that kubectl had until v1.26, and their replacements.
const REMOVED: [(&str, &str); 2] = [("gcp", "gke-gcloud-auth-plugin"), ("azure", "kubelogin")];

fn authorization(user: &AuthInfo) -> Result<Authorization, String> {
    if let Some(provider) = &user.auth_provider
        && let Some((_, plugin)) = REMOVED.iter().find(|(name, _)| *name == provider.name)
    {
        let name = &provider.name;
        return Err(format!(
            "its user has the auth-provider {name}, which kubectl no longer has; use the plugin {plugin}"
        ));
    }
    // Secrets are readable only through serialisation.
    let plain = serde_json::to_value(user).map_err(|error| error.to_string())?;
    let secret = |field: &str| plain.get(field).and_then(serde_json::Value::as_str).map(str::to_owned);
    let token = secret("token");
    let token_file = user.token_file.as_ref().map(PathBuf::from);
    if let Some(file) = token_file.as_ref().filter(|_| token.is_none()) {
        let text =
            std::fs::read_to_string(file).map_err(|error| format!("its tokenFile {}: {error}", file.display()))?;
        if text.trim().is_empty() {
            return Err(format!("its tokenFile {} is empty", file.display()));
        }
    }
    let password = secret("password").unwrap_or_default();
    let basic = user.username.clone().map(|name| (name, password));
    if basic.is_some() && (token.is_some() || token_file.is_some()) {
        return Err("its user has a username and a token; it can be known by one of them only".to_owned());
    }
    Ok(Authorization { token, token_file, basic })
}

/// The remaining fields of a user: certificates, impersonation, and a plugin if there are no other
/// credentials.
fn with_plugin(mut user: AuthInfo, authorization: &Authorization, cluster: &Cluster) -> Result<AuthInfo, String> {
    let Authorization { token, token_file, basic } = authorization;
    (user.token, user.token_file, user.username, user.password) = (None, None, None, None);
    if token.is_some() || token_file.is_some() || basic.is_some() {
        (user.exec, user.auth_provider) = (None, None);
    }
    if let Some(exec) = user.exec.as_mut().filter(|exec| exec.provide_cluster_info) {
        exec.cluster = Some(cluster.try_into().map_err(|error: kube::config::KubeconfigError| error.to_string())?);
    }
    Ok(user)
}

/// The certificates of the server's CAs; `None` for this machine's CAs.
fn authorities(cluster: &Cluster) -> Result<Option<Vec<Vec<u8>>>, String> {
    let (pem, what) = match trust(cluster)? {
        Trust::System => return Ok(None),
        Trust::Pem(pem) => (pem, "certificate-authority-data".to_owned()),
        Trust::File(path) => (read(&path)?, format!("certificate-authority {}", path.display())),
    };
    let mut all = Vec::new();
    for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
        all.push(certificate.map_err(|error| format!("its {what}: {error}"))?.to_vec());
    }
    if all.is_empty() { Err(format!("its {what} has no certificate")) } else { Ok(Some(all)) }
}

fn read(path: &Path) -> Result<String, String> {
    let bytes =
        std::fs::read(path).map_err(|error| format!("its certificate-authority {}: {error}", path.display()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
