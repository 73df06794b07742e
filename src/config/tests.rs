use std::{fs, net::SocketAddr};

use proptest::prelude::*;

use super::*;
use crate::prices::Price;

fn parse(text: &str) -> Result<Config, Error> {
    Config::parse(text, "toolbatch.toml")
}

/// The faults of a text, as a person sees them.
fn faults(text: &str) -> Vec<String> {
    let error = parse(text).expect_err("the text is faulty");
    error.to_string().lines().map(String::from).collect()
}

fn tcp(text: &str) -> Listen {
    Listen::Tcp(text.parse::<SocketAddr>().unwrap())
}

/// The sample with its sections switched on: what follows its `#` at once is no comment.
fn uncommented_sample() -> String {
    let line = |line: &'static str| line.strip_prefix('#').filter(|rest| !rest.starts_with(' ')).unwrap_or(line);
    SAMPLE.lines().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn an_empty_file_is_the_defaults() {
    assert_eq!(parse("").unwrap(), Config::default());
    assert_eq!(Config::default().listen.to_string(), "127.0.0.1:50051");
}

#[test]
fn the_sample_is_the_defaults() {
    assert_eq!(parse(SAMPLE).unwrap(), Config::default());
}

#[test]
fn the_sample_with_its_sections_parses() {
    let config = parse(&uncommented_sample()).unwrap();
    let backend = |name: &str, address: &str| Backend {
        name: name.into(),
        addresses: vec![address.into()],
        ..Backend::default()
    };
    assert_eq!(
        config.backends,
        [
            Backend {
                credential: Some("sap".into()),
                max_concurrency: 8,
                max_calls_per_second: 50.0,
                ..backend("erp", "http://127.0.0.1:7001")
            },
            backend("files", "unix:/run/file-tools.sock"),
            Backend {
                tls: BackendTls {
                    ca: Some("crm-ca.pem".into()),
                    identity: Some(Identity { cert: "toolbatch.pem".into(), key: "toolbatch.key".into() })
                },
                ..backend("crm", "https://crm.internal:7443")
            }
        ]
    );
    assert_eq!(config.agents.iter().map(|agent| (&*agent.id, agent.tools.len())).collect::<Vec<_>>(), [("orders", 3)]);
    assert_eq!(config.operators.iter().map(|operator| &*operator.id).collect::<Vec<_>>(), ["ops"]);
    assert_eq!(config.prices.currency, "USD");
    assert_eq!(config.prices.cost_nanos("create_sales_order", "calls", 1.0), Some(2_000_000));
    assert_eq!(config.prices.cost_nanos("summarize", "input_tokens", 1.0), Some(2_500));
    assert!(config.tls.is_some());
    assert_eq!(config.registration.allow.len(), 3);
    let rest = Config {
        tls: None,
        backends: vec![],
        agents: vec![],
        operators: vec![],
        prices: Prices::default(),
        registration: Registration::default(),
        credentials: vec![],
        ..config
    };
    assert_eq!(rest, Config::default());
}

#[test]
fn the_sample_shows_every_field() {
    let sample = uncommented_sample();
    for field in [
        "listen",
        "data_dir",
        "shutdown_grace",
        "retention",
        "call_timeout",
        "insecure",
        "not_batchable",
        "name",
        "addresses",
        "max_concurrency",
        "max_calls_per_second",
        "currency",
        "allow",
        "ca",
    ] {
        let shown = sample.lines().any(|line| line.starts_with(&format!("{field} = ")));
        assert!(shown, "the sample does not show {field}");
    }
}

#[test]
fn the_places_of_registered_backends_are_networks_and_folders() {
    let config = parse("[registration]\nallow = [\"10.0.0.0/8\", \"::1/128\", \"unix:/run/tools/\"]").unwrap();
    let network = |base: &str, bits| Destination::Network { base: base.parse().unwrap(), bits };
    assert_eq!(
        config.registration.allow,
        [network("10.0.0.0", 8), network("::1", 128), Destination::Folder("/run/tools/".into())]
    );
    for wrong in ["10.0.0.0", "10.0.0.0/33", "host/8", "unix:run", "::/129", ""] {
        let text = format!("[registration]\nallow = [\"{wrong}\"]");
        let error = parse(&text).unwrap_err().to_string();
        assert!(error.contains("registration.allow[0]") && error.contains("expected"), "{error}");
    }
}

#[test]
fn every_field_takes_effect() {
    let config = parse(
        r#"
        listen = "unix:/run/toolbatch.sock"
        data_dir = "/var/lib/toolbatch"
        shutdown_grace = "0s"
        retention = "3650d"
        call_timeout = "24h"
        insecure = true
        not_batchable = ["ask_*", "sleep"]
        [limits]
        connections = 7
        idle_timeout = "1h"
        stream_window_bytes = 1_024
        "#,
    )
    .unwrap();
    assert_eq!(
        config,
        Config {
            listen: Listen::Unix("/run/toolbatch.sock".into()),
            data_dir: "/var/lib/toolbatch".into(),
            shutdown_grace: Duration::ZERO,
            retention: MAX_RETENTION,
            call_timeout: MAX_CALL_TIMEOUT,
            insecure: true,
            tls: None,
            limits: Limits {
                connections: 7,
                idle_timeout: Duration::from_hours(1),
                stream_window_bytes: 1_024,
                ..Limits::default()
            },
            not_batchable: vec!["ask_*".into(), "sleep".into()],
            ..Config::default()
        }
    );
}

#[test]
fn every_section_takes_effect() {
    let config = parse(
        r#"
        [[backends]]
        name = "erp-2"
        addresses = ["http://[::1]:7001", "http://erp.internal:7001/", "unix:///run/erp.sock"]
        max_concurrency = 8
        max_calls_per_second = 0.5
        credential = "sap"
        [credentials.sap]
        header = "authorization"
        value_env = "SAP_TOKEN"
        [[agents]]
        id = "orders"
        tenant = "acme"
        token_env = ["ORDERS_TOKEN", "ORDERS_TOKEN_OLD"]
        token_sha256 = "abababABababababababababababababababababababababababababababABAB"
        tools = ["execute_tool_batch", { name = "Create order", tool = "create_order" }]
        [[operators]]
        id = "ops"
        token_file = "ops.token"
        [prices]
        currency = "EUR"
        tools.ask.calls = "0.5"
        [registration]
        allow = ["unix:/run/tools"]
        "#,
    )
    .unwrap();
    assert_eq!(
        config,
        Config {
            backends: vec![Backend {
                name: "erp-2".into(),
                addresses: vec![
                    "http://[::1]:7001".into(),
                    "http://erp.internal:7001/".into(),
                    "unix:///run/erp.sock".into()
                ],
                max_concurrency: 8,
                max_calls_per_second: 0.5,
                credential: Some("sap".into()),
                tls: BackendTls::default(),
            }],
            credentials: vec![Credential {
                name: "sap".into(),
                header: "authorization".into(),
                value: Secret::Env("SAP_TOKEN".into()),
            }],
            agents: vec![Agent {
                id: "orders".into(),
                tenant: "acme".into(),
                tokens: vec![
                    Token::Secret(Secret::Env("ORDERS_TOKEN".into())),
                    Token::Secret(Secret::Env("ORDERS_TOKEN_OLD".into())),
                    Token::Sha256([0xab; 32]),
                ],
                tools: [("execute_tool_batch", "execute_tool_batch"), ("Create order", "create_order")]
                    .map(|(name, tool)| Binding { name: name.into(), tool: tool.into() })
                    .to_vec(),
            }],
            operators: vec![Operator {
                id: "ops".into(),
                tokens: vec![Token::Secret(Secret::File("ops.token".into()))]
            }],
            prices: Prices {
                currency: "EUR".into(),
                tools: [("ask".into(), [("calls".into(), Price::parse("0.5").unwrap())].into())].into(),
            },
            registration: Registration {
                allow: vec![Destination::Folder("/run/tools".into())],
                ..Registration::default()
            },
            ..Config::default()
        }
    );
}

#[test]
fn faults_of_agents_and_operators_are_named_with_their_places() {
    let found = faults(
        r#"listen = "0.0.0.0:50051"
[[agents]]
id = "orders"
token_env = "A=B"
tools = ["x", { name = "x", tool = "y" }, { tol = "z" }, 7]

[[agents]]
id = "orders"
tenant = "a/b"
token_env = ["T", 7]
token_sha256 = ["my-secret-token-0123", "éa"]

[[operators]]
insecure = true
"#,
    );
    let expected = [
        r#"4:13: agents[0].token_env: "A=B" is no environment variable; expected its name, such as "ORDERS_TOKEN""#,
        r#"5:15: agents[0].tools[1]: "x" is in this list already; give each tool a name of its own"#,
        r#"5:43: agents[0].tools[2] lacks a field; add name = "Create order""#,
        r#"5:43: agents[0].tools[2] lacks a field; add tool = "create_order""#,
        r#"5:45: unknown field "tol" in agents[0].tools[2]; did you mean "tool"?"#,
        r#"5:58: agents[0].tools[3]: got the integer 7; expected a tool's name, or { name = "...", tool = "..." } as a string"#,
        r#"7:1: agents[1] lacks a field; add tools = ["execute_tool_batch", "create_order"]"#,
        r#"8:6: agents[1].id: "orders" is the id of agents[0] too; give each its own"#,
        r#"9:10: agents[1].tenant: "a/b" is no tenant; expected 1 to 64 ASCII letters, digits, hyphens, underscores and dots"#,
        "10:19: agents[1].token_env[1]: got the integer 7; expected a variable's name as a string",
        "11:17: agents[1].token_sha256[0]: the 20 bytes here are no SHA-256; expected 64 hexadecimal digits, as `printf %s TOKEN | \
         sha256sum` prints them",
        r#"13:1: operators[0] lacks a field; add id = "orders""#,
        r#"13:1: operators[0] lacks a field; add token_env = "ORDERS_TOKEN", token_file = "orders.token", token_sha256 = "...", or cert_name = "orders.example.com""#,
        r#"14:1: unknown field "insecure" in operators[0]; it is a field of the top level: move it above the first section"#,
    ];
    for fault in expected {
        assert!(
            found.iter().any(|found| found == &format!("toolbatch.toml:{fault}")),
            "{fault}\nis not in\n{found:#?}"
        );
    }
}

#[test]
fn all_faults_are_named_at_once_with_their_places() {
    let found = faults(
        r#"lisen = "127.0.0.1:1"
shutdown_grace = "11m"
call_timeout = 30
insecure = "yes"
zzz = 1

[[backends]]
name = "ERP"
adresses = ["http://127.0.0.1:7001"]
data_dir = "data"

[[backends]]
name = "crm"
addresses = ["ftp://crm:443", 7]
"#,
    );
    let expected = [
        r#"1:1: unknown field "lisen"; did you mean "listen"?"#,
        r"2:18: shutdown_grace: 11m is out of bounds; expected 0s to 10m",
        r#"3:16: call_timeout: got the integer 30; expected a duration such as "30s" as a string"#,
        r#"4:12: insecure: got the string "yes"; expected true or false, without quotes"#,
        r#"5:1: unknown field "zzz"; expected one of listen, data_dir, shutdown_grace, retention, call_timeout, insecure, tls, limits, not_batchable, backends, credentials, agents, operators, prices, registration"#,
        r#"7:1: backends[0] lacks a field; add addresses = ["http://127.0.0.1:7001"]"#,
        r#"8:8: backends[0].name: "ERP" is no backend name; expected 1 to 63 lower-case letters, digits and hyphens"#,
        r#"9:1: unknown field "adresses" in backends[0]; did you mean "addresses"?"#,
        r#"10:1: unknown field "data_dir" in backends[0]; it is a field of the top level: move it above the first section"#,
        r#"14:14: backends[1].addresses[0]: "ftp://crm:443" is no backend address; expected "http://HOST:PORT", "https://HOST:PORT" or "unix:/PATH""#,
        r"14:31: backends[1].addresses[1]: got the integer 7; expected each entry as a string",
    ];
    assert_eq!(found, expected.map(|line| format!("toolbatch.toml:{line}")));
}

#[test]
fn syntax_errors_have_their_places_and_come_alone() {
    let found = faults("listen = \"127.0.0.1:1\"\ninsecure = yes\nnope = 1\ninsecure = = 3\n");
    assert!(found.len() >= 2, "{found:?}");
    assert!(found[0].starts_with("toolbatch.toml:2:12: this is not TOML: "), "{found:?}");
    assert!(found.iter().any(|line| line.starts_with("toolbatch.toml:4:")), "{found:?}");
    assert!(!found.iter().any(|line| line.contains("nope")), "{found:?}");
}

#[test]
fn a_field_given_twice_is_a_fault_at_its_second_place() {
    let found = faults("insecure = true\ninsecure = true\n");
    assert_eq!(found, ["toolbatch.toml:2:1: this is not TOML: duplicate key"]);
}

#[test]
fn columns_count_characters() {
    assert_eq!(faults("x = \"äöü\"").len(), 1);
    let found = faults("backends = [ { name = \"äöü\", addresses = [] } ]");
    assert!(found[0].starts_with("toolbatch.toml:1:23: backends[0].name: "), "{found:?}");
    assert!(
        found[1].starts_with("toolbatch.toml:1:42: backends[0].addresses: 0 addresses; expected 1 to 16"),
        "{found:?}"
    );
}

#[test]
fn backends_share_no_name() {
    let backend = |port: u16| format!("[[backends]]\nname = \"erp\"\naddresses = [\"http://127.0.0.1:{port}\"]\n");
    let found = faults(&(backend(1) + &backend(2)));
    assert_eq!(
        found,
        [r#"toolbatch.toml:5:8: backends[1].name: "erp" is the name of backends[0] too; give each its own"#]
    );
}

#[test]
fn what_a_backend_takes_has_bounds() {
    let backend =
        |line: &str| format!("[[backends]]\nname = \"erp\"\naddresses = [\"http://127.0.0.1:7001\"]\n{line}\n");
    for (line, words) in [
        ("max_concurrency = 0", "backends[0].max_concurrency: 0 is out of bounds; expected 1 to 10000"),
        ("max_concurrency = 10001", "10001 is out of bounds; expected 1 to 10000"),
        ("max_concurrency = -1", "-1 is out of bounds; expected 1 to 10000"),
        ("max_concurrency = 1.5", "got the number 1.5; expected a whole number, without quotes"),
        ("max_calls_per_second = 0", "expected a number above 0 and up to 1000000"),
        ("max_calls_per_second = nan", "expected a number above 0 and up to 1000000"),
        ("max_calls_per_second = inf", "expected a number above 0 and up to 1000000"),
        ("max_calls_per_second = \"9\"", "got the string \"9\"; expected a number of calls"),
    ] {
        let found = faults(&backend(line));
        assert!(found.len() == 1 && found[0].contains(words), "{line}: {found:?}");
    }
    let fast = parse(&backend("max_calls_per_second = 50")).unwrap();
    assert!((fast.backends[0].max_calls_per_second - 50.0).abs() < f64::EPSILON);
}

#[test]
fn a_backend_has_up_to_sixteen_addresses_each_named_once() {
    let backend = |ports: &[u16]| {
        let addresses: Vec<_> = ports.iter().map(|port| format!("http://127.0.0.1:{port}")).collect();
        format!("[[backends]]\nname = \"erp\"\naddresses = {addresses:?}\n")
    };
    let sixteen: Vec<u16> = (1..=16).collect();
    assert_eq!(parse(&backend(&sixteen)).unwrap().backends[0].addresses.len(), 16);
    let seventeen: Vec<u16> = (1..=17).collect();
    assert!(faults(&backend(&seventeen))[0].contains("17 addresses; expected 1 to 16"));
    assert!(faults(&backend(&[1, 2, 1]))[0].contains("addresses[2]: this address stands here twice"));
}

#[test]
fn backends_are_tables() {
    assert!(
        faults("backends = 3")[0].contains("backends: got the integer 3; expected tables, each headed [[backends]]")
    );
    assert!(faults("[backends]\nname = \"erp\"\n")[0].contains("backends: got a table"));
    assert!(faults("backends = [\"erp\"]")[0].contains("backends[0]: got the string \"erp\"; expected a table"));
}

#[test]
fn open_mode_stays_on_this_machine_unless_told_otherwise() {
    for local in ["127.0.0.1:0", "127.9.9.9:1", "[::1]:50051", "localhost:1", "unix:toolbatch.sock"] {
        assert!(parse(&format!("listen = \"{local}\"")).unwrap().listen.is_local(), "{local}");
    }
    for reachable in ["0.0.0.0:50051", "10.0.0.7:1", "[::]:1"] {
        let found = faults(&format!("listen = \"{reachable}\""));
        assert_eq!(found.len(), 1);
        assert!(found[0].contains("or set insecure = true"), "{found:?}");
        assert!(faults(&format!("listen = \"{reachable}\"\ninsecure = false"))[0].contains("insecure = true"));
        let config = parse(&format!("listen = \"{reachable}\"\ninsecure = true")).unwrap();
        assert_eq!(config.listen, tcp(reachable));
    }
    assert_eq!(faults("listen = \"0.0.0.0:1\"\ninsecure = \"true\"").len(), 1, "the type is the only fault");
}

#[test]
fn names_in_certificates_need_somebody_who_asks_for_certificates() {
    let operator = |name: &str| format!("[[operators]]\nid = \"ops\"\ncert_name = {name}\n");
    let (tls, ca) = ("[tls]\ncert = \"a.pem\"\nkey = \"a.key\"\n", "client_ca = \"c.pem\"\n");
    for missing in [operator("\"a.example\""), format!("{tls}{}", operator("\"a.example\""))] {
        let found = faults(&missing);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("cert_name = \"a.example\", but no client is asked for a certificate"), "{found:?}");
    }
    let names =
        |name: &str| parse(&format!("{tls}{ca}{}", operator(name))).map(|mut config| config.operators.remove(0).tokens);
    let name = |text: &str| Token::Certificate(text.into());
    assert_eq!(names("[\"A.Example\", \"spiffe://X/Y\"]").unwrap(), [name("a.example"), name("spiffe://X/Y")]);
    for wrong in ["\"\"", "\"a b\"", "[\"é\"]", &format!("{:?}", "a".repeat(257))] {
        let found = faults(&format!("{tls}{ca}{}", operator(wrong)));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("is no name in a certificate; expected a DNS name"), "{found:?}");
    }
}

