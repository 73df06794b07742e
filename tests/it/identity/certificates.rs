//! A client's certificate says who connects, where no token does.

use rcgen::SanType;
use sha2::{Digest as _, Sha256};
use tonic::{
    Code, Status,
    transport::{Channel, Endpoint},
};
use toolbatch::{
    config::{Agent, Binding, Config, Listen, Operator, Token},
    proto::{
        ListBackendsRequest, ListToolsRequest, registry_service_client::RegistryServiceClient,
        tool_service_client::ToolServiceClient,
    },
    server::Server,
};

use super::with;
use crate::{listener::Certificates, refusal::refusal};

const HOST: &str = "Orders.example.com";
const URI: &str = "spiffe://example.com/orders";
/// An operator's.
const TOKEN: &str = "ops-token-0123456789abcdef";

fn agent(id: &str, cert_name: &str) -> Agent {
    let tools = vec![Binding { name: format!("{id}_batch"), tool: "execute_tool_batch".into() }];
    Agent { id: id.into(), tenant: "acme".into(), tokens: vec![Token::Certificate(cert_name.into())], tools }
}

/// A server whose clients have a certificate with [`HOST`] and [`URI`], and a connection of one.
struct Setting {
    server: Server,
    config: Config,
    channel: Channel,
    _certificates: Certificates,
    _data: tempfile::TempDir,
}

impl Setting {
    async fn start(agents: Vec<Agent>) -> Self {
        let certificates = Certificates::issue_for(|leaf| {
            leaf.subject_alt_names.push(SanType::DnsName(HOST.try_into().expect("a name")));
            leaf.subject_alt_names.push(SanType::URI(URI.try_into().expect("a URI")));
        });
        let data = tempfile::tempdir().expect("a folder");
        let config = Config {
            listen: Listen::Tcp("127.0.0.1:0".parse().expect("an address")),
            data_dir: data.path().join("data"),
            tls: Some(certificates.server(true)),
            agents,
            operators: vec![Operator {
                id: "ops".into(),
                tokens: vec![Token::Sha256(Sha256::digest(TOKEN.as_bytes()).into())],
            }],
            ..Config::default()
        };
        let server = Server::start(config.clone()).await.expect("the server starts");
        let endpoint = Endpoint::from_shared(server.endpoint().to_owned()).expect("an endpoint");
        let endpoint = endpoint.tls_config(certificates.client(true)).expect("it is right");
        let channel = endpoint.connect().await.expect("it connects");
        Self { server, config, channel, _certificates: certificates, _data: data }
    }

    fn reload(&self, agents: Vec<Agent>) {
        self.server.reload(&Config { agents, ..self.config.clone() }).expect("they are taken");
    }

    /// The names of the tools that whoever connects may call.
    async fn tools(&self) -> Result<Vec<String>, Status> {
        let page = ToolServiceClient::new(self.channel.clone()).list_tools(ListToolsRequest::default()).await?;
        Ok(page.into_inner().tools.into_iter().map(|tool| tool.name).collect())
    }
}

#[tokio::test]
async fn a_certificate_says_who_connects_until_it_is_taken_from_the_configuration() {
    let setting =
        Setting::start(vec![agent("host", "orders.example.com"), agent("other", "spiffe://example.com/x")]).await;
    assert_eq!(setting.tools().await.expect("it is known"), ["host_batch"], "case does not count");
    setting.reload(vec![agent("uri", URI)]);
    assert_eq!(setting.tools().await.expect("it is known"), ["uri_batch"]);
    setting.reload(vec![agent("uri", "spiffe://example.com/Orders")]);
    let unknown = setting.tools().await.expect_err("the case of a URI counts");
    assert_eq!(refusal(&unknown), (Code::Unauthenticated, "UNAUTHENTICATED".into()));
    setting.reload(vec![agent("host", "orders.example.com"), agent("uri", URI)]);
    let unclear = setting.tools().await.expect_err("it could be either");
    assert_eq!(refusal(&unclear), (Code::Unauthenticated, "UNAUTHENTICATED".into()));
}

#[tokio::test]
async fn a_token_decides_where_one_comes_with_a_certificate() {
    let setting = Setting::start(vec![agent("host", "orders.example.com")]).await;
    let registry = || RegistryServiceClient::new(setting.channel.clone());
    let refused = registry().list_backends(ListBackendsRequest::default()).await.expect_err("an agent's certificate");
    assert_eq!(refused.code(), Code::PermissionDenied);
    registry().list_backends(with(TOKEN, ListBackendsRequest::default())).await.expect("an operator's token");
    let mut tools = ToolServiceClient::new(setting.channel.clone());
    let unknown = tools.list_tools(with("a-token-of-nobody-at-all", ListToolsRequest::default())).await;
    assert_eq!(unknown.expect_err("nobody's token").code(), Code::Unauthenticated);
}
