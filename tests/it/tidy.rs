//! What the compiler and clippy do not check: the size of files, which layer may know of which, names, leftovers, and that
//! the lists in the documents are true. Every rule is a function from a source to its findings, tested on a source that
//! breaks it, then run over the project.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

mod source;

use source::Source;

/// A file does one thing; past this it does two.
const FILE_MAX: usize = 500;
/// Tests repeat their setting; past this a file covers more than one subject.
const TEST_FILE_MAX: usize = 800;

/// A part of `src/`, what it must not know of, and why.
struct Layer {
    part: &'static str,
    never: &'static [&'static str],
    reason: &'static str,
}

const LAYERS: [Layer; 8] = [
    Layer {
        part: "src/batch/",
        never: &[
            "tokio",
            "tokio_stream",
            "tokio_util",
            "futures_util",
            "tonic",
            "tonic_types",
            "prost",
            "prost_types",
            "sled",
            "std::fs",
            "std::net",
            "std::io",
            "std::env",
            "std::thread",
            "std::process",
            "std::time::Instant",
            "std::time::SystemTime",
            "crate::clock::Clock",
            "crate::proto",
            "crate::store",
            "crate::dispatch",
            "crate::engine",
            "crate::service",
            "crate::config",
            "crate::cli",
        ],
        reason: "the core is pure and synchronous, so that live running, recovery and simulation are one fold",
    },
    Layer {
        part: "src/json/",
        never: &[
            "tokio",
            "tonic",
            "prost",
            "sled",
            "std::fs",
            "std::net",
            "crate::proto",
            "crate::store",
            "crate::engine",
        ],
        reason: "JSON text in, JSON text out",
    },
    Layer {
        part: "src/store/",
        never: &[
            "tonic",
            "tonic_types",
            "tonic_health",
            "crate::proto",
            "crate::dispatch",
            "crate::engine",
            "crate::service",
            "crate::cli",
        ],
        reason: "a store keeps records; what they are for is the engine's business, and its errors are its own",
    },
    Layer {
        part: "src/dispatch/",
        never: &["sled", "crate::engine", "crate::service", "crate::cli"],
        reason: "dispatch carries one attempt of one call; it knows neither batches nor how they are kept",
    },
    Layer {
        part: "src/engine/",
        never: &["tonic", "tonic_types", "tonic_health", "sled", "crate::proto", "crate::service", "crate::cli"],
        reason: "the engine speaks the core's types; gRPC is the edges' business, and sled the store's",
    },
    Layer {
        part: "src/listen/",
        never: &["sled", "prost", "crate::proto", "crate::store", "crate::engine", "crate::service", "crate::cli"],
        reason: "the listener drives connections, whatever is asked on them",
    },
    Layer {
        part: "src/service/",
        never: &["sled", "crate::cli"],
        reason: "the service translates; state is reached through the engine's handle",
    },
    Layer {
        part: "src/config/",
        never: &["tonic", "sled", "crate::store", "crate::engine", "crate::service", "crate::cli"],
        reason: "a configuration is a value",
    },
];

/// Names that say nothing about what is inside, so that anything ends up there.
const EMPTY_NAMES: [&str; 9] =
    ["util", "utils", "common", "manager", "managers", "helper", "helpers", "misc", "shared"];

/// Marks of unfinished work in comments.
const MARKS: [&str; 3] = ["TODO", "FIXME", "XXX"];

