//! Kubeconfigs of all common forms against a simulated server: they work as with kubectl, if it is
//! installed.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{Api, ListParams};
use rstest::rstest;
use serde_json::{Value, json};
use tokio_rustls::TlsAcceptor;

use super::context::ResolvedContext;
use super::read;
use crate::testing::{ProxyProtocol, TestProxy};
use crate::{Authority, SimulatedServer};

const BETA: &str = "client.authentication.k8s.io/v1beta1";
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);

/// A server in this process, a folder, and the server's kubeconfig.
struct Fixture {
    cluster: SimulatedServer,
    folder: tempfile::TempDir,
}

impl Fixture {
    fn start() -> Self {
        Self { cluster: SimulatedServer::start().unwrap(), folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) -> String {
        std::fs::write(self.path(name), text).unwrap();
        self.path(name).display().to_string()
    }

    fn ca(&self) -> String {
        self.cluster.access().ca_pem.clone()
    }

    fn token(&self) -> String {
        self.cluster.access().subject_token.clone()
    }

    /// The kubeconfig after a change to the content of its cluster, user and context entries.
    fn config(&self, change: impl FnOnce(&mut Value, &mut Value, &mut Value)) -> Value {
        let mut cluster =
            json!({"server": self.cluster.access().server, "certificate-authority-data": base64(&self.ca())});
        let mut user = json!({"token": self.token()});
        let mut context = json!({"cluster": "k", "user": "u"});
        change(&mut cluster, &mut user, &mut context);
        json!({"apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{"name": "k", "cluster": cluster}], "users": [{"name": "u", "user": user}],
            "contexts": [{"name": "c", "context": context}]})
    }

    /// Lists namespaces through the current context of these files; returns the context's
    /// namespace.
    async fn list(&self, files: &[PathBuf]) -> Result<String, String> {
        let connection = ResolvedContext::new(&read(files).map_err(|error| error.to_string())?, None)
            .map_err(|error| error.to_string())?;
        let client = connection.client(CONNECT_TIMEOUT).map_err(|error| error.to_string())?;
        let listed = Api::<Namespace>::all(client).list(&ListParams::default()).await;
        listed.map(|_| connection.namespace().to_owned()).map_err(|error| error.to_string())
    }

    /// Whether kubectl can list namespaces with these files; `None` without kubectl.
    fn kubectl(&self, files: &[PathBuf]) -> Option<bool> {
        let files = std::env::join_paths(files).unwrap();
        let mut kubectl = Command::new("kubectl");
        kubectl.env("KUBECONFIG", files).env("HOME", self.folder.path()).env_remove("HTTPS_PROXY");
        let output = kubectl.args(["get", "namespaces", "--request-timeout=20s"]).output().ok()?;
        Some(output.status.success())
    }
}

fn base64(text: &str) -> String {
    serde_json::to_value(ByteString(text.as_bytes().to_vec())).unwrap().as_str().unwrap().to_owned()
}

fn wrap(text: &str) -> String {
    let letters: Vec<char> = text.chars().collect();
    letters.chunks(64).map(|line| line.iter().collect::<String>() + "\n").collect()
}

/// Each form of a kubeconfig, with its default namespace or its error.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kubeconfig_forms_work_as_with_kubectl() {
    let it = Fixture::start();
    let plugin = it.write("plugin", &format!(
        "#!/bin/sh\ntest \"$GREETING\" = hello || exit 3\necho '{{\"kind\":\"ExecCredential\",\"apiVersion\":\"'${{API:-client.authentication.k8s.io/v1}}'\",\"status\":{{\"token\":\"{}\"}}}}'\n",
        it.token()
    ));
    let mut mode = std::fs::metadata(&plugin).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut mode, 0o755);
    std::fs::set_permissions(&plugin, mode).unwrap();
    let ca_file = it.write("ca.crt", &format!("# the authority\nsubject=/CN=x\n{}\ntrailing text\n", it.ca()));
    it.write("token-with-end", &format!("{}\n", it.token()));
    it.write("blank", "\n");
    let exec = |more: Value| {
        let mut exec = json!({"apiVersion": "client.authentication.k8s.io/v1", "command": plugin,
            "interactiveMode": "Never", "env": [{"name": "GREETING", "value": "hello"}]});
        more.as_object().unwrap().iter().for_each(|(field, value)| exec[field] = value.clone());
        json!({"exec": exec})
    };
    let any = |_: &mut Value, _: &mut Value, _: &mut Value| {};
    let namespace = |name: &str| it.config(|_, _, context| context["namespace"] = json!(name)).to_string();
    let user = |user: Value| it.config(|_, of, _| *of = user.clone()).to_string();
    let cluster = |fields: Value| {
        let change = |cluster: &mut Value, _: &mut Value, _: &mut Value| {
            fields.as_object().unwrap().iter().for_each(|(field, value)| cluster[field] = value.clone());
        };
        it.config(change).to_string()
    };
    let root = |change: fn(&mut Value)| {
        let mut config = it.config(any);
        change(&mut config);
        config.to_string()
    };
    let yaml = serde_yaml::to_string(&it.config(any)).unwrap();
    let server = it.cluster.access().server.clone();
    let port = server.rsplit_once(':').unwrap().1.to_owned();
    let forms: Vec<(&str, String, Result<&str, &str>)> = vec![
        ("json", root(|_| {}), Ok("default")),
        ("yaml", yaml.clone(), Ok("default")),
        ("windows line ends", yaml.replace('\n', "\r\n"), Ok("default")),
        ("comments and a document's begin", format!("# mine\n---\n{yaml}"), Ok("default")),
        ("a namespace", namespace("shop"), Ok("shop")),
        ("an empty namespace", namespace(""), Ok("default")),
        (
            "a namespace that looks like a number",
            yaml.replace("user: u\n", "user: u\n    namespace: \"2024\"\n"),
            Ok("2024"),
        ),
        ("wrapped base64", cluster(json!({"certificate-authority-data": wrap(&base64(&it.ca()))})), Ok("default")),
        (
            "an authority's file with comments",
            cluster(json!({"certificate-authority-data": null, "certificate-authority": ca_file})),
            Ok("default"),
        ),
        (
            "a relative path",
            cluster(json!({"certificate-authority-data": null, "certificate-authority": "ca.crt"})),
            Ok("default"),
        ),
        (
            "empty fields",
            cluster(json!({"certificate-authority": "", "proxy-url": "", "tls-server-name": ""})),
            Ok("default"),
        ),
        (
            "no check of the certificate",
            cluster(json!({"certificate-authority-data": null, "insecure-skip-tls-verify": true})),
            Ok("default"),
        ),
        (
            "another server's name",
            cluster(json!({"server": format!("https://127.0.0.1:{port}"), "tls-server-name": "localhost"})),
            Ok("default"),
        ),
        ("the wrong server's name", cluster(json!({"tls-server-name": "other.example"})), Err("")),
        (
            "a server without a scheme",
            cluster(json!({"server": server.trim_start_matches("https://")})),
            Err("is not an address of the form"),
        ),
        ("a slash after the server", cluster(json!({"server": format!("{server}/")})), Ok("default")),
        (
            "no compression, extensions, unknown fields",
            cluster(json!({"disable-compression": true, "provider": "x",
            "extensions": [{"name": "minikube", "extension": {"last-update": "now"}}]})),
            Ok("default"),
        ),
        ("a tokenFile with a line's end", user(json!({"tokenFile": "token-with-end"})), Ok("default")),
        ("a tokenFile before a token", user(json!({"tokenFile": "token-with-end", "token": "wrong"})), Ok("default")),
        ("a token for an unreadable tokenFile", user(json!({"tokenFile": "gone", "token": it.token()})), Ok("default")),
        ("a missing tokenFile", user(json!({"tokenFile": "gone"})), Err("gone: No such file")),
        ("an empty tokenFile", user(json!({"tokenFile": "blank"})), Err("blank is empty")),
        ("an empty token beside a tokenFile", user(json!({"tokenFile": "token-with-end", "token": ""})), Ok("default")),
        ("nothing to be known by", user(json!({})), Err("")),
        ("a wrong token", user(json!({"token": "wrong"})), Err("")),
        (
            "a name beside a token",
            user(json!({"token": it.token(), "username": "anna", "password": "x"})),
            Err("one of them only"),
        ),
        ("a plugin", user(exec(json!({}))), Ok("default")),
        (
            "a plugin of v1beta1",
            user(exec(json!({"apiVersion": BETA, "interactiveMode": null,
            "env": [{"name": "GREETING", "value": "hello"}, {"name": "API", "value": BETA}]}))),
            Ok("default"),
        ),
        ("a plugin that wants the cluster", user(exec(json!({"provideClusterInfo": true}))), Ok("default")),
        ("a plugin at a relative path", user(exec(json!({"command": "./plugin"}))), Ok("default")),
        (
            "a plugin that is missing",
            user(exec(json!({"command": "no-such-plugin", "installHint": "install it"}))),
            Err("no-such-plugin; install it"),
        ),
        (
            "a token before a plugin",
            {
                let mut both = exec(json!({"command": "no-such-plugin"}));
                both["token"] = json!(it.token());
                user(both)
            },
            Ok("default"),
        ),
        (
            "a removed provider",
            user(json!({"auth-provider": {"name": "gcp"}})),
            Err("use the plugin gke-gcloud-auth-plugin"),
        ),
        (
            "a current context that is empty",
            root(|config| config["current-context"] = json!("")),
            Err("names no current context; it has c"),
        ),
        (
            "no current context",
            root(|config| drop(config.as_object_mut().unwrap().remove("current-context"))),
            Err("names no current context"),
        ),
        (
            "a current context that is not there",
            root(|config| config["current-context"] = json!("d")),
            Err("no context `d`; it has c"),
        ),
        (
            "a user that is not there",
            it.config(|_, _, context| context["user"] = json!("v")).to_string(),
            Err("its user `v` is not in the kubeconfig"),
        ),
        (
            "one context twice",
            root(|config| {
                let context = config["contexts"][0].clone();
                config["contexts"].as_array_mut().unwrap().push(context);
            }),
            Err("two contexts are named `c`"),
        ),
        (
            "other entries that lack something",
            root(|config| {
                config["contexts"].as_array_mut().unwrap().push(json!({"name": "z", "context": {"user": "u"}}));
                let user = json!({"exec": {"command": "x", "provideClusterInfo": null}});
                config["users"].as_array_mut().unwrap().push(json!({"user": user}));
            }),
            Ok("default"),
        ),
        (
            "no check of the certificate, and an authority",
            cluster(json!({"insecure-skip-tls-verify": true})),
            Err("leave one of them out"),
        ),
        ("extensions that are null", root(|config| config["extensions"] = Value::Null), Ok("default")),
    ];
    let mut wrong = Vec::new();
    for (name, text, expected) in &forms {
        let file = it.path("config");
        std::fs::write(&file, text).unwrap();
        let got = it.list(std::slice::from_ref(&file)).await;
        let is_right = match (&got, expected) {
            (Ok(got), Ok(expected)) => got == expected,
            (Err(got), Err(expected)) => got.contains(expected),
            _ => false,
        };
        let kubectl = it.kubectl(&[file]);
        if !is_right || kubectl.is_some_and(|works| works != expected.is_ok()) {
            wrong.push(format!("{name}: {got:?} instead of {expected:?}; works with kubectl: {kubectl:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The files of a list form one kubeconfig; some of them may be empty.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_are_merged_as_kubectl_merges_them() {
    let it = Fixture::start();
    let mut whole = it.config(|_, _, _| {});
    let users = whole.as_object_mut().unwrap().remove("users").unwrap();
    it.write("empty", "");
    it.write("comments", "# nothing\n");
    it.write("first", "apiVersion: v1\nkind: Config\ncurrent-context: ''\ncontexts: null\n");
    it.write("users", &json!({"users": users}).to_string());
    it.write("rest", &whole.to_string());
    let files = ["empty", "comments", "first", "users", "rest"].map(|name| it.path(name));
    assert_eq!(it.list(&files).await, Ok("default".to_owned()));
    assert_ne!(it.kubectl(&files), Some(false));
}

#[rstest]
#[case::connect(ProxyProtocol::Connect, "http://", "CONNECT ")]
#[case::connect_with_credentials(ProxyProtocol::Connect, "http://me:p%40ss@", "CONNECT ")]
#[case::socks(ProxyProtocol::Socks(None), "socks5://", "SOCKS ")]
#[case::socks_with_credentials(ProxyProtocol::Socks(Some("me:p@ss")), "socks5://me:p%40ss@", "SOCKS ")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn client_reaches_server_through_proxy_of_kubeconfig(
    #[case] form: ProxyProtocol,
    #[case] url: &str,
    #[case] verb: &str,
) {
    let it = Fixture::start();
    let proxy = TestProxy::start(form).await;
    let url = format!("{url}{}", proxy.address);
    let file = it.write("config", &it.config(|cluster, _, _| cluster["proxy-url"] = json!(url)).to_string());
    let file = [Path::new(&file).to_owned()];
    assert_eq!(it.list(&file).await, Ok("default".to_owned()));
    let server = it.cluster.access().server.trim_start_matches("https://").to_owned();
    let credentials = if url.starts_with("http://me") { " bWU6cEBzcw==" } else { "" };
    assert_eq!(proxy.requests(), [format!("{verb}{server}{credentials}")]);
    assert_ne!(it.kubectl(&file), Some(false));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn client_reaches_server_through_proxy_with_tls() {
    let it = Fixture::start();
    let authority = Authority::new("proxy", "2026-11-21T00:00:00Z".parse().unwrap()).unwrap();
    let tls = authority.server("proxy").unwrap().server_config().unwrap();
    let proxy = TestProxy::start(ProxyProtocol::ConnectOverTls(TlsAcceptor::from(std::sync::Arc::new(tls)))).await;
    let config = it.config(|cluster, _, _| {
        cluster["proxy-url"] = json!(format!("https://{}", proxy.address));
        cluster["certificate-authority-data"] = json!(base64(&(it.ca() + &authority.pem())));
    });
    let file = it.write("config", &config.to_string());
    assert_eq!(it.list(&[file.into()]).await, Ok("default".to_owned()));
    assert_eq!(proxy.requests().len(), 1);
}

/// The environment's proxy applies to other machines only.
#[rstest]
#[case::of_another_machine("https://192.0.2.1:6443", "", Some("http://p:3128"))]
#[case::of_this_machine("https://127.0.0.1:6443", "", None)]
#[case::exempt("https://192.0.2.1:6443", "192.0.2.0/24", None)]
fn environment_proxy_applies_to_other_machines(
    #[case] server: &str,
    #[case] exempt: &str,
    #[case] expected: Option<&str>,
) {
    let config = json!({"current-context": "c", "clusters": [{"name": "k", "cluster": {"server": server}}],
        "contexts": [{"name": "c", "context": {"cluster": "k"}}]});
    let variable = |name: &str| match name {
        "HTTPS_PROXY" => Some("http://p:3128".to_owned()),
        "NO_PROXY" => Some(exempt.to_owned()),
        _ => None,
    };
    let connection = ResolvedContext::with(&serde_json::from_value(config).unwrap(), None, &variable).unwrap();
    assert_eq!(connection.proxy.map(|proxy| proxy.to_string()).as_deref(), expected);
}
