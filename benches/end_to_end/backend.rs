//! A raw tonic tool backend, in a process of its own.

use std::{path::Path, pin::Pin, sync::Arc, time::Duration};

use tokio::{net::TcpListener, sync::Mutex, time::sleep};
use tokio_stream::{Stream, StreamExt as _, wrappers::TcpListenerStream};
use tonic::{Request, Response, Status, async_trait, transport::Server};
use toolbatch::{
    clock::Clock,
    proto::{
        CallToolRequest, CallToolResponse, CallToolWithProgressRequest, CallToolWithProgressResponse, ListToolsRequest,
        ListToolsResponse, LookupCallRequest, LookupCallResponse, Tool, ToolProgress,
        call_tool_response::Outcome,
        call_tool_with_progress_response::Event,
        tool_service_server::{ToolService, ToolServiceServer},
    },
};

use crate::disk::Disk;

/// The largest result there is (R6).
pub(crate) const LARGE: usize = 64 << 20;
/// How many lines a news stream has.
pub(crate) const NEWS: usize = 100;
/// The most bytes of one message: the largest result, and something around it.
pub(crate) const MESSAGE_MAX: usize = LARGE + (1 << 20);

/// What a call does, by its tool.
const TOOLS: [&str; 6] = ["instant", "wait_5", "wait_50", "stamp", "large", "hold"];

struct Tools {
    clock: Clock,
    disk: Arc<Mutex<Disk>>,
    large: String,
}

/// Serves until it is killed; says where on its output.
pub(crate) fn serve(file: &Path) {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let disk = Arc::new(Mutex::new(Disk::open(file)));
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        println!("http://{}", listener.local_addr().expect("an address"));
        let large = format!("\"{}\"", "x".repeat(LARGE - 2));
        let service = ToolServiceServer::new(Tools { clock: Clock::start(), disk, large });
        let service = service.max_encoding_message_size(MESSAGE_MAX);
        let incoming = TcpListenerStream::new(listener)
            .filter(|stream| stream.as_ref().is_ok_and(|stream| stream.set_nodelay(true).is_ok()));
        Server::builder().add_service(service).serve_with_incoming(incoming).await.expect("it serves");
    });
}

/// The time of this machine, the same in every process on it.
pub(crate) fn stamp(clock: Clock) -> String {
    clock.now().wall.0.to_string()
}

#[async_trait]
impl ToolService for Tools {
    type CallToolWithProgressStream = Pin<Box<dyn Stream<Item = Result<CallToolWithProgressResponse, Status>> + Send>>;

    async fn list_tools(&self, _: Request<ListToolsRequest>) -> Result<Response<ListToolsResponse>, Status> {
        let tools = TOOLS.map(|name| Tool { name: name.into(), ..Tool::default() });
        Ok(Response::new(ListToolsResponse { tools: tools.into(), next_page_token: String::new() }))
    }

    async fn call_tool(&self, request: Request<CallToolRequest>) -> Result<Response<CallToolResponse>, Status> {
        let call = request.into_inner();
        let result = match call.tool.as_str() {
            "instant" => r#"{"order":"450001","status":"posted"}"#.to_owned(),
            "wait_5" => {
                sleep(Duration::from_millis(5)).await;
                r#"{"order":"450001","status":"posted"}"#.to_owned()
            }
            "wait_50" => {
                sleep(Duration::from_millis(50)).await;
                r#"{"order":"450001","status":"posted"}"#.to_owned()
            }
            "stamp" => stamp(self.clock),
            "large" => self.large.clone(),
            "hold" => std::future::pending().await,
            other => return Err(Status::unimplemented(other.to_owned())),
        };
        Ok(Response::new(CallToolResponse {
            outcome: Some(Outcome::ResultJson(result)),
            ..CallToolResponse::default()
        }))
    }

    /// The floor of what is told: for each line one durable write, and one message that says when it began.
    async fn call_tool_with_progress(
        &self,
        _: Request<CallToolWithProgressRequest>,
    ) -> Result<Response<Self::CallToolWithProgressStream>, Status> {
        let (clock, disk) = (self.clock, Arc::clone(&self.disk));
        let news = futures_util::stream::unfold(0, move |told| {
            let disk = Arc::clone(&disk);
            async move {
                if told == NEWS {
                    return None;
                }
                // Each line on its own, as the calls of the row are.
                sleep(Duration::from_millis(2)).await;
                let message = stamp(clock);
                disk.lock().await.write();
                let progress = ToolProgress { progress: 0.0, total: 0.0, message };
                Some((Ok(CallToolWithProgressResponse { event: Some(Event::Progress(progress)) }), told + 1))
            }
        });
        Ok(Response::new(Box::pin(news)))
    }

    async fn lookup_call(&self, _: Request<LookupCallRequest>) -> Result<Response<LookupCallResponse>, Status> {
        Err(Status::unimplemented("nothing is remembered"))
    }
}
