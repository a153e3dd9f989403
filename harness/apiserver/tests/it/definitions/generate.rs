//! Generates definitions and objects from a seed: valid ones, and ones with random changes.

use serde_json::{Value, json};

/// A random number generator (SplitMix64).
pub(crate) struct Rng(pub(crate) u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(bound).expect("a small bound")).expect("it is below the bound")
    }

    fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    fn pick(&mut self, all: &Value) -> Value {
        let all = all.as_array().expect("a list of choices");
        all[self.below(all.len())].clone()
    }
}

const NAMES: [&str; 6] = ["a", "b", "c", "name", "size", "kind"];

fn formats() -> Value {
    json!([
        "date",
        "date-time",
        "duration",
        "byte",
        "uuid",
        "uuid4",
        "ipv4",
        "ipv6",
        "cidr",
        "mac",
        "email",
        "uri",
        "hostname",
        "isbn",
        "ssn",
        "hexcolor",
        "rgbcolor",
        "creditcard",
        "bsonobjectid",
        "k8s-short-name",
        "k8s-long-name",
        "password",
        "int32",
        "int64",
        "double",
        "float",
        "foo",
        "Date",
        "quantity"
    ])
}

fn patterns() -> Value {
    json!([
        "^[a-z]+$",
        "^a{1,3}$",
        "^\\d+$",
        "^\\w*$",
        "(?i)^x$",
        "^[[:alpha:]]$",
        "^(a|b)?$",
        "^\\p{L}+$",
        "a**",
        "[",
        "(",
        ")",
        "\\Z",
        "(?=a)",
        "a{1001}",
        "(a{30}){40}",
        "[z-a]",
        "*",
        "\\Qa.b\\E",
        "(?P<n>a)",
        "(?P<n",
        "\\8",
        "[[:foo:]]",
        "^\\x{61}$",
        "^[^\\s]$",
        "a{2,1}",
        "a{,3}",
        "(?s)a.b",
        "^-?[0-9]{1,3}$",
        "\\",
        "x{1000}{2}"
    ])
}

fn texts() -> Value {
    json!([
        "",
        "a",
        "b",
        "abc",
        "A-b",
        "12",
        "2026-02-29",
        "2024-02-29",
        "2026-01-01T10:00:00Z",
        "2026-01-01t10:00:00+02:00",
        "2026-01-01T24:00:00Z",
        "1h30m",
        "2 days",
        "5 minutes",
        "0",
        "1.5h",
        "h",
        "YWJj",
        "YWI=",
        "é",
        "10.0.0.1",
        "010.0.0.1",
        "::1",
        "fe80::1%eth0",
        "10.0.0.0/8",
        "::/0",
        "10.0.0.0/33",
        "00:11:22:33:44:55",
        "a@b.c",
        "a..b@c",
        "http://x/y?z",
        "/a",
        "http://a b",
        "x:y",
        "http://a:b",
        "example.com",
        "a_b",
        "123-45-6789",
        "#fff",
        "rgb(1, 2,3)",
        "4111111111111111",
        "0123456789abcdef01234567",
        "0321751043",
        "978-0321751041",
        "123e4567-e89b-42d3-a456-426614174000",
        "v1",
        "x",
        "kind",
        "a.b"
    ])
}

fn values() -> Value {
    let mut all = texts();
    let more = json!([
        null, true, false, 0, 1, -1, 2, 5, 65, 1.0, 1.5, -2.5, 0.1, 1e30, 9007199254740993_i64, 2147483648_i64, 3e9,
        [], ["a"], ["a", "a"], [1], [null], {}, {"a": 1}, {"a": "a", "b": null}, [{"a": "x"}, {"a": "x"}], {"name": "x"},
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}}, {"a": {"b": 1}},
        {"apiVersion": "a/b/c", "kind": "", "metadata": {"labels": {"-": "x"}}}, {"metadata": {"labels": 5}}
    ]);
    all.as_array_mut().expect("a list").extend(more.as_array().expect("a list").iter().cloned());
    all
}

