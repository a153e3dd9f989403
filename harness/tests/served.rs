//! The simulated server over HTTP, in real time: whoever is no part of this process reaches it, and a case judges him as it does elsewhere.
//!
//! Trials `sim::served::<what>`; they need no binaries, as the subject is this project's own, through a socket.

use std::process::ExitCode;

use futures::TryStreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, PostParams, WatchEvent, WatchParams};
use libtest_mimic::{Arguments, Failed, Trial};
use lockstep::case;
use lockstep::cluster::{self, Cluster, Plan, Site};
use lockstep::report;
use lockstep::runner::{Lab, Seat, SeatOptions};
use lockstep::subject::Spec;
use lockstep::verdict::{self, Verdict};

type Checked = Result<(), Box<dyn std::error::Error>>;

fn main() -> ExitCode {
    lockstep::supervise::main_if_asked();
    let arguments = Arguments::from_args();
    let runtime = || tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let trial = |name: &str, test: fn(tokio::runtime::Runtime) -> Checked| {
        Trial::test(format!("sim::served::{name}"), move || {
            let runtime = runtime().map_err(|why| Failed::from(why.to_string()))?;
            test(runtime).map_err(|why| Failed::from(why.to_string()))
        })
    };
    let trials = vec![
        trial("writes-reach-a-watch", |runtime| runtime.block_on(watched())),
        trial("a-stranger-is-not-let-in", |runtime| runtime.block_on(strange())),
        trial("what-it-does-not-know-is-kept", |runtime| runtime.block_on(unknown())),
        trial("a-case-in-real-time", |runtime| runtime.block_on(played(false))),
        trial("a-case-that-asks-too-much-is-inconclusive", |runtime| runtime.block_on(played(true))),
    ];
    libtest_mimic::run(&arguments, trials).exit_code()
}

async fn boot() -> Result<Cluster, Box<dyn std::error::Error>> {
    Ok(cluster::boot(&Plan::new(cluster::DEFAULT_VERSION).at(Site::Sim)).await?)
}

async fn watched() -> Checked {
    let cluster = boot().await?;
    let client = cluster.access.subject_client()?;
    let version = client.apiserver_version().await?;
    assert_eq!(version.git_version, cluster::DEFAULT_VERSION);
    let api: Api<ConfigMap> = Api::namespaced(client, "default");
    let mut events = Box::pin(api.watch(&WatchParams::default(), "0").await?);
    let mut object = ConfigMap::default();
    object.metadata.name = Some("a".to_owned());
    api.create(&PostParams::default(), &object).await?;
    let event = events.try_next().await?;
    assert!(matches!(&event, Some(WatchEvent::Added(one)) if one.metadata.name.as_deref() == Some("a")), "{event:?}");
    Ok(())
}

async fn strange() -> Checked {
    let mut cluster = boot().await?;
    "nobody".clone_into(&mut cluster.access.subject_token);
    let refused = cluster.access.subject_client()?.apiserver_version().await;
    assert!(matches!(&refused, Err(kube::Error::Api(status)) if status.code == 401), "{refused:?}");
    Ok(())
}

async fn unknown() -> Checked {
    let cluster = boot().await?;
    assert_eq!(cluster.beyond().await?.len(), 0);
    ask_too_much(&cluster.access.subject_client()?).await?;
    assert_eq!(cluster.beyond().await?.len(), 1);
    Ok(())
}

async fn ask_too_much(client: &kube::Client) -> Checked {
    let request = hyper::Request::get("/openapi/v2").body(Vec::new())?;
    let refused = client.request_text(request).await;
    assert!(matches!(&refused, Err(kube::Error::Api(status)) if status.code == 501), "{refused:?}");
    Ok(())
}

/// One small case, on this project's controller through gate and sockets.
async fn played(too_much: bool) -> Checked {
    let edges = "  - set: {image: \"app:2\"}\n  - ready: {pods: all}";
    let text = format!(
        "description: x\ngiven:\n  - deployment: {{name: web, replicas: 2, image: \"app:1\"}}\n  - ready: {{pods: all}}\nedges:\n{edges}\n"
    );
    let case = case::parse("served/x.yaml", "served/x", &text)?;
    let cluster = boot().await?;
    let past_the_gate = cluster.access.subject_client()?;
    let lab = Lab::open(cluster).await?;
    let seat = Seat::take(&lab, &Spec::Ours, &SeatOptions::default()).await?;
    if too_much {
        ask_too_much(&past_the_gate).await?;
    }
    let recording = seat.play(&case).await;
    seat.leave().await;
    lab.close().await;
    // Judged by what it did itself: it has to come to rest, and the server must have known everything.
    let judgement = verdict::judge_live(&recording, &recording);
    let wanted = if too_much { Verdict::Inconclusive } else { Verdict::Conformant };
    assert_eq!(judgement.verdict, wanted, "{}", report::failure(&judgement, "", false));
    Ok(())
}
