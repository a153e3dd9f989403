//! Jobs from the view of clients.

use http::{Method, Request, StatusCode};
use http_body_util::Full;
use kube_apiserver_sim::ApiServer;
use rstest::rstest;
use serde_json::json;

/// If a request sets no labels, the labels that upstream generates for the template of a Job are
/// also those of the Job.
#[rstest]
#[case::created(Method::POST, "/apis/batch/v1/namespaces/default/jobs", "application/json")]
#[case::applied(
    Method::PATCH,
    "/apis/batch/v1/namespaces/default/jobs/a?fieldManager=one",
    "application/apply-patch+yaml"
)]
#[tokio::test(start_paused = true)]
async fn job_gets_generated_labels_of_its_template(
    #[case] method: Method,
    #[case] path: &str,
    #[case] content_type: &str,
) {
    let server = ApiServer::new();
    let template = json!({"metadata": {"labels": {"app": "x"}},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "app", "image": "app:1"}]}});
    let job =
        json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a"}, "spec": {"template": template}});
    let request = Request::builder().method(method).uri(path).header("content-type", content_type);
    let response = server.handle(request.body(Full::<bytes::Bytes>::from(job.to_string())).expect("a request")).await;
    assert_eq!(response.status(), StatusCode::CREATED);
    let created = server.storage("jobs").unwrap().get("default", "a").unwrap();
    let labels: Vec<&String> = created["metadata"]["labels"].as_object().unwrap().keys().collect();
    let generated =
        ["batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name", "controller-uid", "job-name"];
    assert_eq!(labels, [&["app"][..], &generated].concat());
}
