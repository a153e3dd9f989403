//! The user's kubeconfig: which files it is, which cluster a context names, and whether the
//! interceptor can lead there.
//!
//! It is read as kubectl reads it: an empty string says nothing, and base64 may be wrapped.

use crate::causes::chain;
use crate::quote::quoted;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use k8s_openapi::ByteString;
use kube::config::{Cluster, Context, Kubeconfig, KubeconfigError};
use serde_json::{Map, Value};

use super::OwnError;

/// The files that make up the user's kubeconfig: the one that is named, else those of
/// `$KUBECONFIG`, else `~/.kube/config`.
pub fn files(named: Option<&Path>, variable: Option<&OsStr>, home: Option<&Path>) -> Result<Vec<PathBuf>, OwnError> {
    if let Some(named) = named {
        let there = named.is_file().then(|| vec![named.to_owned()]);
        return there.ok_or_else(|| OwnError::NoFile { looked: named.display().to_string() });
    }
    let listed: Vec<_> = variable.map(|list| std::env::split_paths(list).collect()).unwrap_or_default();
    let mut wanted: Vec<PathBuf> = listed.into_iter().filter(|path| !path.as_os_str().is_empty()).collect();
    if wanted.is_empty() {
        wanted.extend(home.map(|home| home.join(".kube").join("config")));
    }
    let looked = wanted.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(" or ");
    // As kubectl: a file of the list that is not there is passed over.
    wanted.retain(|path| path.is_file());
    if wanted.is_empty() {
        let looked = if looked.is_empty() { "$KUBECONFIG and no home folder".to_owned() } else { looked };
        return Err(OwnError::NoFile { looked });
    }
    Ok(wanted)
}

/// Read and merge them, as kubectl does: whatever names a thing first wins.
///
/// # Errors
/// See [`OwnError`].
pub fn read(files: &[PathBuf]) -> Result<Kubeconfig, OwnError> {
    files.iter().try_fold(Kubeconfig::default(), |merged, path| {
        let bad = |why: String| OwnError::File { path: path.clone(), why };
        let mut next = match Kubeconfig::read_from(path) {
            Ok(next) => serde_json::to_value(next).map_err(|error| bad(error.to_string()))?,
            // Entries that lack a field may be others than the one that is used.
            Err(error) => incomplete(path).ok_or_else(|| bad(unquoted(&error)))?,
        };
        normalise(&mut next, path.parent().unwrap_or(Path::new(""))).map_err(bad)?;
        let next = serde_json::from_value(next).map_err(|error| bad(misshapen(&error)))?;
        merged.merge(next).map_err(|error| bad(chain(&error)))
    })
}

/// Why a kubeconfig cannot be read. The parser would quote the line, where a token may stand.
fn unquoted(error: &KubeconfigError) -> String {
    match error {
        KubeconfigError::Parse(error) => match error.location() {
            Some(at) => format!("line {}, column {} is not YAML of a kubeconfig", at.line(), at.column()),
            None => "this is not YAML of a kubeconfig".to_owned(),
        },
        error => chain(error),
    }
}

/// What was expected in place of a value, which may be a token.
fn misshapen(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rsplit_once("expected ") {
        Some((_, expected)) => format!("a value has the wrong type: expected {expected}"),
        None if text.starts_with("missing field") => text,
        None => "a value is not one of a kubeconfig".to_owned(),
    }
}

/// The lists of a kubeconfig, and what each entry is of.
const LISTS: [(&str, &str); 3] = [("clusters", "cluster"), ("users", "user"), ("contexts", "context")];
/// The fields that hold base64.
const BASE64: [&str; 3] = ["certificate-authority-data", "client-certificate-data", "client-key-data"];
/// The fields that name a file.
const FILES: [&str; 4] = ["certificate-authority", "client-certificate", "client-key", "tokenFile"];

