//! One question, one answer. Reads are asked again where the answer got lost; what changes something is not.

use tonic::{Response, Status};
use toolbatch::proto::{
    BatchSummary, CallToolRequest, CallToolResponse, CancelBatchRequest, GetStepRequest, ListToolsRequest,
    ListUsageRequest, ReadStepResultRequest, SetVariableRequest, Step, Tool, UsageRow,
};

use super::{
    error::{Cut, Error, Lost},
    link::{Link, Patience},
    request::Request,
};

/// Stops a batch; gives how it went so far.
pub(super) async fn cancel_batch(link: &Link, batch_id: &str, abort_running: bool) -> Result<BatchSummary, Error> {
    let request = CancelBatchRequest { batch_id: batch_id.to_owned(), abort_running };
    let answer = link.batches().cancel_batch(request).await.map_err(Error::at_once)?.into_inner();
    Ok(answer.batch.and_then(|batch| batch.summary).unwrap_or_default())
}

/// Stores an output; gives its name.
pub(super) async fn set_variable(link: &Link, request: &Request) -> Result<String, Error> {
    let Request { task_id, name, value_json, .. } = request;
    let request = SetVariableRequest { task_id: task_id.clone(), name: name.clone(), value_json: value_json.clone() };
    Ok(link.tasks().set_variable(request).await.map_err(Error::at_once)?.into_inner().name)
}

/// Runs a tool as a direct step.
pub(super) async fn call_tool(link: &Link, request: CallToolRequest) -> Result<CallToolResponse, Error> {
    Ok(link.tools().call_tool(request).await.map_err(Error::at_once)?.into_inner())
}

/// The record of a step.
pub(super) async fn step(link: &Link, step_id: &str) -> Result<Step, Error> {
    let ask = async || link.tasks().get_step(GetStepRequest { step_id: step_id.to_owned() }).await;
    Ok(repeated(&mut link.patience(), ask).await?.step.unwrap_or_default())
}

/// All that a task used.
pub(super) async fn usage(link: &Link, task_id: &str) -> Result<Vec<UsageRow>, Error> {
    let (mut rows, mut page_token) = (Vec::new(), String::new());
    loop {
        let request = ListUsageRequest { task_id: task_id.to_owned(), page_size: 0, page_token };
        let page = repeated(&mut link.patience(), async || link.tasks().list_usage(request.clone()).await).await?;
        rows.extend(page.rows);
        page_token = page.next_page_token;
        if page_token.is_empty() {
            return Ok(rows);
        }
    }
}

/// The tools of the caller's list.
pub(super) async fn tools(link: &Link) -> Result<Vec<Tool>, Error> {
    let (mut tools, mut page_token) = (Vec::new(), String::new());
    loop {
        let request = ListToolsRequest { page_token, ..ListToolsRequest::default() };
        let page = repeated(&mut link.patience(), async || link.tools().list_tools(request.clone()).await).await?;
        tools.extend(page.tools);
        page_token = page.next_page_token;
        if page_token.is_empty() {
            return Ok(tools);
        }
    }
}

/// The whole result of a step. After a lost connection it goes on behind what came.
pub(super) async fn step_result(link: &Link, step_id: &str) -> Result<String, Error> {
    let mut patience = link.patience();
    let mut bytes = Vec::new();
    loop {
        match read_on(link, step_id, &mut bytes, &mut patience).await {
            Ok(()) => break,
            Err(Cut::Refused(refusal)) => return Err(Error::Refused(refusal)),
            Err(Cut::Lost(lost)) => patience.wait(lost).await?,
        }
    }
    String::from_utf8(bytes).map_err(|error| anyhow::Error::from(error).context("the result is no UTF-8").into())
}

async fn read_on(link: &Link, step_id: &str, bytes: &mut Vec<u8>, patience: &mut Patience) -> Result<(), Cut> {
    let offset = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    let request = ReadStepResultRequest { step_id: step_id.to_owned(), offset };
    let mut tasks = link.tasks();
    let opened = tokio::time::timeout(patience.left(), tasks.read_step_result(request)).await;
    let mut pieces = opened.map_err(|_| Cut::Lost(Lost::because("no answer")))??.into_inner();
    patience.opened();
    while let Some(piece) = pieces.message().await? {
        bytes.extend_from_slice(&piece.chunk);
        patience.renewed();
    }
    Ok(())
}

/// Asks until an answer came, or for as long as the client tries.
async fn repeated<T>(
    patience: &mut Patience,
    mut ask: impl AsyncFnMut() -> Result<Response<T>, Status>,
) -> Result<T, Error> {
    loop {
        let answer = match tokio::time::timeout(patience.left(), ask()).await {
            Ok(answer) => answer.map_err(Cut::from),
            Err(_) => Err(Cut::Lost(Lost::because("no answer"))),
        };
        match answer {
            Ok(response) => return Ok(response.into_inner()),
            Err(Cut::Refused(refusal)) => return Err(Error::Refused(refusal)),
            Err(Cut::Lost(lost)) => patience.wait(lost).await?,
        }
    }
}
