//! Measures the cost of the interceptor: the same requests without it, through it, and through it
//! with an armed command that matches none of them. Asserts nothing:
//!
//! `cargo test -p lockstep --lib interceptor_overhead -- --ignored --nocapture --test-threads 1`

use futures::future::join_all;

use super::commands::{command, put};
use super::*;
use crate::{RefusalKind, RequestAction};

const REQUESTS: usize = 2000;
const SIDE_BY_SIDE: usize = 16;

#[rstest]
#[case(Version::HTTP_11)]
#[case(Version::HTTP_2)]
#[tokio::test(flavor = "multi_thread")]
#[ignore = "measures, and asserts nothing"]
async fn interceptor_overhead(#[case] version: Version) {
    let server = Server::start().await;
    let interceptor = Interceptor::start(&server.access).unwrap();
    measure(version, "no interceptor", &server.access).await;
    measure(version, "interceptor", &interceptor.access()).await;
    let _armed = interceptor.control().arm(command(RequestAction::Refuse(RefusalKind::Conflict)));
    measure(version, "interceptor, a command in force", &interceptor.access()).await;
}

async fn measure(version: Version, title: &str, access: &ClusterAccess) {
    let client = client_to(access, version);
    let url = format!("{}/apis/apps/v1/namespaces/other/replicasets/web-1/echo", access.server);
    let once = || async {
        let request = put(&url);
        client.request(request).await.unwrap().collect().await.unwrap();
    };
    for _ in 0..200 {
        once().await;
    }
    let mut times = Vec::new();
    for _ in 0..REQUESTS {
        let since = clock::instant();
        once().await;
        times.push(since.elapsed());
    }
    times.sort_unstable();
    let since = clock::instant();
    join_all((0..SIDE_BY_SIDE).map(|_| async {
        for _ in 0..REQUESTS / SIDE_BY_SIDE {
            once().await;
        }
    }))
    .await;
    let each = since.elapsed() / u32::try_from(REQUESTS).unwrap();
    let rate = Duration::from_secs(1).as_nanos() / each.as_nanos();
    let [half, most] = [REQUESTS / 2, REQUESTS * 99 / 100].map(|at| times[at]);
    println!(
        "{version:?} {title:25} p50 {half:>9.1?}  p99 {most:>9.1?}  {rate:>6} requests a second, {SIDE_BY_SIDE} side by side"
    );
}