#[test]
fn tokens_cross_no_network_unencrypted_unless_told_otherwise() {
    let operator = "[[operators]]\nid = \"ops\"\ntoken_file = \"t\"\n";
    let tls = "[tls]\ncert = \"a.pem\"\nkey = \"a.key\"\n";
    let (ca, port) = ("client_ca = \"c.pem\"\n", "listen = \"0.0.0.0:1\"\n");
    let found = faults(&format!("{port}{operator}"));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].contains("tokens would arrive unencrypted: add [tls]"), "{found:?}");
    assert!(faults(&format!("{port}{tls}"))[0].contains("nobody is asked for a token"));
    for right in
        [format!("{port}{tls}{operator}"), format!("{port}{tls}{ca}"), format!("{port}insecure = true\n{operator}")]
    {
        assert!(parse(&right).is_ok(), "{right}");
    }
}

#[test]
fn tls_has_certificate_and_key_and_a_port() {
    let found = faults("listen = \"unix:/run/t.sock\"\n[tls]\ncert = \"\"\ncerts = 1\n");
    assert_eq!(
        found,
        [
            "toolbatch.toml:2:1: tls lacks a field; add key = \"server.pem\"",
            "toolbatch.toml:2:1: tls: a Unix socket speaks no TLS: its file says who may connect; leave [tls] out, or listen on a port",
            "toolbatch.toml:3:8: tls.cert: \"\" is no path; expected that of a file, such as \"/etc/toolbatch/server.pem\"",
            "toolbatch.toml:4:1: unknown field \"certs\" in tls; did you mean \"cert\"?",
        ]
    );
}

