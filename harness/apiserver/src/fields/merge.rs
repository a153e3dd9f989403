//! Merges an applied configuration into a live object.
//!
//! Upstream: `Merge` of `structured-merge-diff/typed`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::fields::path::PathElement;
use crate::fields::typed::Atom;

impl Atom<'_> {
    /// Merges an applied value into a live one; `None` if both are absent.
    ///
    /// # Errors
    /// Two applied items have the same key, or an item lacks its keys.
    pub(crate) fn merge(self, live: Option<&Value>, applied: Option<&Value>) -> Result<Option<Value>, String> {
        if self.has_two_forms(live, applied) {
            return Ok(applied.cloned());
        }
        let objects = [live, applied].map(|value| value.and_then(Value::as_object));
        let lists = [live, applied].map(|value| value.and_then(Value::as_array));
        let this = self.resolve_untyped(&[live, applied]);
        match this {
            Self::Fields(_) | Self::Open(_) | Self::Map(_)
                if objects.iter().flatten().any(|object| !object.is_empty()) =>
            {
                let none = Map::new();
                let [live, applied] = objects.map(|object| object.unwrap_or(&none));
                let mut merged = Map::new();
                let added = applied.keys().filter(|name| !live.contains_key(*name));
                for name in live.keys().chain(added) {
                    let child = this.child(&PathElement::Field(name.as_str().into()));
                    let value =
                        child.merge(live.get(name), applied.get(name)).map_err(|why| format!(".{name}{why}"))?;
                    merged.extend(value.map(|value| (name.clone(), value)));
                }
                Ok((!merged.is_empty()).then_some(Value::Object(merged)))
            }
            Self::Items(_) | Self::Keyed(..) if lists.iter().flatten().any(|list| !list.is_empty()) => {
                let [live, applied] = lists.map(|list| list.map_or([].as_slice(), Vec::as_slice));
                let merged = self.merge_items(live, applied)?;
                Ok((!merged.is_empty()).then_some(Value::Array(merged)))
            }
            _ => Ok(applied.or(live).cloned()),
        }
    }

    /// Merges lists in the order of the applied one; other live items stay behind the items that
    /// preceded them.
    fn merge_items(self, live: &[Value], applied: &[Value]) -> Result<Vec<Value>, String> {
        let named = |list: &[Value]| -> Result<Vec<PathElement>, String> {
            let place = |(at, item)| self.element(item).map_err(|why| format!(": element {at}: {why}"));
            list.iter().enumerate().map(place).collect()
        };
        let (of_live, of_applied) = (named(live)?, named(applied)?);
        let mut in_applied = BTreeSet::new();
        if let Some(twice) = of_applied.iter().find(|one| !in_applied.insert(*one)) {
            return Err(format!(": duplicate entries for key {twice}"));
        }
        let mut in_live: BTreeMap<&PathElement, &Value> = BTreeMap::new();
        for (element, item) in of_live.iter().zip(live) {
            in_live.entry(element).and_modify(|one| *one = &Value::Null).or_insert(item);
        }
        let of = |element: &PathElement| in_live.get(element).copied();
        let item = |element: &PathElement, applied: Option<&Value>| {
            self.child(element).merge(of(element), applied).map_err(|why| format!("{element}{why}"))
        };
        let mut shared = of_applied.iter().filter(|element| in_live.contains_key(element));
        let mut next = shared.next();
        let (mut merged, mut done, mut left, mut right) = (Vec::new(), BTreeSet::new(), 0, 0);
        while left < of_live.len() || right < of_applied.len() {
            if let (Some(one), Some(other)) = (of_live.get(left), of_applied.get(right)) {
                if one == other {
                    done.insert(one);
                    merged.extend(item(one, applied.get(right))?);
                    (left, right) = (left + 1, right + 1);
                    next = shared.next();
                    continue;
                }
                if in_applied.contains(one) && next.is_some_and(|next| next != one) {
                    left += 1;
                    continue;
                }
            }
            if let Some(one) = of_live.get(left) {
                if !in_applied.contains(one) {
                    merged.extend(self.child(one).merge(live.get(left), None).map_err(|why| format!("{one}{why}"))?);
                    left += 1;
                    continue;
                }
                if done.contains(one) {
                    left += 1;
                }
            }
            if let Some(other) = of_applied.get(right) {
                done.insert(other);
                merged.extend(item(other, applied.get(right))?);
                right += 1;
                if next == Some(other) {
                    next = shared.next();
                }
            }
        }
        Ok(merged)
    }
}
