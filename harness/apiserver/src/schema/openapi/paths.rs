//! The paths of kinds and their operations. Upstream: `endpoints/installer.go`.

use serde_json::{Map, Value, json};

use crate::schema::openapi::schemas;
use crate::types::kinds::ResourceKind;

/// The name and the type of a query parameter.
type Parameter = (&'static str, &'static str);

const LIST_PARAMETERS: [Parameter; 11] = [
    ("allowWatchBookmarks", "boolean"),
    ("continue", "string"),
    ("fieldSelector", "string"),
    ("labelSelector", "string"),
    ("limit", "integer"),
    ("resourceVersion", "string"),
    ("resourceVersionMatch", "string"),
    ("sendInitialEvents", "boolean"),
    ("shardSelector", "string"),
    ("timeoutSeconds", "integer"),
    ("watch", "boolean"),
];
const WRITE_PARAMETERS: [Parameter; 3] =
    [("dryRun", "string"), ("fieldManager", "string"), ("fieldValidation", "string")];
const FORCE_PARAMETER: Parameter = ("force", "boolean");
const DELETE_PARAMETERS: [Parameter; 5] = [
    ("dryRun", "string"),
    ("gracePeriodSeconds", "integer"),
    ("ignoreStoreReadErrorWithClusterBreakingPotential", "boolean"),
    ("orphanDependents", "boolean"),
    ("propagationPolicy", "string"),
];

