//! `toolbatch store`: check, backup, restore.

use std::{
    path::{self, Path},
    sync::Arc,
    time::Duration,
};

use indicatif::{HumanBytes, HumanCount, ProgressBar};

use super::{
    args::StoreCommand,
    exit::{Exit, Failure},
    render::{Form, print, print_json},
};
use crate::{
    control::{self, Asked},
    store::{
        Embedded, Error,
        check::{self, Checked, Listener},
        embedded,
    },
};

/// How often a progress line is drawn anew.
const DRAW_EVERY: Duration = Duration::from_millis(100);

/// Does what the command says.
pub(crate) async fn store(command: StoreCommand) -> Result<Exit, Failure> {
    match command {
        StoreCommand::Check { dir, json } => off_runtime(move || check(&dir, Form::choose(json))).await,
        StoreCommand::Backup { to, data_dir } => backup(&to, &data_dir).await,
        StoreCommand::Restore { from, dir } => {
            off_runtime(move || {
                let bar = progress_line();
                let copied = embedded::restore(&from, &dir, &mut |bytes| {
                    bar.set_message(format!("{} copied", HumanBytes(bytes)));
                    Ok(())
                });
                bar.finish_and_clear();
                let copied = copied.map_err(refused)?;
                print(&format!("{}: {} restored", dir.display(), HumanBytes(copied.bytes)))?;
                check(&dir, Form::choose(false))
            })
            .await
        }
    }
}

async fn off_runtime(work: impl FnOnce() -> Result<Exit, Failure> + Send + 'static) -> Result<Exit, Failure> {
    let ended = tokio::task::spawn_blocking(work).await;
    ended.unwrap_or_else(|error| Err(Failure::StoreRefused(format!("it ended unexpectedly: {error}"))))
}

async fn backup(to: &Path, data_dir: &Path) -> Result<Exit, Failure> {
    let shown = to.display().to_string();
    let to = path::absolute(to).map_err(|error| Failure::Refused(format!("{shown}: {error}")))?;
    let bar = progress_line();
    let asked = control::ask_for_backup(data_dir, &to, |bytes| {
        bar.set_message(format!("{} copied", HumanBytes(bytes)));
    });
    let asked = asked.await.map_err(|error| {
        Failure::Unreachable(format!("the server of {} cannot be asked for a backup: {error}", data_dir.display()))
    });
    bar.finish_and_clear();
    let bytes = match asked? {
        Asked::Done(bytes) => bytes,
        Asked::Refused(why) => return Err(Failure::Refused(why)),
        Asked::Failed(why) => return Err(Failure::StoreRefused(why)),
        Asked::NoServer => {
            let (to, data_dir) = (to.clone(), data_dir.to_owned());
            let copied = tokio::task::spawn_blocking(move || copy_alone(&data_dir, &to)).await;
            copied.map_err(|error| Failure::StoreRefused(format!("it ended unexpectedly: {error}")))??
        }
    };
    print(&format!("{shown}: {} copied", HumanBytes(bytes)))?;
    off_runtime(move || check(&to, Form::choose(false))).await
}

/// No server runs: this process opens the store itself.
fn copy_alone(data_dir: &Path, to: &Path) -> Result<u64, Failure> {
    if !data_dir.join("STORE").is_file() {
        return Err(Failure::StoreRefused(format!(
            "{} holds no store; name the data_dir of a server with --data-dir",
            data_dir.display()
        )));
    }
    let store = Arc::new(Embedded::open(data_dir).map_err(refused)?);
    let copied = store.snapshot(to, &mut |_| Ok(())).map_err(refused)?;
    Ok(copied.bytes)
}

#[allow(clippy::needless_pass_by_value, reason = "it takes the place of the error")]
fn refused(error: Error) -> Failure {
    match error {
        Error::Refused(_) => Failure::Refused(error.to_string()),
        Error::Full(_)
        | Error::Failed(_)
        | Error::Damaged(_)
        | Error::InUse(_)
        | Error::Newer(_)
        | Error::NotWritable(_)
        | Error::Conflict(_) => Failure::StoreRefused(error.to_string()),
    }
}

/// A line on standard error that shows how far it is, where that is a terminal.
fn progress_line() -> ProgressBar {
    let bar = ProgressBar::new_spinner();
    bar.enable_steady_tick(DRAW_EVERY);
    bar
}

fn check(dir: &Path, form: Form) -> Result<Exit, Failure> {
    let mut told = Told { form, bar: progress_line(), unwritten: None };
    let checked = check::check(dir, &mut told);
    told.bar.finish_and_clear();
    if let Some(error) = told.unwritten {
        return Err(error.into());
    }
    let checked = checked.map_err(refused)?;
    match form {
        Form::Json { terminal } => print_json(&in_json(&checked), terminal)?,
        Form::Plain | Form::Terminal { .. } => print(&in_words(dir, &checked))?,
    }
    Ok(if checked.faults == 0 { Exit::Done } else { Exit::StoreRefused })
}

fn in_json(checked: &Checked) -> String {
    let Checked { records, tasks, batches, steps, blobs, blob_bytes, faults } = checked;
    serde_json::json!({
        "checked": {
            "records": records, "tasks": tasks, "batches": batches, "steps": steps, "blobs": blobs,
            "blob_bytes": blob_bytes, "faults": faults,
        }
    })
    .to_string()
}

fn in_words(dir: &Path, checked: &Checked) -> String {
    let verdict = match checked.faults {
        0 => "whole".to_owned(),
        1 => "1 fault".to_owned(),
        faults => format!("{faults} faults"),
    };
    format!(
        "{}: {verdict}; {} tasks, {} batches, {} steps, {} records, {} blobs of {}",
        dir.display(),
        HumanCount(checked.tasks),
        HumanCount(checked.batches),
        HumanCount(checked.steps),
        HumanCount(checked.records),
        HumanCount(checked.blobs),
        HumanBytes(checked.blob_bytes),
    )
}

/// Shows what a check finds as it goes.
struct Told {
    form: Form,
    bar: ProgressBar,
    /// Standard output is gone.
    unwritten: Option<std::io::Error>,
}

impl Listener for Told {
    fn fault(&mut self, fault: &str) {
        let form = self.form;
        let written = self.bar.suspend(|| match form {
            Form::Json { terminal } => print_json(&serde_json::json!({ "fault": fault }).to_string(), terminal),
            Form::Plain | Form::Terminal { .. } => print(fault),
        });
        if let Err(error) = written {
            self.unwritten.get_or_insert(error);
        }
    }

    fn progress(&mut self, checked: &Checked) {
        let (records, bytes) = (HumanCount(checked.records), HumanBytes(checked.blob_bytes));
        self.bar.set_message(format!("{records} records and {bytes} of results are read"));
    }
}
