//! The simulated API server beside kube-apiserver with etcd: requests a second by verb, events of
//! watches, memory of 10,000 objects, and the time of a start.
//!
//! All are asked by the same client with the same requests: the real server and the simulated one
//! in processes of their own, over TLS on loopback, and the simulated one also in this process, on
//! virtual time, as tests use it. The real cluster's kube-controller-manager is stopped while
//! requests are measured. Rates are medians of the rounds; a start and the memory are measured
//! once.
//!
//! ```text
//! cargo bench --package lockstep --bench upstream -- apiserver                            # prints the page
//! LOCKSTEP_DOCS=overwrite cargo bench --package lockstep --bench upstream -- apiserver    # writes harness/apiserver/FIGURES.md
//! ```
//!
//! LOCKSTEP_ROUNDS, LOCKSTEP_REQUESTS and LOCKSTEP_OBJECTS make a short trial.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use futures::future::{join, try_join_all};
use futures::{StreamExt, TryStreamExt};
use http_body_util::BodyExt;
use hyper::Request;
use kube::Client;
use kube_apiserver_sim::ApiServer;
use lockstep_cluster::{self as cluster, Cluster, ClusterPlan, DEFAULT_VERSION, Site};
use lockstep_runner::observe::namespace::make_namespace;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::process::usage;
use crate::selection::section::{PageSection, writes_pages};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// Rounds; LOCKSTEP_ROUNDS overrides it.
const ROUNDS: usize = 3;
/// Requests of each verb in a round; LOCKSTEP_REQUESTS overrides it.
const REQUESTS: usize = 2000;
/// Requests for one list of 500 objects.
const REQUESTS_A_LIST: usize = 20;
/// Objects whose memory is measured; LOCKSTEP_OBJECTS overrides it.
const OBJECTS: usize = 10_000;
/// Requests that wait for their responses at the same time.
const CONCURRENT: usize = 32;
/// Writes that each watch delivers.
const EVENTS: usize = 500;
const WATCHES: [usize; 2] = [10, 100];

const NAMESPACE: &str = "figures";
const COLLECTION: &str = "/apis/apps/v1/namespaces/figures/deployments";
const PAGE: &str = "apiserver/FIGURES.md";

/// A server that is measured.
struct Candidate {
    client: Client,
    runtime: Runtime,
    /// Its processes other than this one.
    processes: Vec<i32>,
    start: Duration,
    cluster: Option<Cluster>,
}

/// A row of the table: its title, and a figure for each candidate.
type Row = (String, Vec<f64>);

pub(crate) fn run(_arguments: &[String]) -> Outcome<()> {
    let number = |name: &str, otherwise: usize| std::env::var(name).map_or(Ok(otherwise), |text| text.parse());
    let rounds = number("LOCKSTEP_ROUNDS", ROUNDS)?;
    let requests = number("LOCKSTEP_REQUESTS", REQUESTS)?;
    let objects = number("LOCKSTEP_OBJECTS", OBJECTS)?;
    let candidates = [real()?, over_http()?, in_process()?];
    let measured = measure(&candidates, rounds, requests, objects);
    for Candidate { cluster, runtime, .. } in candidates {
        if let Some(cluster) = cluster {
            runtime.block_on(cluster.end());
        }
    }
    let rows = measured?;
    let mut section = PageSection::new("apiserver");
    table(&rows)?.lines().for_each(|line| section.line(line));
    section.publish()?;
    let page = page(&rows, rounds, requests, objects)?;
    if writes_pages() {
        std::fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join(PAGE), page)?;
    } else {
        print!("{page}");
    }
    Ok(())
}

fn real() -> Outcome<Candidate> {
    let candidate = booted(&ClusterPlan::new(DEFAULT_VERSION), &["kube-apiserver", "etcd"])?;
    // It would act on the Deployments.
    let manager = candidate.cluster.as_ref().and_then(|cluster| cluster.pid("kube-controller-manager"));
    let manager = manager.and_then(Pid::from_raw).ok_or("the cluster has no kube-controller-manager")?;
    kill_process(manager, Signal::STOP)?;
    Ok(candidate)
}