#[test]
fn every_limit_has_bounds_and_none_can_be_switched_off() {
    let found = faults(
        "[limits]\nconnections = 0\nidle_timeout = \"0s\"\nheader_list_bytes = 99\nlocal_resets = \"1\"\nstream_window_bytes = 2_147_483_648\n",
    );
    assert_eq!(
        found,
        [
            "toolbatch.toml:2:15: limits.connections: 0 is out of bounds; expected 1 to 1000000",
            "toolbatch.toml:3:16: limits.idle_timeout: 0s is out of bounds; expected 100ms to 1d",
            "toolbatch.toml:4:21: limits.header_list_bytes: 99 is out of bounds; expected 1024 to 2147483647",
            "toolbatch.toml:5:16: limits.local_resets: got the string \"1\"; expected a whole number, without quotes",
            "toolbatch.toml:6:23: limits.stream_window_bytes: 2147483648 is out of bounds; expected 1024 to 2147483647",
        ]
    );
}

#[test]
fn addresses_to_listen_on() {
    assert_eq!(value::listen("localhost:7").unwrap(), tcp("127.0.0.1:7"));
    assert_eq!(value::listen("unix:///run/x.sock").unwrap(), Listen::Unix("/run/x.sock".into()));
    let too_long = format!("unix:/{}", "x".repeat(107));
    for wrong in ["", "50051", ":50051", "127.0.0.1", "localhost", "localhost:+1", "localhost:65536", "example.com:1"] {
        assert!(value::listen(wrong).unwrap_err().contains("is no address to listen on"), "{wrong}");
    }
    for wrong in ["unix:", "unix://", "unix://run/x", "unix:a\0b", &too_long] {
        assert!(value::listen(wrong).unwrap_err().contains("is no socket path"), "{wrong}");
    }
    assert!(value::listen(&too_long[..too_long.len() - 1]).is_ok());
}