/// Macros that are left over from writing.
const LEFTOVERS: [&str; 3] = ["dbg", "todo", "unimplemented"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every file below a folder of the project, in order; none where there is no such folder.
fn files_below(folder: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries {
            let path = entry.expect("the folder can be read").path();
            let generated = ["target", "node_modules", "__pycache__"].iter().any(|name| path.ends_with(name));
            if path.is_dir() && !generated {
                folders.push(path);
            } else if path.is_file() {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Every file below a folder that git has or would take: neither what a language's tools left there, nor generated stubs.
fn written_below(folder: &str) -> Vec<PathBuf> {
    let list = ["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", folder];
    let listed = Command::new("git").args(list).current_dir(root()).output().expect("git runs");
    assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
    let names = String::from_utf8(listed.stdout).expect("names are UTF-8");
    let stubs = ["/gen/", "/toolbatch/v1/", "/toolbatchv1/"];
    let written = names.split_terminator('\0').filter(|name| !stubs.iter().any(|stub| name.contains(stub)));
    written.map(|name| root().join(name)).filter(|path| path.is_file()).collect()
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn relative(path: &Path) -> String {
    path.strip_prefix(root()).expect("the walk began at the root").display().to_string()
}

/// The Rust sources of the project; files that only tests use are marked as such.
fn sources() -> Vec<Source> {
    let rust = |folder| files_below(folder).into_iter().filter(|path| path.extension().is_some_and(|end| end == "rs"));
    let paths: Vec<_> = rust("src").chain(rust("tests")).chain(rust("benches")).collect();
    assert!(paths.iter().any(|path| path.ends_with("src/lib.rs")), "the walk found no src/lib.rs");
    let mut sources: Vec<_> = paths.iter().map(|path| Source::new(&relative(path), &read(path))).collect();
    let test_modules: Vec<_> = sources.iter().flat_map(Source::test_modules).collect();
    for source in &mut sources {
        source.only_tests |= test_modules
            .iter()
            .any(|module| source.path == format!("{module}.rs") || source.path.starts_with(&format!("{module}/")));
    }
    sources
}

/// Fails with all findings, one a line.
fn assert_none(findings: impl IntoIterator<Item = String>) {
    let findings: Vec<_> = findings.into_iter().collect();
    assert!(findings.is_empty(), "{} to mend:\n{}", findings.len(), findings.join("\n"));
}

fn too_long(source: &Source) -> Vec<String> {
    let (lines, most) = if source.only_tests {
        (source.text.lines().count(), TEST_FILE_MAX)
    } else {
        (source.lines_without_tests(), FILE_MAX)
    };
    let found = (lines > most)
        .then(|| format!("{}: {lines} lines without tests; at most {most}: split it by what it does", source.path));
    found.into_iter().collect()
}

fn breaks_layers(source: &Source) -> Vec<String> {
    let mut found = Vec::new();
    for layer in LAYERS.iter().filter(|layer| source.path.starts_with(layer.part)) {
        for (line, path) in source.paths() {
            if layer.never.iter().any(|never| source::begins_with(&path, never)) {
                found.push(format!("{}:{line}: `{path}` in {}: {}", source.path, layer.part, layer.reason));
            }
        }
    }
    if source.path.starts_with("src/batch/") {
        for (line, word) in source.words().into_iter().filter(|(_, word)| ["async", "await"].contains(&word.as_str())) {
            found.push(format!("{}:{line}: `{word}` in src/batch/: the core waits for nothing", source.path));
        }
    }
    found
}

fn uses_anyhow_inside(source: &Source) -> Vec<String> {
    let allowed = ["src/main.rs", "src/cli", "src/config", "src/telemetry.rs"];
    if !source.path.starts_with("src/") || allowed.iter().any(|part| source.path.starts_with(part)) {
        return Vec::new();
    }
    let uses = source.paths().into_iter().filter(|(_, path)| source::begins_with(path, "anyhow"));
    uses.map(|(line, path)| {
        format!("{}:{line}: `{path}`: a module has its own `Error`; anyhow is for the wiring", source.path)
    })
    .collect()
}

fn makes_a_status(source: &Source) -> Vec<String> {
    // In dispatch a Status stands for what a backend answered; it becomes an outcome and reaches no client.
    let allowed = ["src/service/status.rs", "src/cli", "src/dispatch/"];
    if !source.path.starts_with("src/") || allowed.iter().any(|part| source.path.starts_with(part)) {
        return Vec::new();
    }
    let makers = source.paths().into_iter().filter(|(_, path)| {
        let mut segments = path.rsplit("::");
        let (last, before) = (segments.next(), segments.next());
        let is_function = |name: &str| name.starts_with(|first: char| first.is_ascii_lowercase());
        // `from_header_map` reads one that was made before.
        before == Some("Status") && last.is_some_and(|name| is_function(name) && name != "from_header_map")
    });
    makers
        .map(|(line, path)| {
            format!(
                "{}:{line}: `{path}`: only src/service/status.rs makes a Status, so that every one has its details",
                source.path
            )
        })
        .collect()
}

fn has_an_empty_name(source: &Source) -> Vec<String> {
    let in_path = source.path.split('/').map(|part| part.trim_end_matches(".rs")).map(|name| (1, name));
    let in_code = source.module_names();
    in_path
        .chain(in_code)
        .filter(|(_, name)| EMPTY_NAMES.contains(name))
        .map(|(line, name)| format!("{}:{line}: `{name}` says nothing; name it for what it does", source.path))
        .collect()
}

fn is_unfinished(source: &Source) -> Vec<String> {
    let marks = source.comment_words().into_iter().filter(|(_, word)| MARKS.contains(word));
    let marks =
        marks.map(|(line, word)| format!("{}:{line}: {word} in a comment: do it, or file an issue", source.path));
    let leftovers = source.macros().into_iter().filter(|(_, name)| LEFTOVERS.contains(name));
    let leftovers = leftovers.map(|(line, name)| format!("{}:{line}: {name}! is left over", source.path));
    marks.chain(leftovers).collect()
}

/// For every text of the project, whatever its language.
fn is_ragged(path: &str, text: &str) -> Vec<String> {
    let mut found: Vec<_> = text
        .split('\n')
        .enumerate()
        .filter(|(_, line)| line.ends_with([' ', '\t', '\r']))
        .map(|(index, _)| format!("{path}:{}: white space at the line's end", index + 1))
        .collect();
    if !text.is_empty() && (!text.ends_with('\n') || text.ends_with("\n\n")) {
        found.push(format!("{path}: a file ends with exactly one line break"));
    }
    found
}

#[test]
fn files_do_one_thing() {
    assert_none(sources().iter().flat_map(too_long));
}

#[test]
fn layers_know_only_what_is_below_them() {
    assert_none(sources().iter().filter(|source| !source.only_tests).flat_map(breaks_layers));
}

#[test]
fn anyhow_stays_in_the_wiring() {
    assert_none(sources().iter().filter(|source| !source.only_tests).flat_map(uses_anyhow_inside));
}

#[test]
fn only_one_file_makes_a_status() {
    assert_none(sources().iter().filter(|source| !source.only_tests).flat_map(makes_a_status));
}

#[test]
fn names_say_something() {
    assert_none(sources().iter().flat_map(has_an_empty_name));
}

#[test]
fn nothing_is_unfinished() {
    assert_none(sources().iter().flat_map(is_unfinished));
}

#[test]
fn texts_have_clean_lines() {
    let top = fs::read_dir(root()).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_file());
    let below = ["src", "tests", "benches", "proto", "docs", ".ci"].into_iter().flat_map(files_below);
    let texts = top.chain(below).chain(written_below("clients")).filter(|path| {
        let end = path.extension().and_then(|end| end.to_str());
        matches!(end, None | Some("rs" | "proto" | "toml" | "md" | "yaml" | "yml" | "sh" | "py" | "ts" | "go" | "java"))
    });
    assert_none(texts.flat_map(|path| match fs::read_to_string(&path) {
        Ok(text) => is_ragged(&relative(&path), &text),
        Err(error) => vec![format!("{}: {error}", relative(&path))],
    }));
}

#[test]
fn every_decision_is_linked() {
    let index = read(&root().join("docs/adr/README.md"));
    let records: Vec<_> = files_below("docs/adr").into_iter().filter(|path| !path.ends_with("README.md")).collect();
    assert!(!records.is_empty(), "docs/adr/ holds no records");
    assert_none(records.iter().filter_map(|path| {
        let name = path.file_name().unwrap().to_str().unwrap();
        (!index.contains(&format!("]({name})"))).then(|| format!("docs/adr/README.md does not link {name}"))
    }));
}

/// The direct dependencies of Cargo.toml, and the versions that it asks for.
fn dependencies() -> BTreeMap<String, String> {
    let manifest: toml::Table = read(&root().join("Cargo.toml")).parse().expect("Cargo.toml is TOML");
    let tables = ["dependencies", "build-dependencies", "dev-dependencies"];
    let entries = tables.iter().filter_map(|table| manifest.get(*table)?.as_table()).flatten();
    entries
        .map(|(name, value)| {
            let version = value.as_str().or_else(|| value.get("version")?.as_str());
            (name.clone(), version.unwrap_or_else(|| panic!("{name} has no version")).to_owned())
        })
        .collect()
}

#[test]
fn every_dependency_is_explained() {
    let document = read(&root().join("docs/dependencies.md"));
    let rows = document.lines().filter_map(|line| line.strip_prefix("| `")).map(|row| {
        let mut cells = row.split('|').map(|cell| cell.trim().trim_end_matches('`'));
        (cells.next().unwrap_or_default().to_owned(), cells.next().unwrap_or_default().to_owned())
    });
    let explained: BTreeSet<_> = rows.collect();
    let asked_for: BTreeSet<_> = dependencies().into_iter().collect();
    let missing = asked_for.difference(&explained).map(|(name, version)| {
        format!("docs/dependencies.md lacks a row \"| `{name}` | {version} | ...\": say what it is for, and why not own code")
    });
    let gone = explained.difference(&asked_for).map(|(name, version)| {
        format!("docs/dependencies.md has `{name}` {version}, which Cargo.toml does not ask for")
    });
    assert_none(missing.chain(gone));
}

/// The names in backquotes of a table's last column.
fn tests_of_rows(document: &str) -> Vec<&str> {
    let last_cells =
        document.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |")?.rsplit(" | ").next());
    last_cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect()
}

#[test]
fn every_row_of_the_security_policy_has_its_tests() {
    let document = read(&root().join("SECURITY.md"));
    let code: Vec<String> = ["src", "tests"].into_iter().flat_map(files_below).map(|path| read(&path)).collect();
    let named = tests_of_rows(&document);
    assert!(named.len() > 30, "{named:?}");
    assert_none(named.into_iter().filter_map(|name| {
        let wanted = format!("fn {name}(");
        (!code.iter().any(|text| text.contains(&wanted))).then(|| format!("SECURITY.md names {name}, which is no test"))
    }));
}

/// Each rule finds what it is for, with its line, and lets everything else be.
mod rules {
    use super::*;

    fn source(path: &str, text: &str) -> Source {
        Source::new(path, text)
    }

    fn lines(findings: &[String]) -> Vec<&str> {
        findings.iter().map(|finding| finding.split(": ").next().unwrap_or_default()).collect()
    }

    #[test]
    fn too_long_counts_without_tests() {
        let code = "fn f() {}\n".repeat(FILE_MAX);
        let tests = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", "// }\n".repeat(300));
        assert!(too_long(&source("src/a.rs", &(code.clone() + &tests))).is_empty());
        assert_eq!(too_long(&source("src/a.rs", &(code + "fn g() {}\n" + &tests))).len(), 1);
        let test_file = |lines| source("tests/it/a.rs", &"fn f() {}\n".repeat(lines));
        assert!(too_long(&test_file(TEST_FILE_MAX)).is_empty());
        assert_eq!(too_long(&test_file(TEST_FILE_MAX + 1)).len(), 1);
    }

    #[test]
    fn layers_are_found_however_they_are_named() {
        let text = r#"
//! Not tokio::spawn, nor tonic.
use std::{fmt, fs as files, time::{Duration, Instant}};
use crate::{json, store::{Store, Error}};
use super::super::engine::Handle;
fn f() { let _ = "tokio::spawn"; tokio::spawn(g()); }
async fn g() {}
#[cfg(test)]
mod tests { use sled::Db; }
"#;
        let found = breaks_layers(&source("src/batch/inner/a.rs", text));
        let places = ["3", "3", "4", "4", "6", "7"].map(|line| format!("src/batch/inner/a.rs:{line}"));
        assert_eq!(lines(&found), places, "{found:#?}");
        let found = breaks_layers(&source("src/batch/a.rs", "use super::super::engine::Handle;"));
        assert_eq!(lines(&found), ["src/batch/a.rs:1"]);
        assert!(breaks_layers(&source("src/engine/a.rs", "use crate::{batch, store};\nuse tokio::time;")).is_empty());
        assert_eq!(breaks_layers(&source("src/engine/a.rs", "fn f(s: ::tonic::Status) {}")).len(), 1);
    }

    #[test]
    fn anyhow_is_found_inside_only() {
        let text = "fn f() -> anyhow::Result<()> { Ok(()) }";
        assert_eq!(uses_anyhow_inside(&source("src/engine/a.rs", text)).len(), 1);
        assert!(uses_anyhow_inside(&source("src/cli/run.rs", text)).is_empty());
        assert!(uses_anyhow_inside(&source("tests/it/a.rs", text)).is_empty());
    }

    #[test]
    fn a_status_is_found_where_it_is_made() {
        let text = "fn f(s: Status) -> tonic::Status { Status::internal(\"x\") }\nfn g() { BatchStatus::of(1); Status::Ok; Status::from_header_map(h); }";
        assert_eq!(lines(&makes_a_status(&source("src/service/batch.rs", text))), ["src/service/batch.rs:1"]);
        assert!(makes_a_status(&source("src/service/status.rs", text)).is_empty());
    }

    #[test]
    fn tests_are_found_in_the_last_column() {
        let table = "| a | test |\n| --- | --- |\n| `x` | `one`, `two` |\nthe `three` |\n";
        assert_eq!(tests_of_rows(table), ["one", "two"]);
    }

    #[test]
    fn empty_names_are_found_in_paths_and_code() {
        assert_eq!(has_an_empty_name(&source("src/batch/utils.rs", "")).len(), 1);
        assert_eq!(has_an_empty_name(&source("src/helpers/lane.rs", "")).len(), 1);
        assert_eq!(lines(&has_an_empty_name(&source("src/a.rs", "\nmod common {}"))), ["src/a.rs:2"]);
        assert!(has_an_empty_name(&source("src/a.rs", "// mod common\nmod lane;")).is_empty());
    }

    #[test]
    fn unfinished_work_is_found_in_comments_and_code_not_in_strings() {
        let text = "// TODO: this\nfn f() { dbg!(1); }\nconst A: &str = \"TODO dbg!(1)\";\n/* /* FIXME */ */\n// a TODOS list\n";
        let found = is_unfinished(&source("src/a.rs", text));
        assert_eq!(lines(&found), ["src/a.rs:1", "src/a.rs:4", "src/a.rs:2"]);
    }

    #[test]
    fn ragged_lines_are_found() {
        assert_eq!(
            is_ragged("a.md", "x \ny\t\nz"),
            [
                "a.md:1: white space at the line's end",
                "a.md:2: white space at the line's end",
                "a.md: a file ends with exactly one line break"
            ]
        );
        assert_eq!(is_ragged("a.md", "x\n\n").len(), 1);
        assert!(is_ragged("a.md", "x\n").is_empty() && is_ragged("a.md", "").is_empty());
    }
}
