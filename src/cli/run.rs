//! `toolbatch run` and `toolbatch watch`.

use uuid::{NoContext, Timestamp, Uuid};

use super::{
    args::{ClientArgs, RunArgs, ServerArgs},
    connect::{self, Link},
    exit::{Exit, Failure},
    follow::{End, Follow, Start},
    input,
    interrupt::{Either, unless_interrupted},
    render::Form,
};
use crate::{
    clock::Clock,
    proto::{BatchMode, BatchStatus, ExecuteBatchRequest},
};

/// Runs a batch from a file.
pub(crate) async fn run(args: &RunArgs) -> Result<Exit, Failure> {
    let request = request(args)?;
    let again = format!("run {} --task {} --batch-id {}", args.file.display(), request.task_id, request.batch_id);
    let start = Start::Execute(Box::new(request));
    let form = Form::choose(args.client.json);
    let hint = if args.plan { Hint::Nothing } else { Hint::Batch { again: Some(again) } };
    session(&args.client, start, form, hint).await
}

/// Watches a batch that was started elsewhere.
pub(crate) async fn watch(batch: &str, after: u64, client: &ClientArgs) -> Result<Exit, Failure> {
    let start = Start::Watch { batch_id: batch.to_owned(), after };
    session(client, start, Form::choose(client.json), Hint::Batch { again: None }).await
}

/// What a person can do when the batch goes on without them.
enum Hint {
    /// A plan leaves nothing behind.
    Nothing,
    /// Watch the batch. Where it is not certain that it began, the same command can be given again.
    Batch { again: Option<String> },
}

async fn session(client: &ClientArgs, start: Start, form: Form, hint: Hint) -> Result<Exit, Failure> {
    let batch_id = match &start {
        Start::Execute(request) => request.batch_id.clone(),
        Start::Watch { batch_id, .. } => batch_id.clone(),
    };
    let link = match unless_interrupted(Link::open(&client.server)).await? {
        Either::Ended(link) => link?,
        Either::Interrupted => return Err(Failure::Interrupted("interrupted; nothing was sent".to_owned())),
    };
    let mut show = form.show(true);
    let mut follow = Follow::new(&link, start);
    let ended = unless_interrupted(follow.until_end(show.as_mut())).await?;
    let last = follow.last();
    drop(show);
    match ended {
        Either::Ended(Ok(end)) => Ok(exit(&end)),
        Either::Ended(Err(Failure::Unreachable(why))) => {
            Err(Failure::Unreachable(format!("{why}{}", hint.text(link.server(), &batch_id, last))))
        }
        Either::Ended(Err(failure)) => Err(failure),
        Either::Interrupted => {
            Err(Failure::Interrupted(format!("interrupted{}", hint.text(link.server(), &batch_id, last))))
        }
    }
}

impl Hint {
    fn text(&self, server: &ServerArgs, batch_id: &str, last: u64) -> String {
        match self {
            Self::Nothing => String::new(),
            Self::Batch { again: Some(again) } if last == 0 => format!(
                "\nWhether batch {batch_id} began is not known. To go on with it, or to start it, in any case once:\n  {}",
                connect::command(server, again)
            ),
            Self::Batch { .. } => format!(
                "\nBatch {batch_id} goes on without you. To watch it:\n  {}",
                connect::command(server, &format!("watch {batch_id} --after {last}"))
            ),
        }
    }
}

/// The request of the file, with what the command line says instead.
fn request(args: &RunArgs) -> Result<ExecuteBatchRequest, Failure> {
    let mut request = input::batch(&args.file)?;
    let new_id = || {
        let (seconds, nanos) = unix_time();
        Uuid::new_v7(Timestamp::from_unix(NoContext, seconds, nanos)).to_string()
    };
    request.task_id = args.task.clone().unwrap_or_else(|| format!("cli-{}", new_id()));
    request.batch_id = args.batch_id.clone().unwrap_or_else(new_id);
    request.agent_id = args.agent.clone().unwrap_or_default();
    request.validate_only = args.plan;
    let options = request.options.get_or_insert_default();
    if let Some(parallel) = args.parallel {
        options.mode = BatchMode::Parallel.into();
        options.max_concurrency = parallel;
    }
    if let Some(path) = &args.serialize_on {
        options.serialize_on.clone_from(path);
    }
    if args.keep_going {
        options.stop_on_error = Some(false);
    }
    Ok(request)
}

