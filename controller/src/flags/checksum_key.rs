//! The key for the checksums of Secrets: the command that makes it, and the flag that reads it.
//!
//! It is made once, when the controller is installed, and kept in a Secret of the controller's
//! namespace, which its pods mount. So the controller needs no right to read or create Secrets
//! there, and an operator needs only kubectl and this program, or openssl:
//!
//! ```text
//! rollout-controller config-restart-key | kubectl create -f -
//! openssl rand 32 | kubectl -n rollout-controller create secret generic config-restart-key --from-file=key=/dev/stdin
//! ```
//!
//! A new key restarts nothing while the old one is present, too, as `previous-key`; the old one can
//! be removed once every workload has been rewritten, which the controller does when it starts.
//!
//! The key is written to standard output only, and not to a terminal. No log contains it.

use std::io::{IsTerminal, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use ring::rand::{SecureRandom, SystemRandom};
use rollout_controller::{ChecksumKeys, SecretChecksums};
use serde_json::{Value, json};

use super::launch::namespace;

/// The Secret and its keys.
const NAME: &str = "config-restart-key";
const KEY: &str = "key";
const PREVIOUS: &str = "previous-key";
/// Bytes of a new key.
const BYTES: usize = 32;

#[derive(Debug, clap::Args)]
#[group(skip)]
pub(crate) struct KeyFlags {
    /// Folder with the key for the checksums of Secrets, a mounted Secret: the file `key`, and
    /// after a rotation `previous-key`; without it only ConfigMaps restart workloads
    #[arg(long, value_name = "FOLDER")]
    secret_checksum_keys: Option<PathBuf>,
}

/// Prints a Secret with a new key for the checksums of Secrets: `config-restart-key | kubectl
/// create -f -`.
#[derive(Debug, clap::Args)]
pub(crate) struct NewKey {
    /// The controller's namespace
    #[arg(long, value_name = "NAMESPACE", default_value = "rollout-controller", value_parser = namespace)]
    namespace: String,
    /// Read the Secret from standard input, as JSON, and keep its key as the previous one: `kubectl
    /// -n rollout-controller get secret config-restart-key -o json | ... --rotate | kubectl replace
    /// -f -`
    #[arg(long)]
    rotate: bool,
}

impl KeyFlags {
    /// Reads the keys, if there are any.
    pub(crate) fn read(&self) -> anyhow::Result<SecretChecksums> {
        let Some(folder) = &self.secret_checksum_keys else { return Ok(SecretChecksums::None) };
        ensure!(folder.is_dir(), "--secret-checksum-keys={} is not a folder", folder.display());
        let (key, previous) = (file(folder, KEY)?, file(folder, PREVIOUS)?);
        let Some(key) = key else {
            ensure!(previous.is_none(), "{} has a `{PREVIOUS}` and no `{KEY}`", folder.display());
            return Ok(SecretChecksums::None);
        };
        let keys = ChecksumKeys::new(&key, previous.as_deref());
        Ok(SecretChecksums::Keyed(keys.with_context(|| format!("cannot use the keys in {}", folder.display()))?))
    }
}

fn file(folder: &Path, name: &str) -> anyhow::Result<Option<Vec<u8>>> {
    let path = folder.join(name);
    match std::fs::read(&path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}

impl NewKey {
    /// Makes the key and prints the Secret.
    pub(crate) fn print(&self) -> anyhow::Result<()> {
        let mut out = std::io::stdout();
        ensure!(!out.is_terminal(), "a key is not shown on a terminal; add `| kubectl create -f -`");
        let mut random = [0; BYTES];
        SystemRandom::new().fill(&mut random).ok().context("the system has no random bytes")?;
        let before = self.rotate.then(|| std::io::read_to_string(std::io::stdin().take(1 << 20))).transpose();
        let secret = self.secret(&random, before.context("cannot read standard input")?.as_deref())?;
        writeln!(out, "{secret:#}").context("cannot write the Secret")
    }

    /// The Secret with a key of these bytes; `before` is the Secret that it replaces.
    fn secret(&self, random: &[u8; BYTES], before: Option<&str>) -> anyhow::Result<Value> {
        let hex: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        let metadata = json!({
            "name": NAME,
            "namespace": self.namespace,
            "labels": {"app.kubernetes.io/name": "rollout-controller-config-restart"},
        });
        let mut secret = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "Opaque", "stringData": {KEY: hex},
        });
        if let Some(before) = before {
            // The parser's error would quote its input.
            let Ok(before) = serde_json::from_str::<Value>(before) else {
                bail!("standard input is not JSON: pipe `kubectl get secret {NAME} -o json` into this")
            };
            let key = before["data"][KEY].as_str().filter(|_| before["kind"] == "Secret");
            let Some(key) = key else { bail!("standard input is not a Secret with a `{KEY}`") };
            secret["metadata"]["name"] = before["metadata"]["name"].clone();
            secret["metadata"]["namespace"] = before["metadata"]["namespace"].clone();
            secret["data"] = json!({PREVIOUS: key});
        }
        Ok(secret)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use rstest::rstest;

    use super::*;

    #[derive(Debug, Parser)]
    struct Program {
        #[command(flatten)]
        keys: KeyFlags,
    }

    #[derive(Debug, Parser)]
    struct Maker {
        #[command(flatten)]
        key: NewKey,
    }

    /// A folder that is removed after the test.
    struct Folder(PathBuf);

    impl Folder {
        fn with(name: &str, files: &[(&str, &str)]) -> Self {
            let path = std::env::temp_dir().join(format!("checksum-key-{}-{name}", std::process::id()));
            std::fs::create_dir_all(&path).unwrap();
            files.iter().for_each(|(name, text)| std::fs::write(path.join(name), text).unwrap());
            Self(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            std::fs::remove_dir_all(&self.0).ok();
        }
    }

    fn read(folder: &Path) -> Result<String, String> {
        let flag = format!("--secret-checksum-keys={}", folder.display());
        let program = Program::try_parse_from(["rollout-controller", &flag]).unwrap();
        program.keys.read().map(|keys| format!("{keys:?}")).map_err(|error| format!("{error:#}"))
    }

    const ONE: &str = "one key that is long enough for a test";
    const TWO: &str = "and another one, which is long enough, too";

    #[test]
    fn keys_are_read_and_never_shown() {
        let folder = Folder::with("both", &[("key", ONE), ("previous-key", TWO)]);
        let shown = read(&folder.0).unwrap();
        let (one, two) = (ChecksumKeys::new(ONE.as_bytes(), None), ChecksumKeys::new(TWO.as_bytes(), None));
        let ids = [one.unwrap().id().to_owned(), two.unwrap().id().to_owned()];
        assert!(ids.iter().all(|id| shown.contains(id)), "{shown}");
        assert!(!shown.contains("enough") && !shown.contains("101"), "{shown}");
    }

    #[rstest]
    #[case::empty(&[], Ok("None"))]
    #[case::short(&[("key", "guessed")], Err("the key has 7 bytes; at least 32 random ones are needed"))]
    #[case::short_before(&[("key", ONE), ("previous-key", "x")], Err("the previous key has 1 bytes"))]
    #[case::only_the_previous(&[("previous-key", ONE)], Err("has a `previous-key` and no `key`"))]
    fn invalid_keys_are_refused(#[case] files: &[(&str, &str)], #[case] expected: Result<&str, &str>) {
        let name: String =
            files.iter().flat_map(|(name, text)| [*name, *text]).map(|text| text.len().to_string()).collect();
        let folder = Folder::with(&name, files);
        match (read(&folder.0), expected) {
            (Ok(keys), Ok(expected)) => assert_eq!(keys, expected),
            (Err(error), Err(expected)) => assert!(error.contains(expected), "{error}"),
            (read, _) => panic!("{read:?}"),
        }
    }

    #[test]
    fn missing_folder_is_refused() {
        let error = read(Path::new("/nowhere/at-all")).unwrap_err();
        assert_eq!(error, "--secret-checksum-keys=/nowhere/at-all is not a folder");
        assert_eq!(Program::try_parse_from(["x"]).unwrap().keys.read().unwrap(), SecretChecksums::None);
    }

    fn new_secret(arguments: &[&str], before: Option<&str>) -> Result<Value, String> {
        let maker = Maker::try_parse_from([&["x"], arguments].concat()).unwrap();
        maker.key.secret(&[7; BYTES], before).map_err(|error| error.to_string())
    }

    #[test]
    fn new_key_is_a_secret_in_the_controllers_namespace() {
        let secret = new_secret(&[], None).unwrap();
        assert_eq!(
            (&secret["kind"], &secret["metadata"]["namespace"]),
            (&json!("Secret"), &json!("rollout-controller"))
        );
        let key = secret["stringData"]["key"].as_str().unwrap();
        assert_eq!(key, "07".repeat(32));
        assert!(ChecksumKeys::new(key.as_bytes(), None).is_ok());
        assert_eq!(new_secret(&["--namespace=elsewhere"], None).unwrap()["metadata"]["namespace"], "elsewhere");
    }

    #[test]
    fn rotation_keeps_the_previous_key() {
        let before = json!({"kind": "Secret", "metadata": {"name": "k", "namespace": "ns"}, "data": {"key": "b25l"}});
        let secret = new_secret(&["--rotate"], Some(&before.to_string())).unwrap();
        assert_eq!(secret["data"], json!({"previous-key": "b25l"}));
        assert_eq!((&secret["metadata"]["name"], &secret["metadata"]["namespace"]), (&json!("k"), &json!("ns")));
        assert_eq!(new_secret(&["--rotate"], Some("{}")).unwrap_err(), "standard input is not a Secret with a `key`");
        let error = new_secret(&["--rotate"], Some("b25l")).unwrap_err();
        assert!(error.starts_with("standard input is not JSON") && !error.contains("b25l"), "{error}");
    }
}
