//! Reads the user's kubeconfig: its files, the cluster of a context, and whether the interceptor
//! can reach it.
//!
//! Like kubectl, it treats an empty string as absent and accepts wrapped base64.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use k8s_openapi::ByteString;
use kube::config::{Cluster, Context, Kubeconfig, KubeconfigError};
use lockstep_support::sanitize::quote;
use serde_json::{Map, Value};

use super::ContextError;
use crate::error_chain::chain;

/// The files of the user's kubeconfig: the given one, else those of `$KUBECONFIG`, else
/// `~/.kube/config`.
pub fn files(flag: Option<&Path>, variable: Option<&OsStr>, home: Option<&Path>) -> Result<Vec<PathBuf>, ContextError> {
    if let Some(flag) = flag {
        let there = flag.is_file().then(|| vec![flag.to_owned()]);
        return there.ok_or_else(|| ContextError::NoFile { paths: flag.display().to_string() });
    }
    let listed: Vec<_> = variable.map(|list| std::env::split_paths(list).collect()).unwrap_or_default();
    let mut paths: Vec<PathBuf> = listed.into_iter().filter(|path| !path.as_os_str().is_empty()).collect();
    if paths.is_empty() {
        paths.extend(home.map(|home| home.join(".kube").join("config")));
    }
    let searched = paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(" or ");
    // Like kubectl, skip missing files of the list.
    paths.retain(|path| path.is_file());
    if paths.is_empty() {
        let paths = if searched.is_empty() { "$KUBECONFIG and no home folder".to_owned() } else { searched };
        return Err(ContextError::NoFile { paths });
    }
    Ok(paths)
}

/// Reads and merges the files as kubectl does: the first definition of an entry wins.
///
/// # Errors
/// See [`ContextError`].
pub fn read(files: &[PathBuf]) -> Result<Kubeconfig, ContextError> {
    files.iter().try_fold(Kubeconfig::default(), |merged, path| {
        let bad = |why: String| ContextError::File { path: path.clone(), why };
        let mut next = match Kubeconfig::read_from(path) {
            Ok(next) => serde_json::to_value(next).map_err(|error| bad(error.to_string()))?,
            // An entry that lacks a field need not be the one that is used.
            Err(error) => read_incomplete(path).ok_or_else(|| bad(parse_error_message(&error)))?,
        };
        normalise(&mut next, path.parent().unwrap_or(Path::new(""))).map_err(bad)?;
        let next = serde_json::from_value(next).map_err(|error| bad(type_error_message(&error)))?;
        merged.merge(next).map_err(|error| bad(chain(&error)))
    })
}

/// Why a kubeconfig cannot be read. The parser's message would quote the line, which may contain a
/// token.
fn parse_error_message(error: &KubeconfigError) -> String {
    match error {
        KubeconfigError::Parse(error) => match error.location() {
            Some(at) => format!("line {}, column {} is not YAML of a kubeconfig", at.line(), at.column()),
            None => "this is not YAML of a kubeconfig".to_owned(),
        },
        error => chain(error),
    }
}

/// The type that was expected instead of a value, which may be a token and is not quoted.
fn type_error_message(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rsplit_once("expected ") {
        Some((_, expected)) => format!("a value has the wrong type: expected {expected}"),
        None if text.starts_with("missing field") => text,
        None => "a value is not one of a kubeconfig".to_owned(),
    }
}

/// The lists of a kubeconfig, and the field of each entry's content.
const LISTS: [(&str, &str); 3] = [("clusters", "cluster"), ("users", "user"), ("contexts", "context")];
/// The fields with base64 content.
const BASE64: [&str; 3] = ["certificate-authority-data", "client-certificate-data", "client-key-data"];
/// The fields with a file's path.
const FILES: [&str; 4] = ["certificate-authority", "client-certificate", "client-key", "tokenFile"];

/// Reads a kubeconfig, adding the fields that an entry must have; `None` if it is not a kubeconfig.
fn read_incomplete(path: &Path) -> Option<Value> {
    let mut file: Value = serde_yaml::from_slice(&std::fs::read(path).ok()?).ok()?;
    for (list, of) in LISTS {
        for entry in file.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            entry.as_object_mut()?.entry("name").or_insert_with(|| "".into());
            if of == "context"
                && let Some(context) = entry.get_mut(of).and_then(Value::as_object_mut)
            {
                context.entry("cluster").or_insert_with(|| "".into());
            }
            if let Some(exec) = entry.pointer_mut("/user/exec").and_then(Value::as_object_mut) {
                exec.retain(|_, value| !value.is_null());
            }
        }
    }
    Some(file)
}

