//! Compares discovery on both servers in all formats: for what the simulated server serves, its
//! discovery must equal the real one's. The real server serves more kinds and fields, which are
//! left out.

use kube_apiserver_sim::{ApiServer, protobuf};
use lockstep_cluster::{self as cluster, ClusterPlan};
use serde_json::Value;

use super::Error;
use super::play::{Server, define, send_and_collect};
use super::step::Step;

const AGGREGATED: &str = ";g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
/// The fields that identify list items; the first present one counts.
const NAMES: [&str; 7] = ["groupVersion", "subresource", "resource", "name", "version", "metadata", "clientCIDR"];

/// Compares every path of the simulated server's discovery in every format.
pub(crate) fn compare() -> Result<(), Error> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let cluster = runtime.block_on(cluster::boot(&ClusterPlan::new(cluster::DEFAULT_VERSION)))?;
    let compared = runtime.block_on(async {
        let real = Server::Real(cluster.client().await?);
        let simulated = Server::Sim(ApiServer::new());
        for server in [&real, &simulated] {
            define(server).await?;
        }
        compare_servers(&real, &simulated).await
    });
    runtime.block_on(cluster.end());
    let (answers, wrong) = compared?;
    println!("{answers} answers of discovery; {} on which the servers do not agree", wrong.len());
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n").into()) }
}

async fn compare_servers(real: &Server, simulated: &Server) -> Result<(usize, Vec<String>), Error> {
    let mut paths = vec!["/api".to_owned(), "/apis".to_owned(), "/api/v1".to_owned()];
    let (_, groups) = ask(simulated, "/apis", "application/json").await?;
    for group in groups["groups"].as_array().into_iter().flatten() {
        paths.push(format!("/apis/{}", text(&group["name"])));
        let versions = group["versions"].as_array().into_iter().flatten();
        paths.extend(versions.map(|version| format!("/apis/{}", text(&version["groupVersion"]))));
    }
    let (mut answers, mut wrong) = (0, Vec::new());
    for path in paths {
        let forms = ["application/json", protobuf::MEDIA_TYPE, "application/yaml"];
        let mut accepted = forms.map(str::to_owned).to_vec();
        accepted.push(format!("{},application/json", protobuf::MEDIA_TYPE));
        if matches!(path.as_str(), "/api" | "/apis") {
            accepted.extend(forms[..2].iter().map(|form| format!("{form}{AGGREGATED}")));
            accepted.push(format!("application/json{AGGREGATED},application/json"));
        }
        for accept in accepted {
            let ((one, real), (other, simulated)) =
                (ask(real, &path, &accept).await?, ask(simulated, &path, &accept).await?);
            answers += 1;
            let real = restrict(real, &simulated);
            if (one, &real) != (other, &simulated) {
                let lines = super::differences(&real, &simulated, "").join("\n  ");
                wrong.push(format!("{path}, {accept}: {one} / {other}\n  {lines}"));
            }
        }
    }
    Ok((answers, wrong))
}

/// The real server's response without what the simulated one does not serve.
fn restrict(real: Value, simulated: &Value) -> Value {
    match (real, simulated) {
        (Value::Object(fields), Value::Object(others)) => {
            // The real server has subresources for kinds without any here.
            let known = |name: &str| name != "subresources" || others.contains_key(name);
            let fields = fields.into_iter().filter(|(name, _)| known(name)).map(|(name, value)| {
                let value = match name.as_str() {
                    // The servers' addresses.
                    "serverAddress" => others.get(&name).cloned().unwrap_or_default(),
                    _ => restrict(value, others.get(&name).unwrap_or(&Value::Null)),
                };
                (name, value)
            });
            Value::Object(fields.collect())
        }
        (Value::Array(items), Value::Array(others)) if others.iter().any(Value::is_object) => {
            let found = |item: Value| {
                let same = others.iter().find(|other| name_of(other) == name_of(&item))?;
                Some(restrict(item, same))
            };
            Value::Array(items.into_iter().filter_map(found).collect())
        }
        (real, _) => real,
    }
}

fn name_of(item: &Value) -> Option<&Value> {
    NAMES.iter().find_map(|name| item.get(name))
}

async fn ask(server: &Server, path: &str, accept: &str) -> Result<(u16, Value), Error> {
    let owned = str::to_owned;
    let step = Step {
        verb: String::new(),
        kind: String::new(),
        method: owned("GET"),
        path: owned(path),
        form: String::new(),
        accept: owned(accept),
        body: String::new(),
    };
    let (code, _, body) = send_and_collect(server, &step).await?;
    Ok((code, body))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
