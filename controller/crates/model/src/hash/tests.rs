use std::collections::BTreeSet;

use proptest::prelude::*;
use rstest::rstest;
use serde_json::json;

use super::table::{GoFieldType, GoTypeTable};
use super::*;

/// The template of a Deployment with one nginx container, with the defaults of an API server.
fn nginx(image: &str, port: bool) -> Value {
    let mut container = json!({
        "name": "nginx", "image": image, "resources": {}, "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "imagePullPolicy": if image.contains(':') { "IfNotPresent" } else { "Always" },
    });
    if port {
        container["ports"] = json!([{"containerPort": 80, "protocol": "TCP"}]);
    }
    json!({
        "metadata": {"creationTimestamp": null, "labels": {"app": "nginx"}},
        "spec": {
            "containers": [container], "restartPolicy": "Always", "terminationGracePeriodSeconds": 30,
            "dnsPolicy": "ClusterFirst", "securityContext": {}, "schedulerName": "default-scheduler",
        },
    })
}

/// The hashes of `kubectl create deployment nginx --image=nginx`, of the Deployment in upstream's
/// documentation (two versions of it), and of the latter after a collision. Those up to 1.32 are
/// found on many web pages.
#[rstest]
#[case("1.25", ["76d6c9b8c", "7fb96c846b", "7759cfdc55", "7c9b7c68f5"])]
#[case("1.26", ["748c667d99", "85996f8dbd", "57c68fcd95", "6d575c8769"])]
#[case("1.27", ["77b4fdf86c", "cbdccf466", "f7599d4c", "575886d7ff"])]
#[case("1.28", ["7854ff8877", "86dcfdf4c6", "9d6cbcc65", "5b455f597c"])]
#[case("1.29", ["7854ff8877", "86dcfdf4c6", "9d6cbcc65", "5b455f597c"])]
#[case("1.30", ["bf5d5cf98", "77d8468669", "7f89d7585d", "78d4bdbc96"])]
#[case("1.31", ["676b6c5bbc", "d556bf558", "75fd5cdd7", "6d68758fc5"])]
#[case("1.32", ["5869d7778c", "647677fc66", "b96f959", "7879bf67f9"])]
#[case("1.33", ["5869d7778c", "647677fc66", "b96f959", "7879bf67f9"])]
#[case("1.34", ["66686b6766", "bf744486c", "55c89695b6", "8597dbbbb"])]
#[case("1.35", ["56c45fd5ff", "77bc6bd484", "d8d475c9f", "798ddfc445"])]
#[case("1.36", ["7f8fbb96d", "6c5f67b5f7", "6b799bd7f6", "6f4479b5f6"])]
fn gives_the_well_known_hashes(#[case] minor: KubernetesMinor, #[case] hashes: [&str; 4]) {
    let templates = [nginx("nginx", false), nginx("nginx:1.14.2", true), nginx("nginx:1.7.9", true)];
    let mut ours = templates.each_ref().map(|template| pod_template_hash(template, None, minor)).to_vec();
    ours.push(pod_template_hash(&templates[1], Some(1), minor));
    assert_eq!(ours, hashes);
}

/// The first row of the table has the hash of a template with every field set, which the generator
/// computed with upstream's types.
#[test]
fn hashes_every_field_of_every_minor_as_upstream() {
    let listed = table::FIELDS.lines().find_map(|line| line.strip_prefix("minors ")).unwrap();
    for item in listed.split(' ') {
        let (number, hash) = (item.split_once('=').unwrap().0, item.split_once('/').unwrap().1);
        let minor: KubernetesMinor = format!("1.{number}").parse().unwrap();
        let filled = fill(minor.table(), minor.table().root(), "");
        assert_eq!(pod_template_hash(&filled, None, minor), hash, "{minor}: {}", text(&filled).unwrap());
    }
}

