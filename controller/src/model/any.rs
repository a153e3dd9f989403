//! Values that are read field by field where JSON has a map, and taken as they are where it has
//! anything else.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::SeqAccessDeserializer;
use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// What can be read so.
pub(crate) trait OfMap: Sized {
    /// Reads a map.
    fn of_map<'de, A: MapAccess<'de>>(fields: A) -> Result<Self, A::Error>;

    /// Anything else.
    fn of_other(value: Value) -> Self;
}

/// What is read from any JSON.
pub(crate) struct Any<T>(pub(crate) T);

impl<'de, T: OfMap> Deserialize<'de> for Any<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Reading(PhantomData)).map(Self)
    }
}

struct Reading<T>(PhantomData<T>);

impl<'de, T: OfMap> Visitor<'de> for Reading<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any valid JSON value")
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<T, A::Error> {
        T::of_map(fields)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<T, A::Error> {
        Value::deserialize(SeqAccessDeserializer::new(items)).map(T::of_other)
    }

    fn visit_unit<E: Error>(self) -> Result<T, E> {
        Ok(T::of_other(Value::Null))
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<T, E> {
        Ok(T::of_other(value.into()))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<T, E> {
        Ok(T::of_other(value.into()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<T, E> {
        Ok(T::of_other(value.into()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<T, E> {
        Ok(T::of_other(value.into()))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<T, E> {
        Ok(T::of_other(value.into()))
    }
}