#[test]
fn addresses_of_backends() {
    for right in [
        "http://127.0.0.1:7001",
        "http://localhost:1",
        "http://[::1]:65535",
        "HTTPS://erp:7001",
        "unix:/run/tools.sock",
    ] {
        assert_eq!(value::backend_address(right), Ok(()), "{right}");
    }
    for (wrong, says) in [
        ("", "is no backend address"),
        ("127.0.0.1:7001", "is no backend address"),
        ("ftp://erp:7001", "is no backend address"),
        ("http://", "is no backend address"),
        ("http://erp", "needs a host and a port"),
        ("http://erp:0", "needs a host and a port"),
        ("http://erp:65536", "needs a host and a port"),
        ("http://:7001", "needs a host and a port"),
        ("http://erp:7001/tools", "has a path"),
        ("http://erp:7001?x=1", "has a path"),
        ("https://erp", "needs a host and a port"),
        ("unix:tools.sock", "relative path"),
    ] {
        let message = value::backend_address(wrong).expect_err(wrong);
        assert!(message.contains(says), "{wrong}: {message}");
    }
}

#[test]
fn certificates_of_backends_are_for_tls_and_whole() {
    let backend = |lines: &str| format!("[[backends]]\nname = \"erp\"\naddresses = [\"https://erp:7001\"]\n{lines}\n");
    let tls = parse(&backend("ca = \"ca.pem\"")).unwrap().backends.remove(0).tls;
    assert_eq!(tls, BackendTls { ca: Some("ca.pem".into()), identity: None });
    let half = faults(&backend("cert = \"c.pem\""));
    assert!(
        half[0].starts_with("toolbatch.toml:4:8: backends[0].cert: it needs the other half; add key = "),
        "{half:?}"
    );
    let plain = faults(&backend("ca = \"ca.pem\"").replace("https", "http"));
    assert!(plain[0].contains("backends[0].ca: it is for TLS alone"), "{plain:?}");
    let registered = parse("[registration]\nca = \"ca.pem\"\ncert = \"c.pem\"\nkey = \"c.key\"").unwrap().registration;
    let identity = Some(Identity { cert: "c.pem".into(), key: "c.key".into() });
    assert_eq!(registered.tls, BackendTls { ca: Some("ca.pem".into()), identity });
    assert!(faults("[registration]\nkey = \"c.key\"")[0].contains("registration.key: it needs the other half"));
}