fn over_http() -> Outcome<Candidate> {
    booted(&ClusterPlan::new(DEFAULT_VERSION).at(Site::Sim), &["kube-apiserver"])
}

fn booted(plan: &ClusterPlan, programs: &[&str]) -> Outcome<Candidate> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let (cluster, start) = timed(|| runtime.block_on(cluster::boot(plan)));
    let cluster = cluster?;
    let client = runtime.block_on(cluster.access().admin_client())?;
    runtime.block_on(make_namespace(&client, NAMESPACE, None))?;
    let processes = programs.iter().filter_map(|name| cluster.pid(name)).collect();
    Ok(Candidate { client, runtime, processes, start, cluster: Some(cluster) })
}

fn in_process() -> Outcome<Candidate> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build()?;
    let (client, start) = timed(|| {
        runtime.block_on(async {
            let client = Client::new(ApiServer::new(), "default");
            make_namespace(&client, NAMESPACE, None).await.map(|()| client)
        })
    });
    Ok(Candidate { client: client?, runtime, processes: Vec::new(), start, cluster: None })
}

/// The result of a function, and how long it takes on this machine, whatever a paused clock shows.
#[expect(clippy::disallowed_methods, reason = "the runtime's clock may be paused")]
fn timed<T>(act: impl FnOnce() -> T) -> (T, Duration) {
    let since = std::time::Instant::now();
    let result = act();
    (result, since.elapsed())
}