/// Like `fill` of the generator: a text is its key, numbers are 7, quantities are 170Mi, lists and
/// maps have one value, times are absent.
fn fill(table: &GoTypeTable, field_type: &GoFieldType, key: &str) -> Value {
    match field_type {
        GoFieldType::Bool => true.into(),
        GoFieldType::Int32 | GoFieldType::Int64 | GoFieldType::IntOrString => 7.into(),
        GoFieldType::Text => key.into(),
        GoFieldType::Quantity => "170Mi".into(),
        GoFieldType::Time | GoFieldType::Opaque => Value::Null,
        GoFieldType::Pointer(inner) => fill(table, inner, key),
        GoFieldType::List(item) => json!([fill(table, item, key)]),
        GoFieldType::Map(item) => json!({"key": fill(table, item, key)}),
        GoFieldType::Struct(of) | GoFieldType::Inline(of) => {
            let mut all = serde_json::Map::new();
            for field in table.fields(*of) {
                match (&field.field_type, fill(table, &field.field_type, field.key)) {
                    (GoFieldType::Inline(_), Value::Object(inner)) => all.extend(inner),
                    (_, value) => drop(all.insert(field.key.to_owned(), value)),
                }
            }
            all.into()
        }
    }
}

fn text(template: &Value) -> Result<String, dump::UnknownShape> {
    let mut text = String::new();
    dump::dump(template, KubernetesMinor::default().table(), &mut text).map(|()| text)
}

fn with(pointer: &str, value: Value) -> Value {
    let mut template = nginx("app:1", true);
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    template.pointer_mut(parent).unwrap()[key] = value;
    template
}

/// Which values upstream's informer cannot distinguish from an absent field.
#[rstest]
#[case::null("/spec/nodeName", json!(null), true)]
#[case::empty_text("/spec/nodeName", json!(""), true)]
#[case::zero("/spec/hostNetwork", json!(false), true)]
#[case::empty_list("/spec/volumes", json!([]), true)]
#[case::empty_map("/spec/nodeSelector", json!({}), true)]
#[case::empty_pointer("/spec/affinity", json!({}), false)]
#[case::zero_pointer("/spec/priority", json!(0), false)]
#[case::empty_text_pointer("/spec/runtimeClassName", json!(""), false)]
fn treats_values_as_absent_like_upstream(#[case] pointer: &str, #[case] value: Value, #[case] as_absent: bool) {
    let (plain, given) = (nginx("app:1", true), with(pointer, value));
    assert_eq!(text(&given).unwrap() == text(&plain).unwrap(), as_absent);
}

#[rstest]
#[case::field_of_the_future("/spec/future", json!(1))]
#[case::field_of_the_future_deep_down("/spec/containers/0/future", json!({}))]
#[case::field_of_another_struct("/spec/image", json!("app:1"))]
#[case::key_of_an_inline_struct("/spec/.", json!({}))]
#[case::wrong_kind("/spec/nodeName", json!(1))]
#[case::list_for_a_map("/spec/nodeSelector", json!([]))]
#[case::too_large("/spec/priority", json!(1_i64 << 31))]
#[case::fraction("/spec/priority", json!(0.5))]
#[case::no_amount("/spec/overhead", json!({"cpu": "much"}))]
#[case::no_object("/spec", json!("spec"))]
#[case::time("/metadata/creationTimestamp", json!("2017-02-15T18:50:00Z"))]
#[case::managed_fields("/metadata/managedFields", json!([{"fieldsV1": {}}]))]
fn a_template_with_unknown_fields_gets_the_fallback_hash(#[case] pointer: &str, #[case] value: Value) {
    let template = with(pointer, value);
    assert_eq!(text(&template), Err(dump::UnknownShape));
    let hash = encode(&fallback::hash(&template));
    assert!(KubernetesMinor::all().all(|minor| pod_template_hash(&template, None, minor) == hash));
}