/// A schema that is valid except perhaps for its values.
fn schema(rng: &mut Rng, depth: usize) -> Value {
    let leaf = depth == 0;
    let mut node = match rng.below(if leaf { 5 } else { 9 }) {
        0 => {
            let mut node = json!({"type": "string"});
            match rng.below(5) {
                0 => node["format"] = rng.pick(&formats()),
                1 => node["enum"] = json!(["a", "b", rng.pick(&texts())]),
                2 => node["maxLength"] = rng.pick(&json!([0, 1, 3, 100])),
                3 => node["pattern"] = rng.pick(&patterns()),
                _ => node["minLength"] = rng.pick(&json!([0, 1, 3])),
            }
            node
        }
        1 => {
            let mut node = json!({"type": "integer"});
            match rng.below(4) {
                0 => node["format"] = rng.pick(&json!(["int32", "int64"])),
                1 => node["maximum"] = rng.pick(&json!([1, 2.5, 100, 1e20])),
                2 => node["multipleOf"] = rng.pick(&json!([1, 2, 0.5])),
                _ => {
                    node["minimum"] = rng.pick(&json!([-1, 0, 0.5]));
                    node["exclusiveMinimum"] = rng.one_in(2).into();
                }
            }
            node
        }
        2 => {
            json!({"type": "number", "format": rng.pick(&json!(["double", "float"])), "maximum": rng.pick(&json!([1.5, 7]))})
        }
        3 => json!({"type": "boolean"}),
        4 => {
            let mut node = json!({"x-kubernetes-int-or-string": true});
            if rng.one_in(2) {
                node["anyOf"] = json!([{"type": "integer"}, {"type": "string"}]);
            }
            node
        }
        5 => {
            let mut node = json!({"type": "array", "items": schema(rng, depth - 1)});
            if rng.one_in(3) {
                node["x-kubernetes-list-type"] = "set".into();
                node["items"] = json!({"type": "string"});
            } else if rng.one_in(2) {
                node["x-kubernetes-list-type"] = "map".into();
                node["x-kubernetes-list-map-keys"] = json!(["a"]);
                node["items"] = json!({"type": "object", "required": ["a"],
                    "properties": {"a": {"type": rng.pick(&json!(["string", "integer"]))}, "b": schema(rng, 0)}});
            }
            if rng.one_in(3) {
                node["maxItems"] = rng.pick(&json!([0, 1, 2]));
            }
            node
        }
        6 => json!({"type": "object", "additionalProperties": schema(rng, depth - 1)}),
        7 => json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true,
            "x-kubernetes-embedded-resource": rng.one_in(2)}),
        _ => object(rng, depth),
    };
    if rng.one_in(12) {
        node["nullable"] = true.into();
    }
    if rng.one_in(8) {
        node["default"] = rng.pick(&values());
    }
    if node["type"] == "object" && node.get("properties").is_some() && rng.one_in(4) {
        let name = node["properties"].as_object().expect("an object").keys().next().cloned().unwrap_or_default();
        let inner = rng.pick(&json!([{"maximum": 3}, {"minLength": 1}, {"enum": ["a", 1]}, {"not": {"enum": ["b"]}}]));
        let kind = rng.pick(&json!(["anyOf", "oneOf", "allOf"]));
        node[kind.as_str().expect("text")] = json!([{"required": [name]}, {"properties": {name: inner}}]);
    }
    node
}

fn object(rng: &mut Rng, depth: usize) -> Value {
    let mut node = json!({"type": "object", "properties": {}});
    for _ in 0..=rng.below(3) {
        let name = NAMES[rng.below(NAMES.len())];
        node["properties"][name] = schema(rng, depth.saturating_sub(1));
    }
    if rng.one_in(3) {
        node["required"] = json!([NAMES[rng.below(3)]]);
    }
    if rng.one_in(6) {
        node["x-kubernetes-map-type"] = rng.pick(&json!(["atomic", "granular"]));
    }
    node
}

/// A definition that is valid except perhaps for the values of its schema.
pub(crate) fn definition(rng: &mut Rng) -> Value {
    let mut root = json!({"type": "object", "properties": {"spec": object(rng, 3)}});
    if rng.one_in(3) {
        root["properties"]["status"] = object(rng, 1);
    }
    let version = json!({"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": root}});
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": "things", "kind": "Thing"},
            "versions": [version]}})
}

/// Collects the JSON pointers of all schemas in a schema.
fn schemas(schema: &Value, at: &str, all: &mut Vec<String>) {
    all.push(at.to_owned());
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        schemas(property, &format!("{at}/properties/{name}"), all);
    }
    for name in ["items", "additionalProperties", "not"] {
        if schema[name].is_object() {
            schemas(&schema[name], &format!("{at}/{name}"), all);
        }
    }
    for name in ["allOf", "anyOf", "oneOf"] {
        for (index, one) in schema[name].as_array().into_iter().flatten().enumerate() {
            schemas(one, &format!("{at}/{name}/{index}"), all);
        }
    }
}