/// A kubeconfig with what an entry must have; nothing if it is none.
fn incomplete(path: &Path) -> Option<Value> {
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

/// Takes out of a file of this folder what says nothing, and refuses what says two things.
fn normalise(file: &mut Value, folder: &Path) -> Result<(), String> {
    if file["current-context"] == "" {
        file["current-context"] = Value::Null;
    }
    for (list, of) in LISTS {
        let mut names = BTreeSet::new();
        for entry in file.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            let name = entry["name"].as_str().unwrap_or_default().to_owned();
            if let Some(fields) = entry.get_mut(of).and_then(Value::as_object_mut) {
                // A context has its cluster's name in a field that is called so.
                fields.retain(|field, value| value != "" || field == "cluster");
                clean(fields, folder);
            }
            if !names.insert(name.clone()) {
                return Err(format!("two {list} are named `{name}`"));
            }
        }
    }
    Ok(())
}

fn clean(fields: &mut Map<String, Value>, folder: &Path) {
    for (field, value) in fields.iter_mut() {
        let Value::String(text) = value else { continue };
        if BASE64.contains(&field.as_str()) {
            text.retain(|letter| !matches!(letter, '\n' | '\r'));
        } else if FILES.contains(&field.as_str()) {
            *text = folder.join(&*text).display().to_string();
        }
    }
    // Of an empty name its folder is left.
    fields
        .retain(|field, value| !FILES.contains(&field.as_str()) || !value.as_str().unwrap_or_default().ends_with('/'));
}

/// Whether a context can be used, as far as the kubeconfig itself says; `None` never can.
///
/// # Errors
/// See [`OwnError`].
pub fn check(config: &Kubeconfig, context: Option<&str>) -> Result<(), OwnError> {
    choose(config, context)?.authorities(context.unwrap_or_default()).map(drop)
}

/// The server that a context names, and who vouches for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Target {
    /// `https://HOST:PORT`, and a path if there is one.
    pub(super) server: String,
    /// The name that its certificate is for, where it is not the one in the address.
    pub(super) server_name: Option<String>,
    /// Whom to trust.
    pub(super) trust: Trust,
}

/// Whose certificates vouch for a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Trust {
    /// Those of this text, PEM.
    Pem(String),
    /// Those in this file.
    File(PathBuf),
    /// Those that this machine trusts anyway.
    System,
}

/// What a context leads to. Without a name: an error that says what to type.
pub(super) fn choose(config: &Kubeconfig, wanted: Option<&str>) -> Result<Target, OwnError> {
    let Some(wanted) = wanted else { return Err(OwnError::NotNamed { hint: hint(config) }) };
    let (_, cluster) = find(config, wanted)?;
    target(cluster).map_err(|why| OwnError::Context { context: wanted.to_owned(), why })
}

/// A context and its cluster.
pub(super) fn find<'a>(config: &'a Kubeconfig, wanted: &str) -> Result<(&'a Context, &'a Cluster), OwnError> {
    let named = config.contexts.iter().find(|context| context.name == wanted);
    let unknown = || OwnError::UnknownContext { wanted: wanted.to_owned(), known: known(config) };
    let context = named.ok_or_else(unknown)?.context.as_ref();
    let bad = |why: &str| OwnError::Context { context: wanted.to_owned(), why: why.to_owned() };
    let context = context.ok_or_else(|| bad("it names no cluster"))?;
    let name = context.cluster.as_str();
    let cluster = config.clusters.iter().find(|cluster| cluster.name == name).and_then(|named| named.cluster.as_ref());
    let cluster = cluster.ok_or_else(|| bad(&format!("its cluster `{name}` is not in the kubeconfig")))?;
    Ok((context, cluster))
}

fn target(cluster: &Cluster) -> Result<Target, String> {
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
    Ok(Target { server: server.to_owned(), server_name, trust: trust(cluster)? })
}

