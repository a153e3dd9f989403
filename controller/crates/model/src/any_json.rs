//! Reads a JSON object field by field, and any other JSON as a plain value. `transcode` and the
//! client's `split_manifest` and `managed_fields` share it: together they read a page of 50
//! Deployments in 0.6 MB instead of 5.5 MB (`cargo bench --package controller-client --bench
//! wire_forms`).

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::SeqAccessDeserializer;
use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// A type that can be read from any JSON.
pub trait FromAnyJson: Sized {
    /// Reads a JSON object.
    fn from_map<'de, A: MapAccess<'de>>(fields: A) -> Result<Self, A::Error>;

    /// Takes JSON that is not an object.
    fn from_non_map(value: Value) -> Self;
}

/// Deserializes a [`FromAnyJson`] type.
pub struct AnyJson<T>(pub T);

impl<'de, T: FromAnyJson> Deserialize<'de> for AnyJson<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(AnyJsonVisitor(PhantomData)).map(Self)
    }
}

struct AnyJsonVisitor<T>(PhantomData<T>);

impl<'de, T: FromAnyJson> Visitor<'de> for AnyJsonVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any valid JSON value")
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<T, A::Error> {
        T::from_map(fields)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<T, A::Error> {
        Value::deserialize(SeqAccessDeserializer::new(items)).map(T::from_non_map)
    }

    fn visit_unit<E: Error>(self) -> Result<T, E> {
        Ok(T::from_non_map(Value::Null))
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<T, E> {
        Ok(T::from_non_map(value.into()))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<T, E> {
        Ok(T::from_non_map(value.into()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<T, E> {
        Ok(T::from_non_map(value.into()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<T, E> {
        Ok(T::from_non_map(value.into()))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<T, E> {
        Ok(T::from_non_map(value.into()))
    }
}
