//! Validates the conversion of a definition. Upstream: `validateCustomResourceConversion`.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::go::format::json;
use crate::registry::custom::checks::members::{list, one_of, text};
use crate::types::field_error::FieldError;
use crate::types::names;

/// The versions of a ConversionReview, one of which a webhook must accept.
const REVIEWS: [&str; 2] = ["v1", "v1beta1"];

pub(crate) fn check(spec: &Value, errors: &mut Vec<FieldError>) {
    let conversion = &spec["conversion"];
    let (path, strategy) = ("spec.conversion", text(conversion, "strategy"));
    if strategy != "None" && crate::registry::custom::checks::members::flag(spec, "preserveUnknownFields") {
        let why = "must be None if spec.preserveUnknownFields is true";
        errors.push(FieldError::invalid(&format!("{path}.strategy"), strategy, why));
    }
    one_of(conversion, "strategy", path, &["None", "Webhook"], errors);
    let (client, reviews) =
        (&conversion["webhook"]["clientConfig"], &conversion["webhook"]["conversionReviewVersions"]);
    let (client_path, reviews_path) =
        (format!("{path}.webhookClientConfig"), format!("{path}.conversionReviewVersions"));
    if strategy == "Webhook" {
        check_client(client, &client_path, errors);
        check_reviews(reviews, &reviews_path, errors);
        return;
    }
    let why = "should not be set when strategy is not set to Webhook";
    if client.is_object() {
        errors.push(FieldError::forbidden(&client_path, why));
    }
    if !list(reviews).is_empty() {
        errors.push(FieldError::forbidden(&reviews_path, why));
    }
}

fn check_client(client: &Value, path: &str, errors: &mut Vec<FieldError>) {
    if !client.is_object() {
        errors.push(FieldError::required(path, "required when strategy is set to Webhook"));
        return;
    }
    match (client["url"].as_str(), client["service"].is_object()) {
        (None, false) | (Some(_), true) => {
            errors.push(FieldError::required(path, "exactly one of url or service is required"));
        }
        (Some(url), _) => check_url(url, &format!("{path}.url"), errors),
        (None, _) => check_service(&client["service"], &format!("{path}.service"), errors),
    }
}

/// Splits a URL into scheme, authority and the rest; missing parts are empty.
fn parts(url: &str) -> (&str, &str, &str) {
    let (scheme, rest) = url.split_once(':').unwrap_or(("", url));
    let after = rest.strip_prefix("//").unwrap_or_default();
    let end = after.find(['/', '?', '#']).unwrap_or(after.len());
    (scheme, &after[..end], if after.is_empty() { rest } else { &after[end..] })
}

/// Whether a text is a URL with a scheme and a host.
pub(crate) fn is_absolute_url(url: &str) -> bool {
    let fits = crate::types::formats::check_format("uri", url) == crate::types::expressions::FormatMatch::Fits;
    let (scheme, authority, _) = parts(url);
    fits && !scheme.is_empty() && !authority.rsplit('@').next().unwrap_or_default().is_empty()
}

fn check_url(url: &str, path: &str, errors: &mut Vec<FieldError>) {
    const FORM: &str = "; desired format: https://host[/path]";
    let (scheme, authority, rest) = parts(url);
    let (user, host) = authority.rsplit_once('@').map_or((None, authority), |(user, host)| (Some(user), host));
    let (before, fragment) = rest.split_once('#').unwrap_or((rest, ""));
    let query = before.split_once('?').map_or("", |(_, query)| query);
    let mut wrong = |value: &str, why: String| errors.push(FieldError::invalid(path, value, why));
    if !scheme.eq_ignore_ascii_case("https") {
        wrong(&scheme.to_lowercase(), format!("'https' is the only allowed URL scheme{FORM}"));
    }
    if host.is_empty() {
        wrong(host, format!("host must be specified{FORM}"));
    }
    if let Some(user) = user {
        wrong(user, "user information is not permitted in the URL".to_owned());
    }
    if !fragment.is_empty() {
        wrong(fragment, "fragments are not permitted in the URL".to_owned());
    }
    if !query.is_empty() {
        wrong(query, "query parameters are not permitted in the URL".to_owned());
    }
}

/// Upstream swaps the names of the service and of its namespace in its errors.
fn check_service(service: &Value, path: &str, errors: &mut Vec<FieldError>) {
    for (at, name) in [("name", "namespace"), ("namespace", "name")] {
        if text(service, name).is_empty() {
            errors.push(FieldError::required(&format!("{path}.{at}"), ""));
        }
    }
    let port = service["port"].as_i64().unwrap_or(443);
    if !(1..=65535).contains(&port) {
        let why = "port is not valid: must be between 1 and 65535, inclusive";
        errors.push(FieldError::invalid(&format!("{path}.port"), port, why));
    }
    let url_path = text(service, "path");
    if url_path.is_empty() || url_path == "/" {
        return;
    }
    let path = format!("{path}.path");
    let mut wrong = |why: String| errors.push(FieldError::invalid(&path, url_path, why));
    if url_path == "//" {
        wrong("segment[0] may not be empty".to_owned());
        return;
    }
    if !url_path.starts_with('/') {
        wrong("must start with a '/'".to_owned());
    }
    let first = url_path.chars().next().map_or(0, char::len_utf8);
    let steps = url_path[first..].strip_suffix('/').unwrap_or(&url_path[first..]);
    for (at, step) in steps.split('/').enumerate() {
        if step.is_empty() {
            wrong(format!("segment[{at}] may not be empty"));
            continue;
        }
        names::dns_subdomain(step).into_iter().for_each(|why| wrong(format!("segment[{at}]: {why}")));
    }
}

fn check_reviews(reviews: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let all: Vec<&str> = list(reviews).iter().filter_map(Value::as_str).collect();
    if all.is_empty() {
        errors.push(FieldError::required(path, ""));
        return;
    }
    let mut known = BTreeSet::new();
    for (at, version) in all.iter().enumerate() {
        let path = format!("{path}[{at}]");
        if !known.insert(*version) {
            errors.push(FieldError::invalid(&path, *version, "duplicate version"));
            continue;
        }
        let wrong = names::dns_1035_label(version).into_iter();
        errors.extend(wrong.map(|why| FieldError::invalid(&path, *version, why)));
    }
    if !REVIEWS.iter().any(|version| known.contains(version)) {
        let why = format!("must include at least one of {}", REVIEWS.join(", "));
        errors.push(FieldError::invalid_printed(path, json(reviews), why));
    }
}
