//! What the program is made of: nothing that Cargo.lock does not name, and a list of it that is true.

use std::{collections::HashMap, fs, path::Path, process::Command};

use serde_json::Value;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The SBOM, as the command that SECURITY.md names writes it.
fn sbom() -> String {
    let output = Command::new("python3").arg(root().join(".ci/sbom.py")).output().expect("python3 is here");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("it is text")
}

#[test]
fn the_sbom_names_what_is_linked_with_the_checksums_of_the_lock_file() {
    let text = sbom();
    assert_eq!(text, sbom(), "the same sources give the same bytes");
    let bom: Value = serde_json::from_str(&text).expect("it is JSON");
    assert_eq!((&bom["bomFormat"], &bom["specVersion"]), (&"CycloneDX".into(), &"1.6".into()));
    assert_eq!(bom["metadata"]["component"]["version"], env!("CARGO_PKG_VERSION"));

    let lock: toml::Table = read("Cargo.lock").parse().expect("Cargo.lock is TOML");
    let text_of = |entry: &toml::Value, field: &str| entry.get(field).and_then(toml::Value::as_str).map(str::to_owned);
    let locked: HashMap<_, _> = lock["package"]
        .as_array()
        .expect("packages")
        .iter()
        .map(|entry| {
            let purl = format!("pkg:cargo/{}@{}", text_of(entry, "name").unwrap(), text_of(entry, "version").unwrap());
            (purl, text_of(entry, "checksum"))
        })
        .collect();
    let mut scopes = HashMap::new();
    for component in bom["components"].as_array().expect("components") {
        let purl = component["purl"].as_str().expect("a purl");
        let checksum = locked.get(purl).unwrap_or_else(|| panic!("Cargo.lock does not name {purl}"));
        assert_eq!(component["hashes"][0]["content"].as_str(), checksum.as_deref(), "{purl}");
        assert!(component["licenses"][0]["expression"].as_str().is_some_and(|text| !text.contains('/')), "{component}");
        scopes.insert(component["name"].as_str().expect("a name"), component["scope"].as_str().expect("a scope"));
    }
    let scope = |name| scopes.get(name).copied();
    for linked in ["tonic", "h2", "prost", "sled", "jsonschema", "regex"] {
        assert_eq!(scope(linked), Some("required"), "{linked}");
    }
    assert_eq!(scope("protox"), Some("excluded"), "it runs at build time alone");
    assert_eq!((scope("proptest"), scope("criterion")), (None, None), "tests are not delivered");

    let dependencies = bom["dependencies"].as_array().expect("dependencies");
    let refs: Vec<&Value> = dependencies.iter().map(|entry| &entry["ref"]).collect();
    for on in dependencies.iter().flat_map(|entry| entry["dependsOn"].as_array().expect("a list")) {
        assert!(refs.contains(&on), "{on} is depended on, and not described");
    }
}

/// Lines that run cargo in a way that could change Cargo.lock.
fn unlocked(script: &str) -> Vec<&str> {
    let resolves = [
        "cargo build",
        "cargo check",
        "cargo clippy",
        "cargo doc",
        "cargo test",
        "cargo run",
        "cargo metadata",
        "cargo install",
        "\"$deny\"",
    ];
    let is_unlocked = |line: &&str| {
        let code = line.trim_start();
        !code.starts_with('#') && resolves.iter().any(|command| code.contains(command)) && !code.contains("--locked")
    };
    script.lines().filter(is_unlocked).collect()
}

#[test]
fn continuous_integration_never_changes_the_lock_file() {
    assert_eq!(
        unlocked("cargo test\n# cargo test\ncargo test --locked\n  cargo doc x"),
        ["cargo test", "  cargo doc x"]
    );
    for script in ["check", ".ci/run"] {
        assert_eq!(unlocked(&read(script)), [""; 0], "{script}");
    }
    assert!(read(".ci/sbom.py").contains("\"--locked\""));
}
