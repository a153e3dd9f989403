//! Lists: what is selected, at which version, page by page.

use std::sync::Arc;

use http::StatusCode;
use serde_json::json;

use super::object::Object;
use super::options;
use super::problem::{Outcome, Problem};
use super::server::{Answer, Ask, Server, text};

impl Server {
    pub(super) fn list(&mut self, ask: &Ask<'_>) -> Outcome<Answer> {
        let selector = options::list(ask.call, ask.kind, false)?;
        let latest = self.store.version();
        let continued = ask.call.query.get("continue").filter(|place| !place.is_empty());
        let continued = continued.map(|place| options::place(place)).transpose()?;
        if continued.is_some() && !matches!(ask.call.param("resourceVersion"), "" | "0") {
            let why = "specifying resource version is not allowed when using continue";
            return Err(Problem::bad_request(why.to_owned()));
        }
        let wanted = ask.version().map_err(|why| Problem::bad_request(format!("invalid resource version: {why}")))?;
        let of_one = continued.is_none() && selector.is_of_one();
        let exact = ask.call.param("resourceVersionMatch") == "Exact";
        if let Some(wanted) = wanted.filter(|wanted| *wanted > latest) {
            return Err(self.too_large(ask.kind, wanted));
        }
        let mut from = None;
        let mut at = if exact { wanted.unwrap_or(latest) } else { latest };
        if let Some((version, key)) = continued {
            (at, from) = (version, Some(key));
        }
        if at < self.store.forgotten() {
            return Err(Problem::expired("The resourceVersion for the provided list is too old.".to_owned()));
        }
        let objects = self.store.list_at(ask.kind, &ask.route.namespace, at);
        // Fields of a custom resource are selected in the version that is asked for.
        let selected =
            |object: &Arc<Object>| if ask.kind.custom.is_some() { object.at(ask.kind) } else { Arc::clone(object) };
        let mut objects: Vec<_> = objects.iter().map(selected).collect();
        if let Some(from) = &from {
            objects.retain(|object| place(object) > *from);
        }
        let end = objects.last().map(|object| place(object)).unwrap_or_default();
        objects.retain(|object| selector.matches(&object.body));
        let limit = ask.call.param("limit").parse::<usize>().unwrap_or(0);
        let left = if limit == 0 { 0 } else { objects.len().saturating_sub(limit) };
        objects.truncate(objects.len() - left);
        let mut meta = json!({"resourceVersion": at.to_string()});
        let last = objects.last().map(|object| place(object)).unwrap_or_default();
        // There is a next page if any object follows, selected or not.
        if left > 0 || (limit > 0 && !of_one && objects.len() == limit && last < end) {
            meta["continue"] = format!("{at}:{last}").into();
            if selector.is_empty() {
                meta["remainingItemCount"] = left.into();
            }
        }
        // Lists of custom resources have no type of their own upstream: theirs is that of any
        // object.
        if ask.kind.custom.is_some() && meta["continue"].is_null() {
            meta["continue"] = "".into();
        }
        let (kind, version) = (ask.kind.list_kind(), ask.kind.api_version());
        let start = format!("{{\"kind\":\"{kind}\",\"apiVersion\":\"{version}\",\"metadata\":{meta},\"items\":[");
        let mut body = start.into_bytes();
        for (index, object) in objects.iter().map(|object| object.at(ask.kind)).enumerate() {
            if index > 0 {
                body.push(b',');
            }
            if ask.kind.custom.is_some() {
                object.write(&mut body, ask.call.managed);
            } else {
                body.extend_from_slice(object.untyped_text(ask.call.managed));
            }
        }
        body.extend_from_slice(b"]}");
        Ok(text(StatusCode::OK, body))
    }
}

/// The position of an object in a list, for continue tokens.
fn place(object: &Object) -> String {
    format!("{}/{}", object.meta("namespace"), object.meta("name"))
}