/// Removes empty fields from a kubeconfig of this folder, and refuses duplicate names.
fn normalise(file: &mut Value, folder: &Path) -> Result<(), String> {
    if file["current-context"] == "" {
        file["current-context"] = Value::Null;
    }
    for (list, of) in LISTS {
        let mut names = BTreeSet::new();
        for entry in file.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            let name = entry["name"].as_str().unwrap_or_default().to_owned();
            if let Some(fields) = entry.get_mut(of).and_then(Value::as_object_mut) {
                // A context's cluster field has the same name, so it is kept even if empty.
                fields.retain(|field, value| value != "" || field == "cluster");
                clean_fields(fields, folder);
            }
            if !names.insert(name.clone()) {
                return Err(format!("two {list} are named `{name}`"));
            }
        }
    }
    Ok(())
}

fn clean_fields(fields: &mut Map<String, Value>, folder: &Path) {
    for (field, value) in fields.iter_mut() {
        let Value::String(text) = value else { continue };
        if BASE64.contains(&field.as_str()) {
            text.retain(|letter| !matches!(letter, '\n' | '\r'));
        } else if FILES.contains(&field.as_str()) {
            *text = folder.join(&*text).display().to_string();
        }
    }
    // An empty path has become its folder.
    fields
        .retain(|field, value| !FILES.contains(&field.as_str()) || !value.as_str().unwrap_or_default().ends_with('/'));
}

/// Whether a context can be used, judging by the kubeconfig alone; `None` is never accepted.
///
/// # Errors
/// See [`ContextError`].
pub fn check(config: &Kubeconfig, context: Option<&str>) -> Result<(), ContextError> {
    resolve(config, context)?.authorities(context.unwrap_or_default()).map(drop)
}

/// The server of a context, and its CAs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ServerEndpoint {
    /// `https://HOST:PORT`, with a path if there is one.
    pub(super) server: String,
    /// The name in its certificate, if it differs from the host in the address.
    pub(super) server_name: Option<String>,
    /// The CAs of the server.
    pub(super) trust: Trust,
}

/// The CAs that are trusted for a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Trust {
    /// The CAs in this text, PEM.
    Pem(String),
    /// The CAs in this file.
    File(PathBuf),
    /// The CAs that this machine trusts.
    System,
}

/// The server of a context. Without a name, the error says which flag to add.
pub(super) fn resolve(config: &Kubeconfig, name: Option<&str>) -> Result<ServerEndpoint, ContextError> {
    let Some(name) = name else { return Err(ContextError::NotNamed { hint: hint(config) }) };
    let (_, cluster) = find_context(config, name)?;
    server_endpoint(cluster).map_err(|why| ContextError::Context { context: name.to_owned(), why })
}

pub(super) fn find_context<'a>(config: &'a Kubeconfig, name: &str) -> Result<(&'a Context, &'a Cluster), ContextError> {
    let named = config.contexts.iter().find(|context| context.name == name);
    let unknown = || ContextError::UnknownContext { name: name.to_owned(), available: list_contexts(config) };
    let context = named.ok_or_else(unknown)?.context.as_ref();
    let bad = |why: &str| ContextError::Context { context: name.to_owned(), why: why.to_owned() };
    let context = context.ok_or_else(|| bad("it names no cluster"))?;
    let cluster_name = context.cluster.as_str();
    let cluster =
        config.clusters.iter().find(|cluster| cluster.name == cluster_name).and_then(|named| named.cluster.as_ref());
    let cluster = cluster.ok_or_else(|| bad(&format!("its cluster `{cluster_name}` is not in the kubeconfig")))?;
    Ok((context, cluster))
}

fn server_endpoint(cluster: &Cluster) -> Result<ServerEndpoint, String> {
    let server = cluster.server.as_deref().unwrap_or_default().trim_end_matches('/');
    let uri = server.parse::<hyper::Uri>().ok().filter(|uri| uri.host().is_some());
    let uri = uri.ok_or_else(|| format!("its server `{server}` is not an address of the form https://HOST:PORT"))?;
    if uri.scheme_str() != Some("https") {
        return Err(format!("its server {server} does not use https, which the interceptor requires"));
    }
    if cluster.insecure_skip_tls_verify == Some(true) {
        return Err("it has insecure-skip-tls-verify, and the interceptor verifies the server; \
                    give it the server's certificate-authority instead"
            .to_owned());
    }
    let server_name = cluster.tls_server_name.clone().filter(|name| !name.is_empty());
    Ok(ServerEndpoint { server: server.to_owned(), server_name, trust: trust(cluster)? })
}

