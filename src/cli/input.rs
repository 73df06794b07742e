//! Reads the files of `toolbatch run` and `toolbatch settle`.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

use super::exit::Failure;
use crate::batch_json::{self, Dialect, MAX_BYTES};
use crate::dispatch::MAX_RESULT_BYTES;
use crate::proto::ExecuteBatchRequest;

/// The batch in a file, or on standard input for `-`.
pub(crate) fn batch(file: &Path) -> Result<ExecuteBatchRequest, Failure> {
    let (name, bytes) = if file.as_os_str() == "-" {
        ("standard input".to_owned(), read(io::stdin().lock()))
    } else {
        (file.display().to_string(), File::open(file).and_then(read))
    };
    let bytes = bytes.map_err(|error| Failure::Refused(format!("{name}: cannot be read: {error}")))?;
    parse(&name, &bytes)
}

/// A tool's result in a file, or on standard input for `-`: its text as it is. The server checks it.
pub(crate) fn result(file: &Path) -> Result<String, Failure> {
    let (name, bytes) = if file.as_os_str() == "-" {
        ("standard input".to_owned(), read_result(io::stdin().lock()))
    } else {
        (file.display().to_string(), File::open(file).and_then(read_result))
    };
    let bytes = bytes.map_err(|error| Failure::Refused(format!("{name}: cannot be read: {error}")))?;
    if bytes.len() > MAX_RESULT_BYTES {
        return Err(Failure::Refused(format!(
            "{name}: longer than the {MAX_RESULT_BYTES} bytes that a result can have"
        )));
    }
    String::from_utf8(bytes).map_err(|error| {
        Failure::Refused(format!("{name}: not UTF-8 from byte {} on", error.utf8_error().valid_up_to()))
    })
}

fn read_result(from: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(MAX_RESULT_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// One byte more than is allowed tells that there is more, without reading all of an endless input.
fn read(from: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn parse(name: &str, bytes: &[u8]) -> Result<ExecuteBatchRequest, Failure> {
    if bytes.len() > MAX_BYTES {
        return Err(Failure::Refused(format!(
            "{name}: longer than the {MAX_BYTES} bytes that are read; split the list, or pass large contents by reference"
        )));
    }
    let text = std::str::from_utf8(bytes)
        .map_err(|error| Failure::Refused(format!("{name}: not UTF-8 from byte {} on", error.valid_up_to())))?;
    // Editors on Windows put a byte order mark in front, which is no JSON.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    batch_json::parse(text, Dialect::File).map_err(|error| {
        let lines: Vec<String> = error.to_string().lines().map(|line| format!("{name}: {line}")).collect();
        Failure::Refused(lines.join("\n"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(bytes: &[u8]) -> String {
        let failure = parse("f.json", bytes).unwrap_err();
        assert_eq!(failure.exit().code(), 2);
        failure.to_string()
    }

    #[test]
    fn every_problem_stands_on_a_line_with_the_file() {
        assert_eq!(
            message(br#"{"calls":[{"tool":5},7]}"#),
            "f.json: calls[0].tool: expected a tool's name as a string, found the number 5\n\
             f.json: calls[1]: expected an object {\"tool\", \"args\", \"key\"}, found the number 7"
        );
        assert_eq!(message(b"{\"calls\":[\xff"), "f.json: not UTF-8 from byte 10 on");
        assert!(message(b"{").starts_with("f.json: not valid JSON: "));
    }

    #[test]
    fn a_byte_order_mark_is_passed_over() {
        assert!(parse("f.json", "\u{feff}{\"calls\":[]}".as_bytes()).is_ok());
    }

    #[test]
    fn an_endless_input_is_read_to_the_bound_only() {
        let bytes = read(io::repeat(b' ')).unwrap();
        assert_eq!(bytes.len(), MAX_BYTES + 1);
        assert!(message(&bytes).contains("longer than the 17825792 bytes"));
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let failure = batch(Path::new("/nonexistent/f.json")).unwrap_err();
        assert!(failure.to_string().starts_with("/nonexistent/f.json: cannot be read: "));
    }
}