fn measure(candidates: &[Candidate], rounds: usize, requests: usize, objects: usize) -> Outcome<Vec<Row>> {
    let mut rows: Vec<Row> = Vec::new();
    rows.push(("start, ms".to_owned(), candidates.iter().map(|one| one.start.as_secs_f64() * 1000.0).collect()));
    let memory = candidates.iter().map(|one| one.bytes_an_object(objects)).collect::<Outcome<_>>()?;
    rows.push(("memory, bytes an object".to_owned(), memory));
    let mut samples: Vec<Vec<Vec<(String, f64)>>> = candidates.iter().map(|_| Vec::new()).collect();
    for round in 0..rounds {
        for (candidate, samples) in candidates.iter().zip(&mut samples) {
            samples.push(candidate.rates(round, requests)?);
        }
    }
    let titles: Vec<String> = samples[0][0].iter().map(|(title, _)| title.clone()).collect();
    for (at, title) in titles.into_iter().enumerate() {
        let medians = samples.iter().map(|rounds| median(rounds.iter().map(|figures| figures[at].1).collect()));
        rows.push((title, medians.collect()));
    }
    Ok(rows)
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

impl Candidate {
    /// What its processes grow by for each of this many Deployments, which are deleted afterwards;
    /// not a number for a server in this process, whose memory the client shares.
    fn bytes_an_object(&self, objects: usize) -> Outcome<f64> {
        if self.processes.is_empty() {
            return Ok(f64::NAN);
        }
        let resident =
            || -> Outcome<u64> { self.processes.iter().try_fold(0, |sum, process| Ok(sum + usage(*process)?.now)) };
        let before = resident()?;
        self.all(objects, |number| post(&deployment("memory", number, 1)))?;
        let after = resident()?;
        let named = |number: usize| COLLECTION.to_owned() + "/" + &name("memory", number);
        self.all(objects, |number| Request::delete(named(number)).body(Vec::new()))?;
        #[expect(clippy::cast_precision_loss, reason = "megabytes")]
        let bytes = after.saturating_sub(before) as f64 * 1024.0 * 1024.0;
        #[expect(clippy::cast_precision_loss, reason = "thousands")]
        let objects = objects as f64;
        Ok(bytes / objects)
    }

    /// Requests and events a second.
    fn rates(&self, round: usize, requests: usize) -> Outcome<Vec<(String, f64)>> {
        let round = format!("round-{round}");
        let path = |number: usize| COLLECTION.to_owned() + "/" + &name(&round, number);
        let changed = |number: usize, replicas: i32| deployment(&round, number, replicas).to_string().into_bytes();
        let mut rates = Vec::new();
        let rate = |title: &str, count: usize, request: &dyn Fn(usize) -> HttpRequest| -> Outcome<(String, f64)> {
            let (done, took) = timed(|| self.all(count, request));
            done.map(|()| (format!("{title} a second"), per_second(count, took)))
        };
        rates.push(rate("create", requests, &|number| post(&deployment(&round, number, 1)))?);
        rates.push(rate("get", requests, &|number| Request::get(path(number)).body(Vec::new()))?);
        let list = |_: usize| Request::get(format!("{COLLECTION}?limit=500")).body(Vec::new());
        rates.push(rate("list of 500", (requests / REQUESTS_A_LIST).max(1), &list)?);
        let update = |number: usize| Request::put(path(number)).header(TYPE, JSON).body(changed(number, 2));
        rates.push(rate("update", requests, &update)?);
        rates.push(rate("patch", requests, &|number| patch(&path(number), 3))?);
        let apply = |number: usize| {
            let path = path(number) + "?fieldManager=figures&force=true";
            Request::patch(path).header(TYPE, "application/apply-patch+yaml").body(changed(number, 4))
        };
        rates.push(rate("apply", requests, &apply)?);
        let mut replicas = 10..;
        for watches in WATCHES {
            // A patch that changes nothing makes no event.
            let patches = replicas.by_ref().take(EVENTS).enumerate();
            let patches = patches.map(|(number, replicas)| patch(&path(number % requests), replicas)).collect();
            let (done, took) = self.runtime.block_on(self.watch(watches, patches))?;
            rates.push((format!("events a second, {watches} watches"), per_second(done, took)));
        }
        rates.push(rate("delete", requests, &|number| Request::delete(path(number)).body(Vec::new()))?);
        Ok(rates)
    }

    /// Sends requests, some of them at the same time.
    fn all(&self, count: usize, request: impl Fn(usize) -> HttpRequest) -> Outcome<()> {
        self.runtime.block_on(send_all(&self.client, (0..count).map(request)))
    }

    /// Sends patches while the objects are watched, until each watch has delivered each change;
    /// returns the number of events.
    async fn watch(&self, watches: usize, patches: Vec<HttpRequest>) -> Outcome<(usize, Duration)> {
        let events = patches.len();
        let list: Value = self.client.request(Request::get(format!("{COLLECTION}?limit=1")).body(Vec::new())?).await?;
        let version = list["metadata"]["resourceVersion"].as_str().ok_or("a list has a resourceVersion")?;
        let streams = try_join_all((0..watches).map(|_| self.open_watch(version))).await?;
        let readers = try_join_all(streams.into_iter().map(|mut body| async move {
            let (mut read, mut last) = (0, Vec::new());
            while read < events {
                if let Some(frame) = body.frame().await.transpose()? {
                    // An event is a line.
                    for part in frame.into_data().unwrap_or_default().split_inclusive(|byte| *byte == b'\n') {
                        if last.ends_with(b"\n") {
                            last.clear();
                        }
                        last.extend_from_slice(part);
                        read += usize::from(part.ends_with(b"\n"));
                    }
                } else {
                    // The server has ended the watch of a client that is too slow for it.
                    let event: Value = serde_json::from_slice(&last)?;
                    let version = event["object"]["metadata"]["resourceVersion"].as_str();
                    body = self.open_watch(version.ok_or("an event has a resourceVersion")?).await?;
                }
            }
            Ok::<_, Box<dyn std::error::Error>>(())
        }));
        let writer = send_all(&self.client, patches);
        #[expect(clippy::disallowed_methods, reason = "the runtime's clock may be paused")]
        let since = std::time::Instant::now();
        let (written, read) = join(writer, readers).await;
        written?;
        read?;
        Ok((events * watches, since.elapsed()))
    }

    async fn open_watch(&self, version: &str) -> Outcome<kube::client::Body> {
        let uri = format!("{COLLECTION}?watch=true&resourceVersion={version}");
        Ok(self.client.send(Request::get(uri).body(kube::client::Body::empty())?).await?.into_body())
    }
}

type HttpRequest = Result<Request<Vec<u8>>, hyper::http::Error>;

const TYPE: &str = "content-type";
const JSON: &str = "application/json";

async fn send_all(client: &Client, requests: impl IntoIterator<Item = HttpRequest>) -> Outcome<()> {
    let responses = futures::stream::iter(requests)
        .map(|request| async { Ok::<_, Box<dyn std::error::Error>>(client.request_text(request?).await?) });
    responses.buffer_unordered(CONCURRENT).try_for_each(|_| async { Ok(()) }).await
}

fn per_second(count: usize, took: Duration) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "thousands")]
    let count = count as f64;
    count / took.as_secs_f64()
}

