//! `toolbatch step` and `toolbatch steps`.

use std::{
    io::{self, IsTerminal as _},
    str,
};

use tonic::Status;

use super::{
    args::ClientArgs,
    connect::{Link, answer},
    exit::{Exit, Failure},
    pages::Pages,
    refusal,
    render::{
        Form, error_text, escape, json, print, print_json, status_tone,
        table::{self, Cell},
        tell, words,
    },
};
use crate::proto::{GetStepRequest, ListStepsRequest, ReadStepResultRequest, Step};

/// How often the rest of a result is asked for after the connection broke.
const READ_ATTEMPTS: u32 = 5;

/// Shows one step.
pub(crate) async fn step(step_id: &str, client: &ClientArgs) -> Result<Exit, Failure> {
    let link = Link::open(&client.server).await?;
    let request = GetStepRequest { step_id: step_id.to_owned() };
    let step = answer(link.tasks().get_step(request)).await?.step.unwrap_or_default();
    let form = Form::choose(client.json);
    if let Form::Json { terminal } = form {
        print_json(&json::step(&step), terminal)?;
        return Ok(Exit::Done);
    }
    for line in table::fields(&record(&step), form.palette()) {
        print(&line)?;
    }
    Ok(Exit::Done)
}

fn record(step: &Step) -> Vec<(&'static str, String)> {
    let time = |at: Option<&prost_types::Timestamp>| at.map(ToString::to_string).unwrap_or_default();
    let took = step.start_time.as_ref().zip(step.end_time.as_ref());
    let took = took.map(|(start, end)| words::duration(words::millis_between(start, end)));
    let result = if step.result_json.is_empty() && step.result_bytes > 0 {
        format!("{} bytes: toolbatch step {} --result", step.result_bytes, step.step_id)
    } else {
        step.result_json.clone()
    };
    let usage = step.usage.iter().map(|row| {
        let cost = match row.currency.as_str() {
            "" => String::new(),
            currency => format!(" for {} {currency}", words::nanos(row.cost_nanos.into())),
        };
        format!("{} {}{cost}", row.quantity, row.unit)
    });
    let usage: Vec<String> = usage.collect();
    vec![
        ("step", step.step_id.clone()),
        ("batch", step.parent_step_id.clone()),
        ("index", if step.parent_step_id.is_empty() { String::new() } else { step.index.to_string() }),
        ("task", step.task_id.clone()),
        ("agent", step.agent_id.clone()),
        ("tool", step.tool.clone()),
        ("base tool", if step.base_tool == step.tool { String::new() } else { step.base_tool.clone() }),
        ("backend", step.backend.clone()),
        ("key", step.key.clone()),
        ("status", words::call_status(step.status).into_owned()),
        ("attempts", step.attempts.to_string()),
        ("started", time(step.start_time.as_ref())),
        ("ended", time(step.end_time.as_ref())),
        ("took", took.unwrap_or_default()),
        ("review", step.await_id.clone()),
        ("usage", usage.join(", ")),
        ("trace", step.trace_id.clone()),
        ("error", step.error.as_ref().map(|error| error.message.clone()).unwrap_or_default()),
        ("reason", step.error.as_ref().map(error_text).unwrap_or_default()),
        ("args", step.args_json.clone()),
        ("result", result),
    ]
}

/// Lists a task's steps, oldest first.
pub(crate) async fn steps(task: &str, batch: Option<&str>, limit: u32, client: &ClientArgs) -> Result<Exit, Failure> {
    let link = Link::open(&client.server).await?;
    let form = Form::choose(client.json);
    let mut pages = Pages::new(limit);
    let mut rows = Vec::new();
    while let Some((page_size, page_token)) = pages.next() {
        let parent_step_id = batch.unwrap_or_default().to_owned();
        let request = ListStepsRequest { task_id: task.to_owned(), parent_step_id, page_size, page_token };
        let page = answer(link.tasks().list_steps(request)).await?;
        for step in &pages.take(page.steps, page.next_page_token) {
            match form {
                Form::Json { terminal } => print_json(&json::step(step), terminal)?,
                Form::Plain | Form::Terminal { .. } => rows.push(row(step)),
            }
        }
    }
    pages.finish(form, &["STEP", "BATCH", "#", "TOOL", "KEY", "STATUS", "STARTED", "ERROR"], rows)
}

fn row(step: &Step) -> Vec<Cell> {
    vec![
        Cell::new(&step.step_id),
        Cell::new(&step.parent_step_id),
        Cell::new(if step.parent_step_id.is_empty() { String::new() } else { step.index.to_string() }),
        Cell::new(&step.tool),
        Cell::new(&step.key),
        Cell::toned(words::call_status(step.status), status_tone(step.status)),
        Cell::new(step.start_time.as_ref().map(ToString::to_string).unwrap_or_default()),
        Cell::new(step.error.as_ref().map(error_text).unwrap_or_default()),
    ]
}

