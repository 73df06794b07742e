//! `toolbatch tools`.

use super::{
    args::{ClientArgs, ServerArgs},
    connect::{Link, answer},
    exit::{Exit, Failure},
    pages::Pages,
    render::{Form, json, print_json, table::Cell},
};
use crate::proto::{ListToolsRequest, Tool};

/// More tools than any agent can be offered.
const TOOLS_MAX: u32 = 100_000;

/// Lists the tools that the caller can use.
pub(crate) async fn tools(client: &ClientArgs) -> Result<Exit, Failure> {
    let link = Link::open(&client.server).await?;
    let form = Form::choose(client.json);
    let mut pages = Pages::new(TOOLS_MAX);
    let mut rows = Vec::new();
    while let Some((page_size, page_token)) = pages.next() {
        let request = ListToolsRequest { agent_id: String::new(), page_size, page_token };
        let page = answer(link.tools().list_tools(request)).await?;
        for tool in &pages.take(page.tools, page.next_page_token) {
            match form {
                Form::Json { terminal } => print_json(&json::tool(tool), terminal)?,
                Form::Plain | Form::Terminal { .. } => rows.push(row(tool)),
            }
        }
    }
    pages.finish(form, &["TOOL", "NOTE", "DESCRIPTION"], rows)
}

/// All tools that a server lists.
pub(crate) async fn listed(server: &ServerArgs) -> Result<Vec<Tool>, Failure> {
    let link = Link::open(server).await?;
    let mut pages = Pages::new(TOOLS_MAX);
    let mut tools = Vec::new();
    while let Some((page_size, page_token)) = pages.next() {
        let request = ListToolsRequest { agent_id: String::new(), page_size, page_token };
        let page = answer(link.tools().list_tools(request)).await?;
        tools.extend(pages.take(page.tools, page.next_page_token));
    }
    Ok(tools)
}

/// A tool's name, what sets it apart, and the first line of its description.
pub(crate) fn row(tool: &Tool) -> Vec<Cell> {
    let note = match (tool.pauses, tool.reports_progress) {
        (true, _) => "pauses",
        (false, true) => "reports progress",
        (false, false) => "",
    };
    let first = tool.description.lines().next().unwrap_or_default();
    vec![Cell::new(&tool.name), Cell::new(note), Cell::new(first)]
}
