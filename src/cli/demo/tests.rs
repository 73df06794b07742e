use super::*;
use crate::{
    batch_json,
    proto::{ListToolsRequest, execute_batch_request::Source, tool_service_server::ToolService as _},
};

#[tokio::test]
async fn every_call_of_the_demo_fits_its_tool() {
    let request = tonic::Request::new(ListToolsRequest::default());
    let tools = OrderSystem::default().list_tools(request).await.unwrap().into_inner().tools;
    let Some(Source::CallList(list)) = orders::batch("b", "contract").source else { panic!("no list") };
    assert_eq!(list.calls.len(), orders::COUNT as usize);
    for call in &list.calls {
        let tool = tools.iter().find(|tool| tool.name == call.tool).unwrap();
        let schema = serde_json::from_str(&tool.input_schema_json).unwrap();
        let args = serde_json::from_str(&call.args_json).unwrap();
        jsonschema::validate(&schema, &args).unwrap();
    }
    let keys: std::collections::HashSet<_> = list.calls.iter().map(|call| &call.key).collect();
    assert_eq!(keys.len(), list.calls.len());
}

#[test]
fn the_file_of_the_next_steps_is_a_batch() {
    let start = NEXT.find("echo '").unwrap() + "echo '".len();
    let end = start + NEXT[start..].find('\'').unwrap();
    batch_json::parse(&NEXT[start..end], batch_json::Dialect::File).unwrap();
}