/// The CAs of a cluster's server.
pub(super) fn trust(cluster: &Cluster) -> Result<Trust, String> {
    let data = cluster.certificate_authority_data.as_ref().filter(|data| !data.is_empty());
    let file = cluster.certificate_authority.as_ref().filter(|file| !file.is_empty());
    Ok(match (data, file) {
        (Some(data), _) => {
            // The Kubernetes API's type for bytes deserialises base64, as this field holds it.
            let pem = serde_json::from_value(data.as_str().into())
                .ok()
                .and_then(|ByteString(pem)| String::from_utf8(pem).ok());
            Trust::Pem(pem.ok_or("its certificate-authority-data is not PEM in base64")?)
        }
        (None, Some(file)) => Trust::File(file.into()),
        (None, None) => Trust::System,
    })
}

/// The current context, and the flag to add.
fn hint(config: &Kubeconfig) -> String {
    match config.current_context.as_deref().filter(|name| !name.is_empty()) {
        Some(current) => {
            let server =
                resolve(config, Some(current)).map(|target| format!(" ({})", target.server)).unwrap_or_default();
            format!("the current context is `{current}`{server}; type --yes-this-cluster {}", quote(current))
        }
        None => format!("type --yes-this-cluster CONTEXT; {}", list_contexts(config)),
    }
}

/// The available contexts, in words.
pub(super) fn list_contexts(config: &Kubeconfig) -> String {
    let names: Vec<_> = config.contexts.iter().map(|context| context.name.as_str()).collect();
    if names.is_empty() { "it has no context at all".to_owned() } else { format!("it has {}", names.join(", ")) }
}

impl ServerEndpoint {
    /// The trusted certificates, PEM.
    pub(super) fn authorities(&self, context: &str) -> Result<String, ContextError> {
        match &self.trust {
            Trust::Pem(pem) => Ok(pem.clone()),
            Trust::File(path) => std::fs::read_to_string(path)
                .map_err(|error| ContextError::File { path: path.clone(), why: error.to_string() }),
            Trust::System => {
                let found = rustls_native_certs::load_native_certs();
                if found.certs.is_empty() {
                    let why = "it names no certificate-authority, and this machine trusts none of its own".to_owned();
                    return Err(ContextError::Context { context: context.to_owned(), why });
                }
                Ok(found.certs.iter().map(|certificate| pem(certificate)).collect())
            }
        }
    }
}

