//! `toolbatch feed`: a task's cards, through lost connections, each once.

use tonic::Status;

use super::{
    args::ClientArgs,
    connect::{self, Link},
    exit::{Exit, Failure},
    follow::{PATIENCE, Patience},
    interrupt::{Either, unless_interrupted},
    refusal,
    render::{
        Form,
        feed::{ShowFeed, show},
        words,
    },
};
use crate::proto::WatchTaskRequest;

/// Shows a task's feed until the task has ended.
pub(crate) async fn feed(task: &str, after: &str, client: &ClientArgs) -> Result<Exit, Failure> {
    let link = match unless_interrupted(Link::open(&client.server)).await? {
        Either::Ended(link) => link?,
        Either::Interrupted => return Err(Failure::Interrupted("interrupted; nothing was asked".to_owned())),
    };
    let mut show = show(Form::choose(client.json));
    let mut follow = FollowTask { link: &link, task, token: after.to_owned(), patience: PATIENCE };
    let ended = unless_interrupted(follow.until_end(show.as_mut())).await?;
    drop(show);
    match ended {
        Either::Ended(ended) => ended.map(|()| Exit::Done),
        Either::Interrupted => Err(Failure::Interrupted(format!(
            "interrupted\nTask {task} goes on without you. To see it from the start:\n  {}",
            connect::command(link.server(), &format!("feed {task}"))
        ))),
    }
}

struct FollowTask<'a> {
    link: &'a Link,
    task: &'a str,
    /// Of the last card that was shown.
    token: String,
    patience: Patience,
}

impl FollowTask<'_> {
    async fn until_end(&mut self, show: &mut dyn ShowFeed) -> Result<(), Failure> {
        let mut attempt = 0;
        loop {
            let known = self.token.clone();
            let lost = match self.read(show).await? {
                None => return Ok(()),
                Some(status) if refusal::is_lost(&status) => status,
                Some(status) => return Err(refusal::failure(&status)),
            };
            attempt = if self.token == known { attempt + 1 } else { 1 };
            let (why, most) = (refusal::lost(&lost), self.patience.attempts);
            if attempt > most {
                return Err(Failure::Unreachable(format!(
                    "lost the server at {}: {why}; gave up after {}",
                    self.link.url(),
                    words::count(most, "attempt")
                )));
            }
            let wait = self.patience.wait(attempt, refusal::retry_delay(&lost));
            show.notice(&format!(
                "lost the server: {why}; going on in {} (attempt {attempt} of {most})",
                words::duration(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX))
            ));
            tokio::time::sleep(wait).await;
        }
    }

    /// Reads one stream for as long as it lasts; gives the status that it broke with, or none where the task is over.
    async fn read(&mut self, show: &mut dyn ShowFeed) -> Result<Option<Status>, Failure> {
        let request = WatchTaskRequest { task_id: self.task.to_owned(), resume_token: self.token.clone() };
        let mut cards = match self.link.tasks().watch_task(request).await {
            Ok(response) => response.into_inner(),
            Err(status) => return Ok(Some(status)),
        };
        loop {
            match cards.message().await {
                Ok(Some(message)) => {
                    if let Some(card) = &message.card {
                        show.card(card, &message.resume_token)?;
                    }
                    self.token = message.resume_token;
                }
                Ok(None) => return Ok(None),
                Err(status) => return Ok(Some(status)),
            }
        }
    }
}