#[test]
fn passwords_in_addresses_are_refused_and_not_repeated() {
    for address in ["http://me:hunter2@erp:7001", "https://me:hunter2@erp:7001"] {
        let message = value::backend_address(address).unwrap_err();
        assert!(message.contains("no user name or password") && !message.contains("hunter2"), "{message}");
    }
}

#[test]
fn durations() {
    for (text, milliseconds) in
        [("0s", 0), ("500ms", 500), ("30s", 30_000), ("5m", 300_000), ("2h", 7_200_000), ("1d", 86_400_000)]
    {
        let duration = Duration::from_millis(milliseconds);
        assert_eq!(value::duration(text), Ok(duration));
        assert_eq!(value::duration_text(duration), text);
    }
    for wrong in
        ["", "30", "s", "-1s", "+1s", "1.5s", "1h30m", " 30s", "30 s", "30S", "99999999999999999999s", "213503982335d"]
    {
        assert!(value::duration(wrong).unwrap_err().contains("is not a duration"), "{wrong}");
    }
    assert_eq!(value::duration_text(Duration::from_millis(1_500)), "1500ms");
}

#[test]
fn durations_are_bounded() {
    for right in ["shutdown_grace = \"10m\"", "call_timeout = \"1ms\"", "call_timeout = \"1440m\""] {
        assert!(parse(right).is_ok(), "{right}");
    }
    assert!(faults("shutdown_grace = \"601s\"")[0].contains("601s is out of bounds; expected 0s to 10m"));
    assert!(faults("call_timeout = \"0s\"")[0].contains("0s is out of bounds; expected 1ms to 1d"));
    assert!(faults("call_timeout = \"86401s\"")[0].contains("86401s is out of bounds; expected 1ms to 1d"));
}