/// Seconds and nanoseconds since 1970.
fn unix_time() -> (u64, u32) {
    let nanos = Clock::start().now().wall.0;
    let part = |value: i64| u64::try_from(value).unwrap_or(0);
    (part(nanos / 1_000_000_000), u32::try_from(nanos % 1_000_000_000).unwrap_or(0))
}

/// What a batch's end means as an exit code.
pub(crate) fn exit(end: &End) -> Exit {
    match end {
        End::Planned(planned) if planned.calls.iter().all(|call| call.error.is_none()) => Exit::Done,
        End::Planned(_) => Exit::Unsuccessful,
        End::Finished(summary) => match BatchStatus::try_from(summary.status) {
            Ok(BatchStatus::Completed) => Exit::Done,
            Ok(BatchStatus::Partial | BatchStatus::Failed | BatchStatus::Running | BatchStatus::Unspecified)
            | Err(_) => Exit::Unsuccessful,
        },
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::{
        cli::args::{Command, CommandLine},
        proto::{BatchPlanned, BatchSummary, CallError, PlannedCall},
    };

    fn run_args(file: &std::path::Path, more: &[&str]) -> RunArgs {
        let file = file.display().to_string();
        let words = ["toolbatch", "run", &file].into_iter().chain(more.iter().copied());
        let Command::Run(args) = CommandLine::try_parse_from(words).unwrap().command else { panic!("not run") };
        *args
    }

    fn file(text: &str) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        file
    }

    #[test]
    fn the_command_line_overrides_the_file() {
        let file = file(r#"{"calls":[],"mode":"sequential","stop_on_error":true}"#);
        let more = ["--task", "T", "--batch-id", "B", "--agent", "A", "--plan", "--parallel", "8"];
        let args = run_args(file.path(), &[&more[..], &["--serialize-on", "a.b", "--keep-going"]].concat());
        let request = request(&args).unwrap();
        assert_eq!((request.task_id.as_str(), request.batch_id.as_str(), request.agent_id.as_str()), ("T", "B", "A"));
        assert!(request.validate_only);
        let options = request.options.unwrap();
        assert_eq!((options.mode, options.max_concurrency), (BatchMode::Parallel.into(), 8));
        assert_eq!((options.serialize_on.as_str(), options.stop_on_error), ("a.b", Some(false)));
    }

    #[test]
    fn task_and_batch_get_new_ids_where_none_is_given() {
        let file = file(r#"{"calls":[]}"#);
        let one = request(&run_args(file.path(), &[])).unwrap();
        let other = request(&run_args(file.path(), &[])).unwrap();
        let id = Uuid::parse_str(&one.batch_id).unwrap();
        assert_eq!(id.get_version_num(), 7);
        assert!(id.get_timestamp().unwrap().to_unix().0 > 1_700_000_000);
        assert!(one.task_id.starts_with("cli-"));
        assert_ne!((one.task_id, one.batch_id), (other.task_id, other.batch_id));
    }

    #[test]
    fn whoever_leaves_is_told_how_to_go_on() {
        let begun = Hint::Batch { again: Some("run f.json --task T --batch-id B".into()) };
        let default = ServerArgs::at(connect::DEFAULT_SERVER);
        assert_eq!(
            begun.text(&default, "B", 7),
            "\nBatch B goes on without you. To watch it:\n  toolbatch watch B --after 7"
        );
        assert_eq!(
            begun.text(&ServerArgs { tenant: Some("acme".into()), ..ServerArgs::at("unix:/run/t.sock") }, "B", 0),
            "\nWhether batch B began is not known. To go on with it, or to start it, in any case once:\n  \
             toolbatch run f.json --task T --batch-id B --server unix:/run/t.sock --tenant acme"
        );
        let watched = Hint::Batch { again: None };
        assert!(watched.text(&default, "B", 0).ends_with("toolbatch watch B --after 0"));
        assert_eq!(Hint::Nothing.text(&default, "B", 1), "");
    }

    #[test]
    fn the_exit_code_follows_the_end() {
        let finished = |status: BatchStatus| {
            exit(&End::Finished(BatchSummary { status: status.into(), ..BatchSummary::default() })).code()
        };
        assert_eq!(
            [BatchStatus::Completed, BatchStatus::Partial, BatchStatus::Failed, BatchStatus::Unspecified].map(finished),
            [0, 1, 1, 1]
        );
        let planned = |error| {
            let calls = vec![PlannedCall::default(), PlannedCall { error, ..PlannedCall::default() }];
            exit(&End::Planned(BatchPlanned { calls })).code()
        };
        assert_eq!((planned(None), planned(Some(CallError::default()))), (0, 1));
    }
}
