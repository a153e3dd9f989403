//! Compares objects with their encoding by `k8s.io/apimachinery` v0.36.3 (`examples/`).

use proptest::prelude::*;
use rstest::rstest;
use serde_json::{Value, json};

use crate::types::decode::decode as as_type;
use crate::types::protobuf::{WireEvent, decode, encode, type_of, wire};
use crate::types::table::TYPES;

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> =
        hex.bytes().filter_map(|digit| char::from(digit).to_digit(16)).map(|digit| digit as u8).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

/// Omits the zeros that protobuf encodes and JSON does not.
fn normal(object: &Value) -> Value {
    let kind = object["kind"].as_str().unwrap_or_default();
    let Some(item) = kind.strip_suffix("List") else {
        return as_type(TYPES.index_of(kind).unwrap(), object.clone()).unwrap().value;
    };
    let items = object["items"].as_array().unwrap();
    let items: Vec<Value> =
        items.iter().map(|one| as_type(TYPES.index_of(item).unwrap(), one.clone()).unwrap().value).collect();
    json!({"metadata": as_type(TYPES.index_of("ListMeta").unwrap(), object["metadata"].clone()).unwrap().value, "items": items})
}

#[rstest]
#[case::fields_of_all_kinds(include_str!("examples/deployment.json"), include_str!("examples/deployment.hex"))]
#[case::bytes_and_a_time_before_1970(include_str!("examples/secret.json"), include_str!("examples/secret.hex"))]
#[case::a_list_and_negative_numbers(include_str!("examples/pods.json"), include_str!("examples/pods.hex"))]
#[case::schemas_and_what_stands_in_their_place(include_str!("examples/definition.json"), include_str!("examples/definition.hex"))]
#[case::an_error(include_str!("examples/status.json"), include_str!("examples/status.hex"))]
fn encoding_matches_upstream_bytes(#[case] text: &str, #[case] hex: &str) {
    let (object, upstream): (Value, _) = (serde_json::from_str(text).unwrap(), bytes(hex));
    assert_eq!(encode(&object).unwrap(), upstream);
    let read = decode(&upstream).unwrap();
    assert_eq!((&read["kind"], &read["apiVersion"]), (&object["kind"], &object["apiVersion"]));
    assert_eq!(normal(&read), normal(&object));
    assert_eq!(type_of(&upstream).unwrap().1, object["kind"].as_str().unwrap());
}

#[test]
fn skips_unknown_field() {
    let object = json!({"kind": "ConfigMap", "apiVersion": "v1", "data": {"a": "b"}});
    let mut raw = encode::message(TYPES.index_of("ConfigMap").unwrap(), &object).unwrap();
    wire::text(&mut raw, 200, "x");
    let (mut kind, mut config) = (Vec::new(), super::MAGIC.to_vec());
    wire::text(&mut kind, 2, "ConfigMap");
    wire::bytes(&mut config, 1, &kind);
    wire::bytes(&mut config, 2, &raw);
    assert_eq!(decode(&config).unwrap()["data"], json!({"a": "b"}));
}

#[rstest]
#[case::json(b"{}".as_slice(), "provided data does not appear to be a protobuf message")]
#[case::cut_off(b"k8s\0\x0a\x08".as_slice(), "unexpected EOF")]
#[case::endless_number(b"k8s\0\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff".as_slice(), "integer overflow")]
#[case::no_kind(b"k8s\0".as_slice(), "no kind \"\" is known")]
fn rejects_malformed_bytes(#[case] bytes: &[u8], #[case] why: &str) {
    let error = decode(bytes).unwrap_err().to_string();
    assert!(error.contains(why), "{error}");
}

#[test]
fn takes_events_from_a_stream_one_by_one() {
    let event = |name: &str| WireEvent {
        kind: "ADDED".to_owned(),
        object: encode(&json!({"kind": "Pod", "apiVersion": "v1", "metadata": {"name": name}})).unwrap(),
    };
    let mut stream = [event("a").frame(), event("b").frame()].concat();
    let rest = stream.split_off(stream.len() - 3);
    assert_eq!(WireEvent::take(&mut stream).unwrap(), Some(event("a")));
    assert_eq!(WireEvent::take(&mut stream).unwrap(), None);
    stream.extend(rest);
    assert_eq!(WireEvent::take(&mut stream).unwrap(), Some(event("b")));
    assert!(stream.is_empty());
}

proptest! {
    #[test]
    fn arbitrary_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), cut in 0_usize..500) {
        let _ = decode(&[b"k8s\0".as_slice(), &bytes].concat());
        let mut upstream = super::tests::bytes(include_str!("examples/deployment.hex"));
        upstream.truncate(cut);
        upstream.extend(&bytes);
        let _ = decode(&upstream);
        let _ = WireEvent::take(&mut upstream);
    }
}