#[test]
fn tools_that_no_batch_may_call() {
    for right in ["run_code", "await_*", "Über*"] {
        assert_eq!(value::tool_pattern(right), Ok(()), "{right}");
    }
    let too_long = "x".repeat(257);
    for wrong in ["", "*", "a*b", "a**", "a\nb", &too_long] {
        assert!(value::tool_pattern(wrong).is_err(), "{wrong:?}");
    }
    assert_eq!(parse("not_batchable = []").unwrap().not_batchable, Vec::<String>::new());
}

#[test]
fn all_faults_of_prices_are_named_at_once() {
    let long = "u".repeat(65);
    let found = faults(&format!(
        r#"[prices]
curency = "USD"
[prices.tools]
ask = {{ calls = 0.5, pages = "-1", {long} = "1" }}
"" = {{ calls = "1" }}
post = "0.1"
ok = {{ calls = "999999999.999999999999" }}
"#
    ));
    let expected = [
        r#"1:1: prices lacks a field; add currency = "USD""#,
        r#"2:1: unknown field "curency" in prices; did you mean "currency"?"#,
        r#"4:17: prices.tools.ask.calls: got the number 0.5; expected a price such as "0.002" as a string"#,
        r#"4:30: prices.tools.ask.pages: "-1" is no price; expected 1 to 9 digits, then at most a point and 1 to 12 digits, such as "0.002""#,
        &format!(
            r#"4:36: prices.tools.ask: "{long}" is no unit; expected 1 to 64 bytes (this has 65) without control characters"#
        ),
        r#"5:1: prices.tools: "" is no tool name; expected 1 to 256 bytes (this has 0) without control characters"#,
        r#"6:8: prices.tools.post: got the string "0.1"; expected a table of units"#,
    ];
    assert_eq!(found, expected.map(|line| format!("toolbatch.toml:{line}")));
    assert!(faults("prices = 3")[0].contains("prices: got the integer 3; expected a table with currency and tools"));
    for wrong in ["usd", "US", "EURO", "U D", ""] {
        let found = faults(&format!("prices.currency = \"{wrong}\""));
        assert!(found[0].contains("is no currency; expected three capital letters"), "{found:?}");
    }
}

