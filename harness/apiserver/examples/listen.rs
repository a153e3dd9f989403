//! The server over HTTP, for kubectl, curl and clients in other languages. Ends with Ctrl-C.
//!
//! `cargo run --package kube-apiserver-sim --example listen --features listen`

use kube_apiserver_sim::{ApiServer, ControllerMode, ListenHandle, ListenOptions, UNSUPPORTED_PATH};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

#[tokio::main]
async fn main() -> Outcome<()> {
    let listening = serve()?;
    let url = listening.url();
    println!("A simulated API server listens at {url} until Ctrl-C. Try:");
    println!();
    let maps = format!("{url}/api/v1/namespaces/default/configmaps");
    println!("  curl --json '{{\"metadata\": {{\"name\": \"settings\"}}}}' {maps}");
    println!("  kubectl --server {url} get configmaps --watch &");
    println!("  kubectl --server {url} label configmap settings colour=blue");
    println!("  kubectl --server {url} create --validate=false --filename deployment.yaml");
    println!("  kubectl --server {url} delete configmap settings");
    println!();
    println!("  curl {url}{UNSUPPORTED_PATH}    # requests that it does not support");
    tokio::signal::ctrl_c().await?;
    Ok(())
}

/// Serves until the handle is dropped.
fn serve() -> Outcome<ListenHandle> {
    // In real time a deletion reaches dependents a while later, as on a real cluster.
    let server = ApiServer::builder().controllers(ControllerMode::Background).build();
    tokio::spawn(server.run_controllers());
    Ok(server.listen(ListenOptions::loopback())?)
}

#[tokio::test]
async fn serves() -> Outcome<()> {
    let listening = serve()?;
    let client = kube::Client::try_from(kube::Config::new(listening.url().parse()?))?;
    assert_eq!(client.apiserver_version().await?.git_version, kube_apiserver_sim::VERSION);
    Ok(())
}