/// The paths of the kinds of one group version.
pub(crate) fn of(kinds: &[&'static ResourceKind]) -> Map<String, Value> {
    let mut paths = Map::new();
    if let Some(kind) = kinds.first() {
        let answer = schemas::full_name("APIResourceList");
        let responses = json!({"200": response_of(&answer, false, kind), "401": {}});
        let resources = json!({"tags": [tag(kind)], "operationId": format!("get{}APIResources", prefix(kind)), "responses": responses});
        paths.insert(format!("/{}/", path_of(kind)), json!({"get": resources}));
    }
    for kind in kinds {
        add(&mut paths, kind);
    }
    paths
}

fn add(paths: &mut Map<String, Value>, kind: &ResourceKind) {
    let base = format!("/{}", path_of(kind));
    let all = format!("{base}/{}", kind.plural);
    let own =
        OpenApiTarget { kind, suffix: "", of: (kind.group, kind.version, kind.kind), schema: schemas::name_of(kind) };
    let within: &[&str] = if kind.namespaced { &["namespace"] } else { &[] };
    let collection =
        if kind.namespaced { format!("{base}/namespaces/{{namespace}}/{}", kind.plural) } else { all.clone() };
    if kind.namespaced {
        let parameters = queries(&sorted(&[&LIST_PARAMETERS, &[("pretty", "string")]]));
        let list = own.list(&format!("list{}{}ForAllNamespaces", prefix(kind), kind.kind), &[]);
        paths.insert(all, json!({"get": list, "parameters": parameters}));
    }
    let mut item = Map::new();
    let at = format!("{}{}{}", prefix(kind), if kind.namespaced { "Namespaced" } else { "" }, kind.kind);
    item.insert("get".to_owned(), own.list(&format!("list{at}"), &LIST_PARAMETERS));
    item.insert("post".to_owned(), own.write("post", &format!("create{at}")));
    if kind.verbs.contains(&"deletecollection") {
        let of = format!("delete{}Collection{}", prefix(kind), &at[prefix(kind).len()..]);
        item.insert("delete".to_owned(), own.delete("deletecollection", &of));
    }
    item.insert("parameters".to_owned(), parameters(within));
    paths.insert(collection.clone(), item.into());

    let within: Vec<&str> = std::iter::once("name").chain(within.iter().copied()).collect();
    let object = format!("{collection}/{{name}}");
    let mut item = own.read_and_write(&at, &["get", "put", "patch"]);
    item.insert("delete".to_owned(), own.delete("delete", &format!("delete{at}")));
    item.insert("parameters".to_owned(), parameters(&within));
    paths.insert(object.clone(), item.into());

    for name in kind.subresources {
        let mut suffix = (*name).to_owned();
        suffix[..1].make_ascii_uppercase();
        let (of, verbs): (_, &[&str]) = match *name {
            "scale" => (("autoscaling", "v1", "Scale"), &["get", "put", "patch"]),
            "binding" => (("", "v1", "Binding"), &["post"]),
            "eviction" => (("policy", "v1", "Eviction"), &["post"]),
            "finalize" => (own.of, &["put"]),
            _ => (own.of, &["get", "put", "patch"]),
        };
        let schema = if of == own.of { own.schema.clone() } else { schemas::full_name(of.2) };
        let part = OpenApiTarget { kind, suffix: &suffix, of, schema };
        let mut item = part.read_and_write(&at, verbs);
        let mut all = parameters(&within);
        if let [only] = verbs {
            // A single operation shares its parameters with the path.
            item[*only].as_object_mut().and_then(|operation| operation.remove("parameters"));
            let both = sorted(&[&WRITE_PARAMETERS, &[("pretty", "string")]]);
            let queries = queries(&both);
            let names = all.as_array().into_iter().flatten().filter(|one| one["in"] == "path").cloned();
            let mut every: Vec<Value> = names.chain(queries.as_array().cloned().unwrap_or_default()).collect();
            every.sort_by_key(|one| one["name"].as_str().unwrap_or_default().to_owned());
            all = every.into();
        }
        item.insert("parameters".to_owned(), all);
        paths.insert(format!("{object}/{name}"), item.into());
    }
}

/// The target of operations: a resource or a subresource.
struct OpenApiTarget<'a> {
    kind: &'a ResourceKind,
    suffix: &'a str,
    of: (&'a str, &'a str, &'a str),
    schema: String,
}

impl OpenApiTarget<'_> {
    fn operation(&self, action: &str, id: &str, parameters: &[Parameter], responses: &Value) -> Value {
        let (group, version, kind) = self.of;
        let mut operation = json!({"tags": [tag(self.kind)], "operationId": format!("{id}{}", self.suffix),
            "responses": responses, "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": {"group": group, "version": version, "kind": kind}});
        if !parameters.is_empty() {
            operation["parameters"] = queries(parameters);
        }
        operation
    }

    fn list(&self, id: &str, parameters: &[Parameter]) -> Value {
        let answer = response_of(&schemas::list_name_of(self.kind), true, self.kind);
        self.operation("list", id, parameters, &json!({"200": answer, "401": {}}))
    }

    fn read_and_write(&self, at: &str, methods: &[&str]) -> Map<String, Value> {
        let operation = |method: &str| match method {
            "get" => {
                let responses = json!({"200": response_of(&self.schema, false, self.kind), "401": {}});
                self.operation("get", &format!("read{at}"), &[], &responses)
            }
            "put" => self.write("put", &format!("replace{at}")),
            "patch" => self.write("patch", &format!("patch{at}")),
            _ => self.write("post", &format!("create{at}")),
        };
        methods.iter().map(|method| ((*method).to_owned(), operation(method))).collect()
    }

    fn write(&self, method: &str, id: &str) -> Value {
        let answer = response_of(&self.schema, false, self.kind);
        let mut responses = json!({"200": answer, "201": answer, "401": {}});
        if method == "post" {
            responses["202"] = answer;
        }
        let mut parameters = WRITE_PARAMETERS.to_vec();
        let body = if method == "patch" {
            parameters.push(FORCE_PARAMETER);
            let schema = reference(schemas::PATCH);
            let forms = ["apply-patch+yaml", "json-patch+json", "merge-patch+json", "strategic-merge-patch+json"];
            let forms = forms.iter().filter(|form| self.kind.custom.is_none() || !form.starts_with("strategic"));
            let forms: Map<String, Value> =
                forms.map(|form| (format!("application/{form}"), json!({"schema": schema}))).collect();
            json!({"content": forms, "required": true})
        } else {
            json!({"content": {"*/*": {"schema": reference(&self.schema)}}, "required": true})
        };
        let mut operation = self.operation(method, id, &parameters, &responses);
        operation["requestBody"] = body;
        operation
    }

    fn delete(&self, action: &str, id: &str) -> Value {
        let done = schemas::full_name("Status");
        // Some kinds return the deleted object.
        let done = if self.kind.returns_deleted && action == "delete" { self.schema.clone() } else { done };
        let answer = response_of(&done, false, self.kind);
        let mut responses = json!({"200": answer, "401": {}});
        let some: Vec<Parameter> =
            LIST_PARAMETERS.into_iter().filter(|(name, _)| !matches!(*name, "allowWatchBookmarks" | "watch")).collect();
        let parameters = if action == "delete" {
            responses["202"] = answer;
            DELETE_PARAMETERS.to_vec()
        } else {
            sorted(&[&some, &DELETE_PARAMETERS])
        };
        let mut operation = self.operation(action, id, &parameters, &responses);
        operation["requestBody"] =
            json!({"content": {"*/*": {"schema": reference(&schemas::full_name("DeleteOptions"))}}});
        operation
    }
}

fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

/// A response of this type, in every media type.
fn response_of(name: &str, streams: bool, kind: &ResourceKind) -> Value {
    let forms: &[&str] = match (streams, kind.custom.is_some()) {
        (_, true) => &["application/json", "application/yaml"],
        (false, false) => &["application/json", "application/vnd.kubernetes.protobuf", "application/yaml"],
        (true, false) => &[
            "application/json",
            "application/json;stream=watch",
            "application/vnd.kubernetes.protobuf",
            "application/vnd.kubernetes.protobuf;stream=watch",
            "application/yaml",
        ],
    };
    let schema = json!({"schema": reference(name)});
    let content: Map<String, Value> = forms.iter().map(|form| ((*form).to_owned(), schema.clone())).collect();
    json!({"content": content})
}

fn sorted(all: &[&[Parameter]]) -> Vec<Parameter> {
    let mut all = all.concat();
    all.sort_unstable();
    all
}

fn queries(parameters: &[Parameter]) -> Value {
    let one =
        |(name, kind): &Parameter| json!({"name": name, "in": "query", "schema": {"type": kind, "uniqueItems": true}});
    parameters.iter().map(one).collect()
}

/// The parameters of a path, and `pretty`, which all paths have.
fn parameters(within: &[&str]) -> Value {
    let text = json!({"type": "string", "uniqueItems": true});
    let names = within.iter().map(|name| json!({"name": name, "in": "path", "required": true, "schema": text}));
    names.chain([json!({"name": "pretty", "in": "query", "schema": text})]).collect()
}

/// The tag of a kind, such as `apps_v1` or `core_v1`.
fn tag(kind: &ResourceKind) -> String {
    format!("{}_{}", words(kind).join(""), kind.version)
}

/// The prefix of operation ids, such as `AppsV1` or `CoreV1`.
fn prefix(kind: &ResourceKind) -> String {
    let capital = |word: &String| word[..1].to_uppercase() + &word[1..];
    let version = capital(&kind.version.to_owned());
    words(kind).iter().map(capital).collect::<String>() + &version
}

/// The segments of the group without Kubernetes' domain.
fn words(kind: &ResourceKind) -> Vec<String> {
    match kind.group {
        "" => vec!["core".to_owned()],
        group => {
            let own = group.strip_suffix(".k8s.io").unwrap_or(group);
            own.split('.').map(|word| word.replace('-', "")).collect()
        }
    }
}

/// Such as `apis/apps/v1` or `api/v1`.
pub(crate) fn path_of(kind: &ResourceKind) -> String {
    if kind.group.is_empty() {
        format!("api/{}", kind.version)
    } else {
        format!("apis/{}/{}", kind.group, kind.version)
    }
}