#[test]
fn prices_have_up_to_a_thousand_tools_of_up_to_64_units() {
    let units = |count: usize| (0..count).map(|unit| format!("u{unit} = \"1\"\n")).collect::<Vec<_>>().concat();
    let file = |tools: &str| format!("[prices]\ncurrency = \"USD\"\n[prices.tools{tools}");
    assert!(parse(&file(&format!(".t]\n{}", units(64)))).is_ok());
    let found = faults(&file(&format!(".t]\n{}", units(65))));
    assert!(found[0].contains("prices.tools.t: 65 units; expected at most 64"), "{found:?}");
    let tools = (0..1_001).map(|tool| format!("t{tool} = {{}}\n")).collect::<Vec<_>>().concat();
    let found = faults(&file(&format!("]\n{tools}")));
    assert!(found[0].contains("prices.tools: 1001 tools; expected at most 1000"), "{found:?}");
}

#[test]
fn folders() {
    assert!(faults("data_dir = \"\"")[0].contains("data_dir: \"\" is no path"));
    assert!(
        faults("data_dir = 1979-05-27")[0].contains("data_dir: got the date 1979-05-27; expected a path as a string")
    );
}

#[test]
fn files_are_read_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("toolbatch.toml");
    let missing = Config::load(&path).unwrap_err().to_string();
    assert!(missing.starts_with(&format!("{}: No such file", path.display())), "{missing}");

    fs::write(&path, "listen = \"127.0.0.1:0\"\n").unwrap();
    assert_eq!(Config::load(&path).unwrap().listen, tcp("127.0.0.1:0"));

    fs::write(&path, "insecure = 1\n").unwrap();
    let wrong = Config::load(&path).unwrap_err().to_string();
    assert!(wrong.starts_with(&format!("{}:1:12: insecure: got the integer 1", path.display())), "{wrong}");

    fs::write(&path, b"\n\ndata_dir = \"\xff\"\n").unwrap();
    assert!(Config::load(&path).unwrap_err().to_string().contains("line 3 is not UTF-8"));

    fs::write(&path, vec![b'\n'; usize::try_from(MAX_FILE).unwrap() + 1]).unwrap();
    assert!(Config::load(&path).unwrap_err().to_string().contains("it is over 1048576 bytes"));
}

