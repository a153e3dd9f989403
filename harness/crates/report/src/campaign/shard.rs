//! The items of a selection, and the part of them that a run plays.
//!
//! Items that are known before the run, such as plays of cases, are distributed round-robin by
//! their number: shards differ by at most one item, and neighbours, which cost about the same, go
//! to different shards. A hash of the names would keep an item in its shard when the selection
//! changes, but shards of different selections are never merged. Items that appear during the run,
//! such as the programs of a search, have no number that all shards agree on, and are distributed
//! by a hash of their text.

use std::fmt::{Display, Formatter};
use std::str::FromStr;

use lockstep_case::Case;
use lockstep_support::fingerprint::{fingerprint, hash};
use lockstep_timeline::digest_of_case;
use serde::{Deserialize, Serialize};

/// One of several parts of a selection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Shard {
    /// From 1.
    index: u32,
    count: u32,
}

impl Shard {
    /// The only shard of an undivided selection.
    pub const SINGLE: Self = Self { index: 1, count: 1 };

    /// The most shards. Lists of them are kept in memory.
    pub(crate) const MOST: u32 = 10_000;

    /// The shard with this number, from 1, of `count` shards.
    #[must_use]
    pub(crate) const fn new(index: u32, count: u32) -> Option<Self> {
        if index >= 1 && index <= count && count <= Self::MOST { Some(Self { index, count }) } else { None }
    }

    /// The number of the shard, from 1.
    #[must_use]
    pub const fn index(self) -> u32 {
        self.index
    }

    /// The number of shards.
    #[must_use]
    pub const fn count(self) -> u32 {
        self.count
    }

    /// Whether the shard has the item with this number, from 0.
    #[must_use]
    pub fn has(self, item: usize) -> bool {
        item as u64 % u64::from(self.count) == u64::from(self.index - 1)
    }

    /// Whether the shard has the item with this text. Every text is in exactly one shard.
    #[must_use]
    pub fn has_text(self, text: &str) -> bool {
        mix_bits(hash(text.bytes())) % u64::from(self.count) == u64::from(self.index - 1)
    }

    /// The number of items of this shard, of so many in all.
    #[must_use]
    pub fn share(self, items: usize) -> usize {
        let (count, before) = (self.count as usize, self.index as usize - 1);
        items / count + usize::from(before < items % count)
    }

    /// The seed of this shard, derived from the common seed. A single shard uses the seed
    /// unchanged.
    #[must_use]
    pub fn seed(self, seed: u64) -> u64 {
        if self == Self::SINGLE { seed } else { mix_bits(hash(format!("{seed} {self}").bytes())) }
    }
}

/// Mixes the bits of a hash. The low bits of FNV depend only on the low bits of each letter.
const fn mix_bits(hash: u64) -> u64 {
    let hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

/// `2/8`.
impl Display for Shard {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let most = Self::MOST;
        let bad = || format!("use the shard's number, from 1, and how many there are, at most {most}, such as 2/8");
        let (index, count) = text.split_once('/').ok_or_else(bad)?;
        let number = |text: &str| text.parse::<u32>().map_err(|_| bad());
        Self::new(number(index)?, number(count)?).ok_or_else(bad)
    }
}

impl TryFrom<String> for Shard {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Shard> for String {
    fn from(shard: Shard) -> Self {
        shard.to_string()
    }
}

/// One item of a selection, such as a play of a case.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Item {
    /// The number in the selection of all shards, from 0, in play order.
    pub number: usize,
    /// `rolling/surge on ours, seed 3`.
    pub name: String,
    /// The digest of its case.
    pub digest: String,
}

impl Item {
    /// An item with this digest of its case.
    #[must_use]
    pub fn new(number: usize, name: String, digest: &str) -> Self {
        Self { number, name, digest: digest.to_owned() }
    }
}

/// The digest of a case, which ignores comments and layout.
#[must_use]
pub fn digest_of(case: &Case) -> String {
    digest_of_case(&case.source)
}

/// The fingerprint of items in this order.
#[must_use]
pub(crate) fn fingerprint_of<'a>(items: impl IntoIterator<Item = &'a Item>) -> String {
    let lines = items.into_iter().map(|item| format!("{} {} {}\n", item.number, item.name, item.digest));
    fingerprint(lines.flat_map(String::into_bytes))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use rstest::rstest;

    use super::*;

    fn all(count: u32) -> Vec<Shard> {
        (1..=count).map(|index| Shard::new(index, count).unwrap()).collect()
    }

    #[rstest]
    fn every_item_is_in_one_shard(#[values(1, 2, 3, 7, 64)] count: u32, #[values(0, 1, 5, 428)] items: usize) {
        for item in 0..items {
            assert_eq!(all(count).iter().filter(|shard| shard.has(item)).count(), 1);
            assert_eq!(all(count).iter().filter(|shard| shard.has_text(&format!("case {item}"))).count(), 1);
        }
        let sizes: Vec<usize> =
            all(count).iter().map(|shard| (0..items).filter(|item| shard.has(*item)).count()).collect();
        assert_eq!(sizes, all(count).iter().map(|shard| shard.share(items)).collect::<Vec<_>>());
        assert!(sizes.iter().max().unwrap() - sizes.iter().min().unwrap() <= 1);
    }

    #[test]
    fn texts_are_distributed_evenly() {
        for count in [2, 3, 8] {
            for shard in all(count) {
                let has = (0..8_000).filter(|item| shard.has_text(&format!("- scale: {item}"))).count();
                let fair = 8_000 / count as usize;
                assert!(has.abs_diff(fair) < fair / 8, "{shard} has {has} of 8000");
            }
        }
    }

    /// Merged results may come from different machines, with different builds.
    #[test]
    fn partition_is_the_same_in_every_build() {
        let shard = Shard::new(2, 3).unwrap();
        let items: Vec<usize> = (0..10).filter(|item| shard.has(*item)).collect();
        assert_eq!(items, [1, 4, 7]);
        let texts: Vec<usize> = (0..12).filter(|item| shard.has_text(&format!("program {item}"))).collect();
        assert_eq!(texts, [1, 2, 3, 7, 8, 9, 11]);
        assert_eq!(shard.seed(7), 16_983_907_329_802_156_581);
    }

    #[test]
    fn every_shard_has_different_seed() {
        let of = |seed: u64| (1..=16).flat_map(all).map(move |shard| shard.seed(seed));
        // The single shard is once among those of each seed.
        let seeds: BTreeSet<u64> = (0..10).flat_map(of).collect();
        assert_eq!(seeds.len(), 10 * (1..=16).sum::<usize>());
        assert_eq!(Shard::SINGLE.seed(7), 7);
    }

    #[rstest]
    #[case("1/1", Some((1, 1)))]
    #[case("8/8", Some((8, 8)))]
    #[case("1/10000", Some((1, 10_000)))]
    #[case("1/4000000000", None)]
    #[case("0/8", None)]
    #[case("9/8", None)]
    #[case("0/0", None)]
    #[case("2", None)]
    #[case("a/b", None)]
    #[case("-1/2", None)]
    fn shard_is_parsed_from_two_numbers(#[case] text: &str, #[case] expected: Option<(u32, u32)>) {
        let shard = text.parse::<Shard>().ok();
        assert_eq!(shard.map(|shard| (shard.index(), shard.count())), expected);
        assert_eq!(shard.map(|shard| shard.to_string()), expected.map(|_| text.to_owned()));
    }
}