fn pem(certificate: &[u8]) -> String {
    let base64 = serde_json::to_value(ByteString(certificate.to_vec())).expect("bytes can be written as base64");
    let base64 = base64.as_str().unwrap_or_default();
    format!("-----BEGIN CERTIFICATE-----\n{base64}\n-----END CERTIFICATE-----\n")
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use rustls::pki_types::CertificateDer;
    use rustls::pki_types::pem::PemObject;

    use super::*;

    /// A kubeconfig with the current context `c`, whose cluster has these fields.
    fn config(cluster: &str) -> Kubeconfig {
        let contexts = "[{name: c, context: {cluster: k, user: u}}, {name: lost, context: {cluster: gone}}]";
        let text = format!("{{current-context: c, clusters: [{{name: k, cluster: {cluster}}}], contexts: {contexts}}}");
        Kubeconfig::from_yaml(&text).unwrap()
    }

    #[rstest]
    #[case("{server: 'https://a:6443/', certificate-authority-data: UEVN}", "https://a:6443", Trust::Pem("PEM".into()))]
    #[case("{server: 'https://a', certificate-authority: /ca}", "https://a", Trust::File("/ca".into()))]
    #[case("{server: 'https://a', certificate-authority: /ca, certificate-authority-data: UEVN}", "https://a",
        Trust::Pem("PEM".into()))]
    #[case("{server: 'https://a/k8s/clusters/c-1', proxy-url: ''}", "https://a/k8s/clusters/c-1", Trust::System)]
    fn context_resolves_to_server_and_trusted_authorities(
        #[case] cluster: &str,
        #[case] server: &str,
        #[case] trust: Trust,
    ) {
        let target = ServerEndpoint { server: server.to_owned(), server_name: None, trust };
        assert_eq!(resolve(&config(cluster), Some("c")).unwrap(), target);
    }

    #[test]
    fn server_name_is_read_besides_the_address() {
        let target =
            resolve(&config("{server: 'https://127.0.0.1:1', tls-server-name: kubernetes}"), Some("c")).unwrap();
        assert_eq!(target.server_name.as_deref(), Some("kubernetes"));
    }

    #[rstest]
    #[case("{}", "c", "context `c`: its server `` is not an address of the form https://HOST:PORT")]
    #[case("{server: 'https://a b'}", "c", "is not an address")]
    #[case("{server: '127.0.0.1:6443'}", "c", "does not use https")]
    #[case("{server: 'http://a:8001'}", "c", "does not use https")]
    #[case("{server: 'https://a', insecure-skip-tls-verify: true}", "c", "insecure-skip-tls-verify")]
    #[case("{server: 'https://a', certificate-authority-data: '%'}", "c", "is not PEM in base64")]
    #[case("{server: 'https://a'}", "lost", "context `lost`: its cluster `gone` is not in the kubeconfig")]
    #[case("{server: 'https://a'}", "d", "the kubeconfig has no context `d`; it has c, lost")]
    fn unusable_contexts_are_refused(#[case] cluster: &str, #[case] context: &str, #[case] word: &str) {
        let error = resolve(&config(cluster), Some(context)).unwrap_err().to_string();
        assert!(error.contains(word), "{error}");
    }

    #[rstest]
    #[case(
        "current-context: a b\ncontexts: [{name: a b, context: {cluster: k}}]\n\
            clusters: [{name: k, cluster: {server: 'https://a'}}]",
        "the current context is `a b` (https://a); type --yes-this-cluster 'a b'"
    )]
    #[case("current-context: x", "the current context is `x`; type --yes-this-cluster x")]
    #[case("contexts: [{name: a}, {name: b}]", "type --yes-this-cluster CONTEXT; it has a, b")]
    #[case("current-context: ''", "it has no context at all")]
    fn error_without_context_names_the_flag(#[case] text: &str, #[case] words: &str) {
        let error = resolve(&Kubeconfig::from_yaml(text).unwrap(), None).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }

    #[test]
    fn files_are_found_as_kubectl_finds_them() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir(at(".kube")).unwrap();
        for name in ["one", "two", ".kube/config"] {
            std::fs::write(at(name), "").unwrap();
        }
        let list = std::env::join_paths([at("one"), PathBuf::new(), at("none"), at("two")]).unwrap();
        let home = Some(folder.path());
        assert_eq!(files(Some(&at("two")), Some(&list), home).unwrap(), [at("two")]);
        assert_eq!(files(None, Some(&list), home).unwrap(), [at("one"), at("two")]);
        assert_eq!(files(None, Some(OsStr::new("")), home).unwrap(), [at(".kube/config")]);
        assert_eq!(files(None, None, home).unwrap(), [at(".kube/config")]);
        let error = files(None, Some(at("none").as_os_str()), home).unwrap_err().to_string();
        assert!(error.contains("none does not exist; name one with --kubeconfig FILE"), "{error}");
        assert!(files(Some(&at("none")), Some(&list), home).is_err());
        assert!(files(None, None, None).unwrap_err().to_string().contains("no home folder"));
    }

    #[test]
    fn first_file_wins_and_bad_file_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str, text: &str| {
            std::fs::write(folder.path().join(name), text).unwrap();
            folder.path().join(name)
        };
        let context = "contexts: [{name: c, context: {cluster: k}}]\n";
        let cluster = |ca: &str| {
            format!("clusters: [{{name: k, cluster: {{server: 'https://a', certificate-authority: {ca}}}}}]")
        };
        let (one, two) = (at("one", &(context.to_owned() + &cluster("ca.pem"))), at("two", &cluster("other.pem")));
        let found = resolve(&read(&[one, two]).unwrap(), Some("c")).unwrap();
        assert_eq!(found.trust, Trust::File(folder.path().join("ca.pem")));
        let error = read(&[at("bad", "contexts: 3")]).unwrap_err().to_string();
        assert!(error.contains("/bad: "), "{error}");
    }

    #[rstest]
    #[case::of_another_type("users: [{name: u, user: 's3cret'}]")]
    #[case::no_yaml("users:\n- {name: u, user: {token: 's3cret\n  x: [\n")]
    #[case::a_list("users: [{name: u, user: {token: ['s3cret']}}]")]
    #[case::a_text("s3cret")]
    fn content_of_a_kubeconfig_is_not_quoted(#[case] text: &str) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config");
        std::fs::write(&path, text).unwrap();
        let error = read(&[path]).unwrap_err().to_string();
        assert!(!error.contains("s3cret"), "{error}");
    }

    #[test]
    fn quotes_words_for_a_shell() {
        for (word, typed) in [
            ("kind-a", "kind-a"),
            ("arn:aws:eks:x:1:cluster/a", "arn:aws:eks:x:1:cluster/a"),
            ("a b", "'a b'"),
            ("it's", r#""it's""#),
            ("", "''"),
        ] {
            assert_eq!(quote(word), typed);
        }
    }

    #[test]
    fn certificates_round_trip_as_pem() {
        let bytes = vec![7; 300];
        assert_eq!(CertificateDer::from_pem_slice(pem(&bytes).as_bytes()).unwrap().as_ref(), bytes);
    }
}