/// Whose certificates vouch for the server of a cluster.
pub(super) fn trust(cluster: &Cluster) -> Result<Trust, String> {
    let data = cluster.certificate_authority_data.as_ref().filter(|data| !data.is_empty());
    let file = cluster.certificate_authority.as_ref().filter(|file| !file.is_empty());
    Ok(match (data, file) {
        (Some(data), _) => {
            // The API's own type for bytes reads base64, which is what this field holds.
            let pem = serde_json::from_value(data.as_str().into())
                .ok()
                .and_then(|ByteString(pem)| String::from_utf8(pem).ok());
            Trust::Pem(pem.ok_or("its certificate-authority-data is not PEM in base64")?)
        }
        (None, Some(file)) => Trust::File(file.into()),
        (None, None) => Trust::System,
    })
}

/// Which context is current, and what to type.
fn hint(config: &Kubeconfig) -> String {
    match config.current_context.as_deref().filter(|name| !name.is_empty()) {
        Some(current) => {
            let server =
                choose(config, Some(current)).map(|target| format!(" ({})", target.server)).unwrap_or_default();
            format!("the current context is `{current}`{server}; type --yes-this-cluster {}", quoted(current))
        }
        None => format!("type --yes-this-cluster CONTEXT; {}", known(config)),
    }
}

/// The contexts that there are.
pub(super) fn known(config: &Kubeconfig) -> String {
    let names: Vec<_> = config.contexts.iter().map(|context| context.name.as_str()).collect();
    if names.is_empty() { "it has no context at all".to_owned() } else { format!("it has {}", names.join(", ")) }
}

impl Target {
    /// The certificates to trust, PEM.
    pub(super) fn authorities(&self, context: &str) -> Result<String, OwnError> {
        match &self.trust {
            Trust::Pem(pem) => Ok(pem.clone()),
            Trust::File(path) => std::fs::read_to_string(path)
                .map_err(|error| OwnError::File { path: path.clone(), why: error.to_string() }),
            Trust::System => {
                let found = rustls_native_certs::load_native_certs();
                if found.certs.is_empty() {
                    let why = "it names no certificate-authority, and this machine trusts none of its own".to_owned();
                    return Err(OwnError::Context { context: context.to_owned(), why });
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

    /// One context `c`, current, whose cluster has these fields.
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
    fn what_a_context_leads_to(#[case] cluster: &str, #[case] server: &str, #[case] trust: Trust) {
        let target = Target { server: server.to_owned(), server_name: None, trust };
        assert_eq!(choose(&config(cluster), Some("c")).unwrap(), target);
    }

    #[test]
    fn a_name_beside_the_address() {
        let target =
            choose(&config("{server: 'https://127.0.0.1:1', tls-server-name: kubernetes}"), Some("c")).unwrap();
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
    fn what_is_refused(#[case] cluster: &str, #[case] context: &str, #[case] word: &str) {
        let error = choose(&config(cluster), Some(context)).unwrap_err().to_string();
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
    fn who_names_none_is_told_what_to_type(#[case] text: &str, #[case] words: &str) {
        let error = choose(&Kubeconfig::from_yaml(text).unwrap(), None).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }

    #[test]
    fn the_files_are_found_as_kubectl_finds_them() {
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
    fn the_first_file_wins_and_a_bad_one_is_named() {
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
        let found = choose(&read(&[one, two]).unwrap(), Some("c")).unwrap();
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
    fn words_for_a_shell() {
        for (word, typed) in [
            ("kind-a", "kind-a"),
            ("arn:aws:eks:x:1:cluster/a", "arn:aws:eks:x:1:cluster/a"),
            ("a b", "'a b'"),
            ("it's", r#""it's""#),
            ("", "''"),
        ] {
            assert_eq!(quoted(word), typed);
        }
    }

    #[test]
    fn certificates_can_be_read_back() {
        let bytes = vec![7; 300];
        assert_eq!(CertificateDer::from_pem_slice(pem(&bytes).as_bytes()).unwrap().as_ref(), bytes);
    }
}
