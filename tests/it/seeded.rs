//! The bugs that are there on purpose (src/seeded.rs) are in no build that nobody asked to have them.

use std::fs;

#[test]
fn the_program_has_no_seeded_bugs() {
    let program = fs::read(env!("CARGO_BIN_EXE_toolbatch")).expect("the program can be read");
    let text = String::from_utf8_lossy(&program);
    assert!(text.contains("TOOLBATCH_LOG"), "what it reads from its environment stands in it");
    assert!(!text.contains("TOOLBATCH_SEEDED_BUG"), "it asks for a bug, and was built without the feature");
}