/// Writes a step's result to standard output: its bytes as they are, but for a terminal, where harmful characters are
/// written as JSON escapes.
pub(crate) async fn result(step_id: &str, client: &ClientArgs) -> Result<Exit, Failure> {
    let link = Link::open(&client.server).await?;
    let stdout = io::stdout();
    let mut sink = if stdout.is_terminal() { Sink::Terminal { held: Vec::new() } } else { Sink::Raw };
    let mut offset = 0;
    let mut attempts = 0;
    loop {
        let before = offset;
        match copy(&link, step_id, &mut offset, |chunk| sink.write(&mut stdout.lock(), chunk)).await {
            Ok(()) => break,
            Err(Broken::Status(status)) if refusal::is_lost(&status) => {
                attempts = if offset > before { 1 } else { attempts + 1 };
                if attempts > READ_ATTEMPTS {
                    return Err(refusal::failure(&status));
                }
            }
            Err(Broken::Status(status)) => return Err(refusal::failure(&status)),
            Err(Broken::Output(error)) => return Err(error.into()),
        }
    }
    sink.end(&mut stdout.lock())?;
    if offset == 0 {
        tell(&format!("step {step_id} has no result"));
    }
    Ok(Exit::Done)
}

enum Broken {
    Status(Status),
    Output(io::Error),
}

impl From<Status> for Broken {
    fn from(status: Status) -> Self {
        Self::Status(status)
    }
}

/// Copies what is left from `offset` on, and moves it as far as it came.
async fn copy(
    link: &Link,
    step_id: &str,
    offset: &mut u64,
    mut write: impl FnMut(&[u8]) -> io::Result<()>,
) -> Result<(), Broken> {
    let request = ReadStepResultRequest { step_id: step_id.to_owned(), offset: *offset };
    let mut chunks = link.tasks().read_step_result(request).await?.into_inner();
    while let Some(response) = chunks.message().await? {
        write(&response.chunk).map_err(Broken::Output)?;
        *offset += response.chunk.len() as u64;
    }
    Ok(())
}

/// Where a result goes.
enum Sink {
    Raw,
    /// Holds the bytes of a character that a chunk's border cut.
    Terminal {
        held: Vec<u8>,
    },
}

impl Sink {
    fn write(&mut self, out: &mut impl io::Write, chunk: &[u8]) -> io::Result<()> {
        let held = match self {
            Self::Raw => return out.write_all(chunk),
            Self::Terminal { held } => held,
        };
        held.extend_from_slice(chunk);
        let whole = match str::from_utf8(held) {
            Ok(text) => text.len(),
            Err(error) => error.valid_up_to(),
        };
        // A character is at most 4 bytes long; what is longer and still no text never will be.
        let take = if held.len() - whole < 4 { whole } else { held.len() };
        let text = String::from_utf8_lossy(&held[..take]).into_owned();
        held.drain(..take);
        out.write_all(escape::json(&text).as_bytes())
    }

    fn end(self, out: &mut impl io::Write) -> io::Result<()> {
        if let Self::Terminal { held } = self {
            out.write_all(escape::json(&String::from_utf8_lossy(&held)).as_bytes())?;
            out.write_all(b"\n")?;
        }
        out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(mut sink: Sink, chunks: &[&[u8]]) -> Vec<u8> {
        let mut out = Vec::new();
        for chunk in chunks {
            sink.write(&mut out, chunk).unwrap();
        }
        sink.end(&mut out).unwrap();
        out
    }

    #[test]
    fn a_raw_result_keeps_every_byte() {
        let bytes: &[u8] = b"{\"a\": \"\xc2\x9b\xff\"}";
        assert_eq!(written(Sink::Raw, &[&bytes[..8], &bytes[8..]]), bytes);
    }

    #[test]
    fn on_a_terminal_harmful_characters_are_escaped_across_chunks() {
        let text = "\"中\u{9b}2J\u{202e}\"".as_bytes();
        for border in 0..=text.len() {
            let sink = Sink::Terminal { held: Vec::new() };
            let out = written(sink, &[&text[..border], &text[border..]]);
            assert_eq!(String::from_utf8(out).unwrap(), "\"中\\u009b2J\\u202e\"\n", "border {border}");
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_not_held_for_ever() {
        let out = written(Sink::Terminal { held: Vec::new() }, &[b"\xff\xff\xff", b"\xffabc"]);
        assert_eq!(String::from_utf8(out).unwrap(), "\u{fffd}\u{fffd}\u{fffd}\u{fffd}abc\n");
    }
}