fn post(object: &Value) -> HttpRequest {
    Request::post(COLLECTION).header(TYPE, JSON).body(object.to_string().into_bytes())
}

fn patch(path: &str, replicas: i32) -> HttpRequest {
    let patch = json!({"spec": {"replicas": replicas}}).to_string().into_bytes();
    Request::patch(path).header(TYPE, "application/merge-patch+json").body(patch)
}

fn name(round: &str, number: usize) -> String {
    format!("{round}-{number}")
}

/// A Deployment as users write them.
fn deployment(round: &str, number: usize, replicas: i32) -> Value {
    let name = name(round, number);
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "labels": {"app": name}},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{
                "name": "app", "image": "registry.example/app:1.2.3", "ports": [{"containerPort": 8080, "name": "http"}],
                "env": [{"name": "COLOUR", "value": "red"}, {"name": "LEVEL", "value": "info"}],
                "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"memory": "128Mi"}},
                "readinessProbe": {"httpGet": {"path": "/ready", "port": "http"}}}]}}}})
}

/// The rows as a table, with ratios to the real server.
fn table(rows: &[Row]) -> Outcome<String> {
    let mut table = "| | kube-apiserver and etcd | simulated, over TLS | ratio | simulated, in process | ratio |\n\
                     | --- | --: | --: | --: | --: | --: |\n"
        .to_owned();
    for (title, figures) in rows {
        let [real, http, own] = figures.as_slice() else { return Err("a row has three figures".into()) };
        let figure = |figure: &f64| if figure.is_nan() { "–".to_owned() } else { format!("{figure:.0}") };
        let ratio = |figure: &f64| if figure.is_nan() { "–".to_owned() } else { format!("{:.2}", figure / real) };
        let [over_http, in_process] = [http, own].map(|one| format!("{} | {}", figure(one), ratio(one)));
        writeln!(table, "| {title} | {} | {over_http} | {in_process} |", figure(real))?;
    }
    Ok(table)
}

fn page(rows: &[Row], rounds: usize, requests: usize, objects: usize) -> Outcome<String> {
    let cores = std::thread::available_parallelism()?;
    let mut page = format!(
        "# Figures\n\n\
         kube-apiserver-sim beside kube-apiserver {DEFAULT_VERSION} with etcd on one machine of {cores} cores. All are\n\
         asked by the same client with the same Deployments, {CONCURRENT} requests at a time: the real server and the\n\
         simulated one in processes of their own over TLS on loopback, and the simulated one also in the client's\n\
         process, on virtual time, as in a test. The client uses the same cores. Rates are the medians of {rounds}\n\
         rounds of {requests} requests of each verb, a start and the memory are measured once; ratios are to the real\n\
         server.\n\n"
    );
    page += &table(rows)?;
    write!(
        page,
        "\n* Over TLS each request and each response of the simulated server is delayed by a millisecond, its default\n\
         \u{20} latency; in process that time is virtual.\n\
         * Memory is what the processes' resident memory grows by for each of {objects} Deployments, with their log of\n\
         \u{20} changes; kube-apiserver's and etcd's are added. `tests/memory.rs` counts the simulated server's allocations.\n\
         * The start is that of a cluster of lockstep until it can be used: with certificates, and on the real one with\n\
         \u{20} kube-controller-manager; in process with a namespace.\n\
         * A list has 500 of the objects. Each watch delivers {EVENTS} patches of objects.\n\
         * etcd does not wait for the disk (`--unsafe-no-fsync`), so its writes are faster than in a cluster that lasts.\n\n\
         The page is written by `LOCKSTEP_DOCS=overwrite cargo bench --package lockstep --bench upstream -- apiserver`.\n"
    )?;
    Ok(page)
}
