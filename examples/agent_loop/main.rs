//! An agent's loop with toolbatch behind it: a scripted model (no network) plans with one tool, passes the list by reference, runs it,
//! meets a failure, mends its cause, and sends the same keys again. What had landed is not repeated.
//!
//! ```sh
//! cargo run --example agent_loop
//! ```
//!
//! | file | duty |
//! | --- | --- |
//! | `agent` | the loop: a model's tool call becomes a `CallTool`, its answer a tool result |
//! | `model` | what a model would say, from what it was told |
//! | `orders` | a tool backend with an order system behind it |

mod agent;
mod model;
mod orders;

use std::error::Error;

use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;
use toolbatch::{
    config::{Backend, Config, Listen},
    proto::tool_service_server::ToolServiceServer,
    server::Server,
};

use self::orders::Orders;

/// Runs the whole story; gives the conversation and the order system as it is after it.
async fn story() -> Result<(Vec<serde_json::Value>, Orders), Box<dyn Error>> {
    let orders = Orders::default();
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = format!("http://{}", listener.local_addr()?);
    let service = ToolServiceServer::new(orders.clone());
    let backend = tonic::transport::Server::builder().add_service(service);
    let folder = tempfile::tempdir()?;
    let config = Config {
        listen: Listen::Tcp("127.0.0.1:0".parse()?),
        data_dir: folder.path().join("data"),
        backends: vec![Backend { name: "orders".into(), addresses: vec![address], ..Backend::default() }],
        ..Config::default()
    };
    let talk = async {
        let server = Server::start(config).await?;
        let conversation = agent::run(server.endpoint(), "task-1", "Order what the customer asked for.").await?;
        server.stop().await?;
        Ok::<_, Box<dyn Error>>(conversation)
    };
    let conversation = tokio::select! {
        conversation = talk => conversation?,
        served = backend.serve_with_incoming(TcpListenerStream::new(listener)) => {
            served?;
            return Err("the order system ended first".into());
        }
    };
    Ok((conversation, orders))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let (conversation, orders) = story().await?;
    for message in conversation {
        println!("{message}");
    }
    println!("posted: {:?}", orders.posted());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_same_keys_go_again_and_nothing_is_posted_twice() {
        let (conversation, orders) = story().await.unwrap();
        assert_eq!(orders.posted(), ["pump", "valve", "seal"], "each once");
        let calls: Vec<String> = conversation
            .iter()
            .flat_map(|message| message["content"].as_array().into_iter().flatten())
            .filter(|block| block["type"] == "tool_use")
            .map(|block| format!("{} {}", block["name"].as_str().unwrap(), block["input"]))
            .collect();
        let list = r#"execute_tool_batch {"calls":"${VAR_1}.calls"}"#;
        assert_eq!(calls, ["plan_orders {}", list, r#"release_contract {"contract":"40040343"}"#, list]);
        let answer = conversation.last().unwrap();
        assert_eq!(answer["content"][0]["text"], "All 3 orders are posted; 1 of them had been before.");
    }
}
