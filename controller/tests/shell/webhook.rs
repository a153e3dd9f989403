//! The messages that a webhook receives about restarts, over a connection and in real time.

use std::time::Duration;

use rollout_controller::{
    ChecksumKeys, ControllerName, ProcessOptions, Profile, RestartSettings, SecretChecksums, Settings, Webhook,
    WebhookFormat, WebhookUrl, Window, serve,
};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::pass;
use crate::restarts::{config, mounts, secret, workload};
use crate::rights::Rights;
use crate::server::Server;

/// The head and the body of a request.
type HookRequest = (String, String);

async fn request(stream: &mut TcpStream) -> HookRequest {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length =
                head.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok());
            if body.len() >= length.unwrap_or(0_usize) {
                return (head.to_owned(), body.to_owned());
            }
        }
        let mut part = [0; 4096];
        let read = stream.read(&mut part).await.unwrap();
        assert!(read > 0, "the request ends early: {text}");
        bytes.extend_from_slice(&part[..read]);
    }
}

/// A webhook that gives these responses in turn, and repeats the last. It closes each connection.
async fn listen(answers: &'static [&'static str]) -> (String, mpsc::UnboundedReceiver<HookRequest>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook?token=t0ken", listener.local_addr().unwrap());
    let (sender, requests) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        for number in 0.. {
            let (mut stream, _) = listener.accept().await.unwrap();
            let last: &str = answers.get(number).or(answers.last()).unwrap();
            sender.send(request(&mut stream).await).unwrap();
            let text = format!("HTTP/1.1 {last}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
            stream.write_all(text.as_bytes()).await.unwrap();
        }
    });
    (url, requests)
}

fn settings(url: &str, format: WebhookFormat, profile: Profile) -> Settings {
    let keys = ChecksumKeys::new(b"the key of these tests, long enough", None).unwrap();
    let webhook = Webhook { url: WebhookUrl(url.to_owned()), proxy: None, format, prefix: None };
    let window = Window { check_period: Duration::from_millis(10), grace_period: Duration::ZERO, ..Window::default() };
    let secrets = match profile {
        Profile::Safe => SecretChecksums::Keyed(keys),
        Profile::Xing | Profile::Reloader => SecretChecksums::Unkeyed,
    };
    let restart = RestartSettings { profile, secrets, window, webhook: Some(webhook), ..RestartSettings::default() };
    Settings { controllers: [ControllerName::ConfigRestart].into(), restart, ..Settings::default() }
}

fn run(server: &Server, settings: Settings) -> JoinHandle<()> {
    let client = server.client();
    tokio::spawn(async move { drop(serve(client, settings, ProcessOptions::default(), std::future::pending()).await) })
}

/// Waits until the workload has its checksums.
async fn until_adopted(server: &Server, path: &str) {
    for _ in 0..500 {
        let has = server.get(path)["metadata"]["annotations"].to_string().contains("applied-config-checksums");
        if has {
            return;
        }
        pass(Duration::from_millis(20)).await;
    }
    panic!("{path} has no checksums");
}

#[tokio::test]
async fn webhook_receives_names_but_no_values() {
    let (url, mut requests) = listen(&["204 No Content"]).await;
    let server = Server::granting(Rights::of_restarts());
    server.put(config("c", "very-secret-red"));
    server.put(secret("MTIzNA=="));
    server.put(mounts("web"));
    run(&server, settings(&url, WebhookFormat::Json, Profile::Safe));
    until_adopted(&server, "deployments/web").await;
    server.put(secret("NDMyMQ=="));
    let (head, body) = requests.recv().await.unwrap();
    assert!(
        head.starts_with("POST /hook?token=t0ken HTTP/1.1") && head.contains("content-type: application/json"),
        "{head}"
    );
    let mut message: Value = serde_json::from_str(&body).unwrap();
    assert!(message["time"].take().as_str().unwrap().ends_with('Z'));
    let expected = json!({
        "event": "restarted",
        "workload": {"kind": "Deployment", "namespace": "default", "name": "web"},
        "configs": [{"kind": "Secret", "name": "s", "keys": ["pin"]}],
        "message": "Restarting: Secret s changed (key pin)",
        "time": null,
    });
    assert_eq!(message, expected);
}

#[tokio::test]
async fn webhook_messages_are_retried_unless_rejected_as_invalid() {
    let (url, mut requests) = listen(&["503 Service Unavailable", "200 OK", "400 Bad Request", "200 OK"]).await;
    let server = Server::granting(Rights::of_restarts());
    server.put(config("c", "1"));
    server.put(workload("web", "c"));
    run(&server, settings(&url, WebhookFormat::Slack, Profile::Safe));
    until_adopted(&server, "deployments/web").await;
    let text = |(_, body): HookRequest| serde_json::from_str::<Value>(&body).unwrap()["attachments"][0]["text"].clone();
    server.put(config("c", "2"));
    let first = text(requests.recv().await.unwrap());
    assert!(first.as_str().unwrap().starts_with("deployment/default/web: Restarting: ConfigMap c changed"), "{first}");
    assert_eq!(text(requests.recv().await.unwrap()), first);
    server.put(config("c", "3"));
    let second = text(requests.recv().await.unwrap());
    assert_ne!(second, first);
    server.put(config("c", "4"));
    assert_ne!(text(requests.recv().await.unwrap()), second, "what was refused with 400 is not sent again");
}

/// A run that is aborted sends nothing more. The message would be sent again after a second.
#[tokio::test]
async fn webhook_receives_nothing_after_the_run() {
    let (url, mut requests) = listen(&["503 Service Unavailable"]).await;
    let server = Server::granting(Rights::of_restarts());
    server.put(config("c", "1"));
    server.put(workload("web", "c"));
    let task = run(&server, settings(&url, WebhookFormat::Json, Profile::Safe));
    until_adopted(&server, "deployments/web").await;
    server.put(config("c", "2"));
    requests.recv().await.unwrap();
    task.abort();
    task.await.unwrap_err();
    pass(Duration::from_millis(1500)).await;
    assert!(requests.try_recv().is_err());
}

/// The webhook accepts connections and never responds.
#[tokio::test]
async fn restarts_do_not_wait_for_the_webhook() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let server = Server::granting(Rights::of_restarts());
    server.put(config("c", "1"));
    server.put(workload("web", "c"));
    run(&server, settings(&url, WebhookFormat::Json, Profile::Safe));
    until_adopted(&server, "deployments/web").await;
    let trigger =
        |server: &Server| server.get("deployments/web")["spec"]["template"]["metadata"]["annotations"].clone();
    for value in ["2", "3", "4"] {
        let before = trigger(&server);
        server.put(config("c", value));
        for _ in 0..500 {
            if trigger(&server) != before {
                break;
            }
            pass(Duration::from_millis(10)).await;
        }
        assert_ne!(trigger(&server), before);
    }
}