/// Changes a schema at random.
fn change_schema(rng: &mut Rng, definition: &mut Value) {
    const ROOT: &str = "/spec/versions/0/schema/openAPIV3Schema";
    let mut all = Vec::new();
    schemas(definition.pointer(ROOT).unwrap_or(&Value::Null), ROOT, &mut all);
    let at = all[rng.below(all.len())].clone();
    let nested = json!([
        [{"type": "string"}], [{"required": ["a"]}], [{"properties": {"a": {"minLength": 1}}}], [{"pattern": "("}],
        [{"properties": {"zzz": {"maximum": 1}}}], [{"items": {"maximum": 1}}], [{"additionalProperties": {"maximum": 1}}],
        [{"description": "x", "title": "y", "nullable": true, "default": 1}], [{"additionalProperties": true}],
        [{"x-kubernetes-list-type": "set", "x-kubernetes-map-type": "atomic", "x-kubernetes-list-map-keys": ["a"]}],
        [{"x-kubernetes-int-or-string": true, "x-kubernetes-embedded-resource": true}],
        [{"x-kubernetes-validations": [{"rule": "true"}]}], [{"properties": {"metadata": {"maxLength": 1}}}],
        [{"anyOf": [{"type": "integer"}, {"type": "string"}]}, {"maximum": 5}], [{"additionalProperties": false}],
        [{"not": {"type": "string"}}, {"oneOf": [{"properties": {"a": {"enum": ["x"]}}}]}], [{"enum": [1, "x"]}, {}]
    ]);
    let changes: Vec<(&str, Value)> = vec![
        ("type", json!(["", "map", "null", "string", "object", "array", "integer", "number", "boolean"])),
        ("format", formats()),
        ("pattern", patterns()),
        ("default", values()),
        ("example", values()),
        ("enum", json!([["a"], [null], [1, 2.0], [{"a": 1}], ["a", "a"], ["A", 65]])),
        ("nullable", json!([true])),
        ("uniqueItems", json!([true, false])),
        ("additionalProperties", json!([true, false, {"type": "string"}, {"default": "x", "type": "string"}, {}])),
        (
            "items",
            json!([{"type": "string"}, {}, [{"type": "string"}], {"type": "object", "x-kubernetes-map-type": "atomic"}, {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"}]),
        ),
        ("x-kubernetes-list-type", json!(["set", "map", "atomic", "list", ""])),
        ("x-kubernetes-map-type", json!(["atomic", "granular", "set"])),
        ("x-kubernetes-list-map-keys", json!([["a"], ["b"], ["a", "a"], ["a", "b"]])),
        ("x-kubernetes-preserve-unknown-fields", json!([true, false])),
        ("x-kubernetes-embedded-resource", json!([true, false])),
        ("x-kubernetes-int-or-string", json!([true, false])),
        (
            "x-kubernetes-validations",
            json!([[{"rule": "true"}], [{"rule": " "}], [{"rule": "self.nonsense"}], [{"rule": "true", "message": " "}], [{"rule": "true", "message": "a\nb"}], [{"rule": "true\n|| false"}], [{"rule": "true", "reason": "Nonsense"}], [{"rule": "true", "reason": "FieldValueInvalid"}], [{"rule": "true", "fieldPath": ".a"}], [{"rule": "true", "fieldPath": "a"}], [{"rule": "true", "fieldPath": "['a']"}], [{"rule": "true", "fieldPath": ".zzz"}], [{"rule": "true", "fieldPath": " "}], [{"rule": "true", "fieldPath": ".a\n"}], [{"rule": "true", "messageExpression": " "}], [{"rule": "true", "optionalOldSelf": true}]]),
        ),
        ("anyOf", nested.clone()),
        ("oneOf", nested.clone()),
        ("allOf", nested.clone()),
        ("not", json!([{}, {"type": "string"}, {"required": ["a"]}, {"properties": {"zzz": {}}}])),
        ("$ref", json!(["#/definitions/x", ""])),
        ("id", json!(["x"])),
        ("$schema", json!(["x"])),
        ("title", json!(["x"])),
        ("description", json!(["x"])),
        ("definitions", json!([{"x": {"type": "string"}}])),
        ("patternProperties", json!([{"x": {"type": "string"}}])),
        ("dependencies", json!([{"a": ["b"]}, {"a": {"type": "string"}}])),
        ("additionalItems", json!([true, {"type": "string"}])),
        ("externalDocs", json!([{"description": "x", "url": "y"}])),
        ("required", json!([["a"], ["zzz"]])),
        ("maxLength", json!([-1, 0, 1])),
        ("minLength", json!([-1, 5])),
        ("maxItems", json!([0, 1, -1])),
        ("minItems", json!([1])),
        ("maxProperties", json!([0, 1, -1])),
        ("minProperties", json!([1, 2])),
        ("multipleOf", json!([0, -1, 0.5, 3])),
        ("maximum", json!([0, 0.5, 1e30])),
        ("minimum", json!([10, 0.5])),
        ("exclusiveMaximum", json!([true])),
        (
            "properties",
            json!([{"metadata": {"type": "object"}}, {"metadata": {"type": "object", "properties": {"name": {"type": "string", "default": "x"}}}}, {"metadata": {"type": "object", "properties": {"labels": {"type": "object"}}}}, {"kind": {"type": "integer"}, "apiVersion": {"type": "string", "default": "v1"}}, {"metadata": {"type": "string"}}, {"metadata": {"type": "object", "description": "x"}}, {"metadata": {"type": "object", "properties": {"labels": {"type": "object", "default": {"-": "x"}, "additionalProperties": {"type": "string", "default": "y"}}, "name": {"type": "string", "maxLength": 3}}}}]),
        ),
    ];
    let (name, choices) = &changes[rng.below(changes.len())];
    let value = rng.pick(choices);
    if let Some(Value::Object(node)) = definition.pointer_mut(&at) {
        node.insert((*name).to_owned(), value);
    }
}

/// Changes the rest of a definition at random.
fn change_rest(rng: &mut Rng, definition: &mut Value) {
    let words = json!([
        "",
        "Namespaced",
        "namespaced",
        "Cluster",
        "things",
        "Things",
        "thing",
        "a b",
        "é",
        "-a",
        "v1",
        "V1",
        "1",
        "None",
        "Webhook",
        "x.example.com",
        "example.com",
        "com",
        "a.k8s.io",
        "kubernetes.io",
        "a-name-of-more-than-sixty-three-characters-which-is-too-long-for-a-label"
    ]);
    let paths = json!([
        "",
        ".",
        ".spec",
        ".spec.a",
        ".spec.size",
        ".status.a",
        ".metadata.name",
        "spec.a",
        ".spec.zzz",
        ".spec['a']",
        ".spec.a.b",
        "{.spec.a}",
        "..",
        ".spec."
    ]);
    let clients = json!([null, {}, {"url": "https://x/y"}, {"url": "http://u@x?q#f"}, {"service": {"name": "", "namespace": "b"}},
        {"service": {"name": "a", "namespace": "b", "path": "x//y/", "port": 0}}, {"url": "https://", "service": {"name": "a", "namespace": ""}}]);
    let spec = &mut definition["spec"];
    match rng.below(14) {
        0 => spec["scope"] = rng.pick(&words),
        1 => spec["group"] = rng.pick(&words),
        2 | 3 => {
            let name = rng.pick(&json!(["plural", "singular", "kind", "listKind"]));
            spec["names"][name.as_str().expect("text")] = rng.pick(&words);
        }
        4 => {
            let name = rng.pick(&json!(["shortNames", "categories"]));
            spec["names"][name.as_str().expect("text")] = json!([rng.pick(&words), rng.pick(&words)]);
        }
        5 | 6 => {
            let mut version = spec["versions"][0].clone();
            version["name"] = rng.pick(&json!(["v1", "v2", "v1beta1", "V2", ""]));
            version["storage"] = rng.one_in(4).into();
            match rng.below(4) {
                0 => {
                    version["schema"]["openAPIV3Schema"]["properties"]["more"] =
                        json!({"type": "string", "default": "x"});
                }
                1 => version["subresources"] = json!({"status": {}}),
                2 => version["schema"] = Value::Null,
                _ => {}
            }
            let versions = spec["versions"].as_array_mut().expect("a list");
            let at = rng.below(versions.len() + 1);
            versions.insert(at, version);
        }
        7 => {
            spec["versions"][0]["deprecated"] = rng.one_in(2).into();
            spec["versions"][0]["deprecationWarning"] =
                rng.pick(&json!(["", "old", "a\nb", "é", "x<y", "x".repeat(257)]));
        }
        8 => {
            spec["versions"][0]["subresources"] = json!({"status": rng.pick(&json!([{}, null])), "scale": {
            "specReplicasPath": rng.pick(&paths), "statusReplicasPath": rng.pick(&paths),
            "labelSelectorPath": rng.pick(&paths)}});
        }
        9 => {
            spec["versions"][0]["additionalPrinterColumns"] = json!([{"name": rng.pick(&json!(["", "A"])),
            "type": rng.pick(&json!(["", "string", "date", "text"])), "jsonPath": rng.pick(&paths),
            "format": rng.pick(&json!(["", "date", "foo"])), "priority": rng.below(2)}]);
        }
        10 => {
            let fields = (0..=rng.below(10)).map(|_| json!({"jsonPath": rng.pick(&paths)}));
            spec["versions"][0]["selectableFields"] = fields.collect();
        }
        11 => {
            let mut conversion = json!({"strategy": rng.pick(&json!(["None", "Webhook", "", "none"]))});
            if rng.one_in(2) {
                conversion["webhook"] = json!({"clientConfig": rng.pick(&clients),
                    "conversionReviewVersions": rng.pick(&json!([["v1"], [], ["v2"], ["v1", "v1"], ["V"]]))});
            }
            spec["conversion"] = conversion;
        }
        12 => spec["preserveUnknownFields"] = rng.one_in(2).into(),
        _ => {
            definition["metadata"]["name"] = rng.pick(&words);
            definition["metadata"]["annotations"] =
                json!({"api-approved.kubernetes.io": rng.pick(&json!(["", "unapproved, x", "https://x/1", "yes"]))});
            definition["spec"]["group"] = rng.pick(&json!(["k8s.io", "x.k8s.io", "example.com"]));
        }
    }
}

/// A definition that may be invalid, sometimes with an old one that it replaces.
pub(crate) fn changed(rng: &mut Rng) -> (Value, Value) {
    let mut definition = definition(rng);
    let old = if rng.one_in(5) { definition.clone() } else { Value::Null };
    for _ in 0..rng.below(4) {
        match rng.below(3) {
            0 => change_rest(rng, &mut definition),
            _ => change_schema(rng, &mut definition),
        }
    }
    if old.is_object() {
        definition["metadata"] = old["metadata"].clone();
        if rng.one_in(3) {
            let versions = definition["spec"]["versions"].as_array_mut().expect("a list");
            let mut next = versions[0].clone();
            next["name"] = "v2".into();
            if rng.one_in(2) {
                versions[0] = next;
            } else {
                versions[0]["storage"] = false.into();
                versions.push(next);
            }
        }
    }
    (definition, old)
}

/// A value that more or less fits a schema.
fn value(rng: &mut Rng, schema: &Value, depth: usize) -> Value {
    if depth == 0 || rng.one_in(6) {
        return rng.pick(&values());
    }
    match schema["type"].as_str().unwrap_or_default() {
        "object" => {
            let mut object = json!({});
            for (name, property) in schema["properties"].as_object().into_iter().flatten() {
                if !rng.one_in(4) {
                    object[name] = value(rng, property, depth - 1);
                }
            }
            if schema["additionalProperties"].is_object() {
                object["k"] = value(rng, &schema["additionalProperties"], depth - 1);
            }
            if schema["x-kubernetes-embedded-resource"] == true {
                object["apiVersion"] = rng.pick(&json!(["v1", "a/b", "", "a/b/c", 1]));
                object["kind"] = rng.pick(&json!(["Pod", "p od", ""]));
                object["metadata"] = rng.pick(&json!([{}, {"name": "x"}, {"name": "a/b", "labels": {"a": "b"}},
                    {"namespace": "A", "finalizers": ["x"]}, {"labels": 5}]));
            }
            object
        }
        "array" => (0..rng.below(4)).map(|_| value(rng, &schema["items"], depth - 1)).collect(),
        "string" if schema["enum"].as_array().is_some_and(|all| !all.is_empty()) => rng.pick(&schema["enum"]),
        "string" => rng.pick(&texts()),
        "integer" | "number" => rng.pick(&json!([0, 1, 2, 3, -1, 5, 100, 1.0, 2.5, 1e30, 2147483648_i64, 1e-7])),
        "boolean" => rng.one_in(2).into(),
        _ => rng.pick(&json!([1, "a", "5%", 1.5, true, null])),
    }
}

/// An object of a definition's first version.
pub(crate) fn object_of(rng: &mut Rng, definition: &Value) -> Value {
    let schema = &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    let spec = &definition["spec"];
    let version = spec["versions"][0]["name"].as_str().unwrap_or_default();
    let mut object = json!({"apiVersion": format!("{}/{version}", spec["group"].as_str().unwrap_or_default()),
        "kind": spec["names"]["kind"], "metadata": {"name": "x"}});
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        if !["apiVersion", "kind", "metadata"].contains(&name.as_str()) {
            object[name] = value(rng, property, 5);
        }
    }
    object
}
