//! `toolbatch keys` and `toolbatch settle`.

use super::{
    args::{ClientArgs, KeyStateArg, SettleArgs},
    connect::{Link, answer},
    exit::{Exit, Failure},
    input,
    pages::Pages,
    render::{
        Form, Tone, json, print, print_json,
        table::{self, Cell},
        words,
    },
};
use crate::proto::{
    KeyRecord, KeyState, ListKeysRequest, SettleKeyRequest,
    settle_key_request::{Fate, NotLanded},
};

/// Lists a task's keys.
pub(crate) async fn keys(task: &str, states: &[KeyStateArg], limit: u32, client: &ClientArgs) -> Result<Exit, Failure> {
    let link = Link::open(&client.server).await?;
    let form = Form::choose(client.json);
    let states: Vec<i32> = states.iter().map(|state| state_number(*state)).collect();
    let mut pages = Pages::new(limit);
    let mut rows = Vec::new();
    while let Some((page_size, page_token)) = pages.next() {
        let request = ListKeysRequest { task_id: task.to_owned(), states: states.clone(), page_size, page_token };
        let page = answer(link.tasks().list_keys(request)).await?;
        for key in &pages.take(page.keys, page.next_page_token) {
            match form {
                Form::Json { terminal } => print_json(&json::key(key), terminal)?,
                Form::Plain | Form::Terminal { .. } => rows.push(row(key)),
            }
        }
    }
    pages.finish(form, &["KEY", "STATE", "TOOL", "STEP", "UPDATED", "SETTLED BY", "IDEMPOTENCY KEY"], rows)
}

fn state_number(state: KeyStateArg) -> i32 {
    let state = match state {
        KeyStateArg::Running => KeyState::Running,
        KeyStateArg::Completed => KeyState::Completed,
        KeyStateArg::Failed => KeyState::Failed,
        KeyStateArg::Unknown => KeyState::Unknown,
    };
    state.into()
}

fn row(key: &KeyRecord) -> Vec<Cell> {
    vec![
        Cell::new(&key.key),
        Cell::toned(words::key_state(key.state), tone(key.state)),
        Cell::new(&key.base_tool),
        Cell::new(&key.step_id),
        Cell::new(key.update_time.as_ref().map(ToString::to_string).unwrap_or_default()),
        Cell::new(&key.settled_by),
        Cell::new(&key.idempotency_key),
    ]
}

fn tone(state: i32) -> Tone {
    match KeyState::try_from(state) {
        Ok(KeyState::Completed) => Tone::Good,
        Ok(KeyState::Running | KeyState::Unknown) => Tone::Waiting,
        Ok(KeyState::Failed | KeyState::Unspecified) | Err(_) => Tone::Bad,
    }
}

/// Records what became of a key, and shows it as it is then.
pub(crate) async fn settle(args: &SettleArgs) -> Result<Exit, Failure> {
    let fate = match &args.landed {
        Some(Some(file)) => Fate::LandedResultJson(input::result(file)?),
        Some(None) => Fate::LandedResultJson(String::new()),
        None => Fate::NotLanded(NotLanded {}),
    };
    let link = Link::open(&args.client.server).await?;
    let request = SettleKeyRequest { task_id: args.task.clone(), key: args.key.clone(), fate: Some(fate) };
    let key = answer(link.tasks().settle_key(request)).await?.key.unwrap_or_default();
    let form = Form::choose(args.client.json);
    if let Form::Json { terminal } = form {
        print_json(&json::key(&key), terminal)?;
        return Ok(Exit::Done);
    }
    for line in table::fields(&record(&key), form.palette()) {
        print(&line)?;
    }
    Ok(Exit::Done)
}

fn record(key: &KeyRecord) -> Vec<(&'static str, String)> {
    vec![
        ("key", key.key.clone()),
        ("state", words::key_state(key.state).into_owned()),
        ("step", key.step_id.clone()),
        ("tool", key.base_tool.clone()),
        ("idempotency key", key.idempotency_key.clone()),
        ("updated", key.update_time.as_ref().map(ToString::to_string).unwrap_or_default()),
        ("settled by", key.settled_by.clone()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::render::Palette;

    #[test]
    fn a_key_is_a_row_and_a_record() {
        let key = KeyRecord {
            key: "order-7\u{1b}".into(),
            state: KeyState::Completed.into(),
            step_id: "s".into(),
            base_tool: "create_order".into(),
            idempotency_key: "i".into(),
            update_time: Some(prost_types::Timestamp { seconds: 0, nanos: 0 }),
            settled_by: "local".into(),
        };
        let lines = table::lines(
            &["KEY", "STATE", "TOOL", "STEP", "UPDATED", "BY", "ID"],
            vec![row(&key)],
            Palette::Bare,
            None,
        );
        assert_eq!(lines[1], "order-7\\u001b  completed  create_order  s     1970-01-01T00:00:00Z  local  i");
        let record = table::fields(&record(&key), Palette::Bare);
        assert!(record.contains(&"settled by       local".to_owned()), "{record:?}");
        assert_eq!(
            json::key(&key),
            r#"{"key":"order-7\u001b","state":"completed","step_id":"s","base_tool":"create_order","idempotency_key":"i","update_time":"1970-01-01T00:00:00Z","settled_by":"local"}"#
        );
    }
}
