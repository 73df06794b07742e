//! A backend's tool list: fetched page by page, within bounds.

use std::{collections::HashSet, sync::Arc, time::Duration};

use prost::Message as _;
use tonic::Request;

use super::{connection::Connection, departure::Departure, hops::Instance, message::causes, reply::describe};
use crate::proto::{ListToolsRequest, ListToolsResponse, Tool};

/// Bound on one page: a list is read from memory, so a backend that takes longer is as good as away.
const PAGE_TIMEOUT: Duration = Duration::from_secs(10);

/// How many tools a page is asked for. A backend may give fewer.
const PAGE_SIZE: i32 = 500;

/// The most pages: a backend that gives one tool a page still gets a hundred in, and one that never ends is found out.
const MAX_PAGES: usize = 100;

/// The most tools of one backend: fifty times what an agent can use.
const MAX_TOOLS: usize = 10_000;

/// The most bytes of one backend's list, since all lists stay in memory.
const MAX_LIST_BYTES: usize = 64 * 1_024 * 1_024;

/// R1's bound on a tool's name: a longer one could never be called.
const MAX_NAME_BYTES: usize = 256;

/// What a backend lists.
#[derive(Debug, Default)]
pub(super) struct Listing {
    /// What of it can be served.
    pub(super) tools: Vec<Tool>,
    /// The first name that cannot.
    pub(super) misnamed: Option<String>,
}

/// Everything that a backend lists, or why the list cannot be used.
pub(super) async fn fetch(connection: &Connection, instance: &Instance) -> Result<Listing, String> {
    let mut listing = Listing::default();
    let mut names = HashSet::new();
    let mut bytes = 0;
    let mut page_token = String::new();
    for _ in 0..MAX_PAGES {
        let page = page(connection, instance, page_token).await?;
        bytes += page.encoded_len();
        if bytes > MAX_LIST_BYTES || listing.tools.len() + page.tools.len() > MAX_TOOLS {
            return Err(format!("its tool list is over {MAX_TOOLS} tools or {MAX_LIST_BYTES} bytes"));
        }
        for tool in page.tools {
            if !is_name(&tool.name) {
                tracing::warn!(
                    address = connection.address(),
                    tool = ?tool.name,
                    "a tool is left out: expected a name of 1 to {MAX_NAME_BYTES} printable ASCII characters, single blanks inside at most"
                );
                listing.misnamed.get_or_insert(tool.name);
            } else if names.insert(tool.name.clone()) {
                listing.tools.push(tool);
            } else {
                tracing::warn!(
                    address = connection.address(),
                    tool = tool.name,
                    "a tool is listed twice: the first one counts"
                );
            }
        }
        page_token = page.next_page_token;
        if page_token.is_empty() {
            return Ok(listing);
        }
    }
    Err(format!("its tool list does not end after {MAX_PAGES} pages"))
}

/// ASCII alone, since no reader can tell `pаy` with a Cyrillic letter from `pay`, and a list of allowed tools is written by readers.
fn is_name(name: &str) -> bool {
    (1..=MAX_NAME_BYTES).contains(&name.len())
        && name.split(' ').all(|word| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_graphic()))
}

async fn page(connection: &Connection, instance: &Instance, page_token: String) -> Result<ListToolsResponse, String> {
    let message = ListToolsRequest { agent_id: String::new(), page_size: PAGE_SIZE, page_token };
    let mut request = Request::new(message);
    request.set_timeout(PAGE_TIMEOUT);
    instance.sign("", request.metadata_mut());
    let mut client = connection.client(&Arc::new(Departure::default()));
    match tokio::time::timeout(PAGE_TIMEOUT, client.list_tools(request)).await {
        Ok(Ok(response)) => Ok(response.into_inner()),
        Ok(Err(status)) => match std::error::Error::source(&status) {
            Some(cause) => Err(format!("the connection was cut during ListTools: {}", causes(cause))),
            None => Err(format!("ListTools was answered {}", describe(&status))),
        },
        Err(_) => Err(format!("ListTools was not answered within {PAGE_TIMEOUT:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_NAME_BYTES, is_name};

    #[test]
    fn a_name_cannot_be_taken_for_another() {
        for name in ["pay", "erp.create_order", "mcp/server:tool-2", "A", "Create order", &"x".repeat(MAX_NAME_BYTES)] {
            assert!(is_name(name), "{name}");
        }
        let look_alikes = [
            "p\u{430}y",
            "pay\u{200b}",
            "\u{202e}yap",
            "ｐａｙ",
            "pay ",
            " pay",
            "pay  now",
            "pay\tnow",
            "pay\u{a0}now",
            "p\u{e4}y",
            "pa\u{301}y",
            "p\ny",
            "",
        ];
        for name in look_alikes {
            assert!(!is_name(name), "{name:?}");
        }
        assert!(!is_name(&"x".repeat(MAX_NAME_BYTES + 1)));
    }
}
