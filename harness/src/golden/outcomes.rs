//! The files of several outcomes: `NAME.timeline` is the most frequent, `NAME.or-2.timeline`,
//! `NAME.or-3.timeline`, … are the others. Numbers go on without a gap, as a reader stops at the
//! first that is not there.

use std::path::{Path, PathBuf};

use super::{GoldenError, Stray, read};
use crate::timeline::{Golden, Timeline};

/// What stands before an outcome's number in a file's name.
const OR: &str = "or-";

/// The file of the outcome with this number, from 1; `base` is that of the first.
pub fn path(base: &Path, number: usize) -> PathBuf {
    match number {
        0 | 1 => base.to_owned(),
        _ => base.with_extension(format!("{OR}{number}.timeline")),
    }
}

/// All outcomes, the first of which is in this file.
///
/// # Errors
/// When one of them is not readable.
pub(super) fn blessed(base: &Path) -> Result<Option<Golden>, GoldenError> {
    let Some(first) = read(base)? else { return Ok(None) };
    let mut others = Vec::new();
    while let Some(other) = read(&path(base, others.len() + 2))? {
        others.push(other);
    }
    Ok(Some(Golden::new(first, others)))
}

/// Put exactly these outcomes beside their case: what there was of others before is removed.
///
/// # Errors
/// When a file cannot be written or removed.
pub fn write(base: &Path, blessed: &Golden) -> Result<(), GoldenError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| GoldenError::File { path, source }
    };
    for (number, outcome) in (1..).zip(blessed.outcomes()) {
        let path = path(base, number);
        std::fs::write(&path, outcome.to_string()).map_err(failed(&path))?;
    }
    for number in blessed.count() + 1.. {
        let path = path(base, number);
        match std::fs::remove_file(&path) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => break,
            Err(source) => return Err(GoldenError::File { path, source }),
        }
    }
    Ok(())
}

/// Whether this is an outcome's file, by its name: the number, or `None` where that is none.
pub(super) fn number(path: &Path) -> Option<Option<usize>> {
    let stem = path.file_stem()?.to_str()?;
    let (_, rest) = stem.rsplit_once('.')?;
    let digits = rest.strip_prefix(OR)?;
    let number = digits.parse().ok().filter(|number: &usize| *number > 1 && number.to_string() == digits);
    Some(number)
}

/// The file of the outcome before this one; the first one's for a name that is no number.
pub(super) fn before(path: &Path) -> PathBuf {
    let base = base(path);
    number(path).flatten().map_or_else(|| base.clone(), |number| self::path(&base, number - 1))
}

/// The file of the first outcome, given that of any.
pub(super) fn base(path: &Path) -> PathBuf {
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    match name.rsplit_once('.').filter(|_| number(path).is_some()) {
        Some((base, _)) => path.with_file_name(format!("{base}.timeline")),
        None => path.to_owned(),
    }
}

/// The outcomes that no reader ever comes to: their number is none, or one is missing before it.
pub(super) fn unreachable(path: &Path) -> Option<Stray> {
    let number = number(path)?;
    let before = before(path);
    (number.is_none() || !before.is_file()).then(|| Stray::Gap(path.to_owned(), before))
}

/// The files of these outcomes and what is in them.
pub(super) fn files<'a>(base: &'a Path, blessed: &'a Golden) -> impl Iterator<Item = (PathBuf, &'a Timeline)> {
    (1..).zip(blessed.outcomes()).map(|(number, outcome)| (path(base, number), outcome))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = include_str!("../../../cases/recreate/three.timeline");

    fn timelines(images: &[&str]) -> Vec<Timeline> {
        images.iter().map(|image| Timeline::parse(&ONE.replace("app:1", image)).unwrap()).collect()
    }

    #[test]
    fn outcomes_are_read_as_they_were_written_and_others_go() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().join("a.on-v1.33.timeline");
        assert_eq!(blessed(&base).unwrap(), None);
        let mut all = timelines(&["app:1", "app:2", "app:3"]);
        let three = Golden::new(all.remove(0), all);
        write(&base, &three).unwrap();
        assert!(folder.path().join("a.on-v1.33.or-3.timeline").is_file());
        assert_eq!(blessed(&base).unwrap(), Some(three.clone()));
        let one = Golden::from(three.outcome(2).clone());
        write(&base, &one).unwrap();
        assert_eq!(blessed(&base).unwrap(), Some(one));
        assert_eq!(folder.path().read_dir().unwrap().count(), 1);
    }

    #[test]
    fn names_have_numbers_from_two_on() {
        let of = |name: &str| number(Path::new(name));
        assert_eq!((of("a.timeline"), of("a.on-v1.33.timeline"), of("or-2.timeline")), (None, None, None));
        assert_eq!((of("a.or-2.timeline"), of("a.on-v1.33.or-12.timeline")), (Some(Some(2)), Some(Some(12))));
        assert_eq!(
            (of("a.or-1.timeline"), of("a.or-02.timeline"), of("a.or-x.timeline")),
            (Some(None), Some(None), Some(None))
        );
        assert_eq!(before(Path::new("x/a.or-3.timeline")), Path::new("x/a.or-2.timeline"));
        assert_eq!(before(Path::new("x/a.on-v1.33.or-2.timeline")), Path::new("x/a.on-v1.33.timeline"));
    }
}