/// The names of existing ReplicaSets must not change.
#[test]
fn the_fallback_hash_does_not_change() {
    let template =
        json!({"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "app:1"}]}});
    assert_eq!(encode(&fallback::hash(&template)), "f54cbb7f8");
}

/// A field that 1.36 has and 1.35 lacks.
#[test]
fn a_minor_knows_only_its_own_fields() {
    let template = with("/spec/schedulingGroup", json!({"podGroupName": "g"}));
    let dumped =
        |minor: &str| dump::dump(&template, minor.parse::<KubernetesMinor>().unwrap().table(), &mut String::new());
    assert_eq!(dumped("1.35"), Err(dump::UnknownShape));
    assert_eq!(dumped("1.36"), Ok(()));
}

/// An example of the text that is hashed.
#[test]
fn dumps_a_small_template() {
    let text = text(&json!({"metadata": {"labels": {"b": "2", "a": "1"}}, "spec": {"priority": 5}})).unwrap();
    let beginning = "(v1.PodTemplateSpec){ObjectMeta:(v1.ObjectMeta){Name:(string) GenerateName:(string) Namespace:(string) \
        SelfLink:(string) UID:(types.UID) ResourceVersion:(string) Generation:(int64)0 CreationTimestamp:(v1.Time){Time:\
        (time.Time){wall:(uint64)0 ext:(int64)0 loc:(*time.Location)<nil>}} DeletionTimestamp:(*v1.Time)<nil> \
        DeletionGracePeriodSeconds:(*int64)<nil> Labels:(map[string]string)map[a:1 b:2] Annotations:(map[string]string)<nil> ";
    assert!(text.starts_with(beginning), "{text}");
    assert!(text.contains(" Priority:(*int32)5 "), "{text}");
}

/// Upstream: util/hash_test.go, a thousand image tags.
#[test]
fn a_thousand_images_give_a_thousand_hashes() {
    let hash = |n| pod_template_hash(&nginx(&format!("app:v0.{n}"), true), None, KubernetesMinor::default());
    assert_eq!((0..1000).map(hash).collect::<BTreeSet<_>>().len(), 1000);
}

/// Upstream: TestComputeHash.
#[test]
fn each_collision_gives_another_hash() {
    let template = nginx("app:1", true);
    let hashes = [None, Some(0), Some(1), Some(2), Some(-1)]
        .map(|n| pod_template_hash(&template, n, KubernetesMinor::default()));
    assert_eq!(BTreeSet::from(hashes).len(), 5);
}

/// JSON of any shape, in which many keys are those of templates.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".*".prop_map(Value::from),
        "[-+]?[0-9.]{0,40}([numkMGTPE]i?|[eE][-+]?[0-9]{1,12})?".prop_map(Value::from),
    ];
    let known = "metadata|labels|creationTimestamp|managedFields|spec|containers|resources|limits|overhead|livenessProbe|httpGet|\
        port|volumes|emptyDir|sizeLimit|affinity|priority|nodeSelector|name";
    let key = prop_oneof![9 => known, 1 => ".*"];
    leaf.prop_recursive(6, 32, 4, move |inner| {
        prop_oneof![
            1 => prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            3 => prop::collection::btree_map(key.clone(), inner, 0..4).prop_map(Value::from_iter),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn any_json_has_a_hash(template in any_json(), spec in any_json(), count in any::<Option<i32>>()) {
        for template in [&template, &with("/spec/overhead", template.clone()), &with("/spec", spec)] {
            let hash = pod_template_hash(template, count, KubernetesMinor::default());
            prop_assert!((1..=10).contains(&hash.len()));
            prop_assert!(hash.bytes().all(|letter| b"456789bcdf".contains(&letter)), "{}", hash);
        }
    }

    #[test]
    fn any_text_is_parsed_as_a_quantity_or_refused(text in "[-+]?[0-9.]{0,45}([numkMGTPE]i?|[eE][-+]?[0-9]{1,12}|.*)?") {
        let mut out = String::new();
        if let Some(amount) = crate::quantity::GoQuantity::parse(&text) {
            amount.dump(&mut out).unwrap();
        }
    }
}
