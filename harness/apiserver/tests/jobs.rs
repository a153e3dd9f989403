//! Jobs, as clients see them.

use http::{Method, Request, StatusCode};
use http_body_util::Full;
use kube_apiserver_sim::ApiServer;
use rstest::rstest;
use serde_json::json;

/// The labels that upstream generates for a Job's template are the Job's too, where a request names
/// none.
#[rstest]
#[case::created(Method::POST, "/apis/batch/v1/namespaces/default/jobs", "application/json")]
#[case::applied(
    Method::PATCH,
    "/apis/batch/v1/namespaces/default/jobs/a?fieldManager=one",
    "application/apply-patch+yaml"
)]
#[tokio::test(start_paused = true)]
async fn a_job_shares_its_templates_labels(#[case] method: Method, #[case] path: &str, #[case] form: &str) {
    let server = ApiServer::new();
    let template = json!({"metadata": {"labels": {"app": "x"}},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "app", "image": "app:1"}]}});
    let job =
        json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a"}, "spec": {"template": template}});
    let request = Request::builder().method(method).uri(path).header("content-type", form);
    let answer = server.handle(request.body(Full::<bytes::Bytes>::from(job.to_string())).expect("a request")).await;
    assert_eq!(answer.status(), StatusCode::CREATED);
    let made = server.stored("jobs").unwrap().get("default", "a").unwrap();
    let labels: Vec<&String> = made["metadata"]["labels"].as_object().unwrap().keys().collect();
    let generated =
        ["batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name", "controller-uid", "job-name"];
    assert_eq!(labels, [&["app"][..], &generated].concat());
}