/// Pieces that make texts which get past the parser more often than plain noise does.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec![
            "listen",
            "data_dir",
            "insecure",
            "not_batchable",
            "backends",
            "name",
            "addresses",
            "max_concurrency",
            "max_calls_per_second",
            " = ",
            "[[backends]]\n",
            "[",
            "]",
            "{",
            "}",
            ",",
            "\n",
            "\"\"",
            "\"30s\"",
            "\"unix:/x\"",
            "\"http://a:1\"",
            "true",
            "7",
            "0.5",
            "'''",
            "\"",
            "#",
            ".",
            "1979-05-27",
            "\u{feff}",
            "ä",
        ])
        .prop_map(String::from),
        ".{0,4}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4096, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever a file holds, the answer is a configuration or faults at places within the text.
    #[test]
    fn any_text_is_answered(pieces in prop::collection::vec(piece(), 0..24)) {
        let text = pieces.concat();
        let lines = text.split('\n').count();
        match parse(&text) {
            Ok(config) => prop_assert!(config.insecure || config.listen.is_local()),
            Err(Error::Invalid { faults, .. }) => {
                prop_assert!(!faults.is_empty() && faults.is_sorted());
                prop_assert!(faults.iter().all(|fault| (1..=lines).contains(&fault.line) && fault.column >= 1));
                prop_assert!(faults.iter().all(|fault| !fault.message.contains('\n')));
            }
            Err(Error::Unreadable { .. }) => prop_assert!(false, "no file was read"),
        }
    }

    #[test]
    fn any_duration_written_is_read_back(milliseconds in any::<u32>()) {
        let duration = Duration::from_millis(milliseconds.into());
        prop_assert_eq!(value::duration(&value::duration_text(duration)), Ok(duration));
    }
}
