//! Several addresses of one backend, and what each says of its health.

use toolbatch::{
    batch::{event::Reason, outcome::Outcome},
    config,
    dispatch::{Attempt, Backends, Presence, Reply},
};

use super::{SHORT, attempt, backends, call, not_sent};
use crate::backend::ScriptedBackend;

async fn replicas(of: &[&ScriptedBackend]) -> Backends {
    let addresses = of.iter().map(|replica| replica.address().to_owned()).collect();
    backends(&[config::Backend { name: "stub".to_owned(), addresses, ..config::Backend::default() }]).await
}

async fn effect(backends: &Backends, id: &str) -> Reply {
    call(backends, "effect", &format!(r#"{{"id":"{id}"}}"#)).await
}

/// Calls until each of these has had one.
async fn until_all_serve(backends: &Backends, replicas: &[&ScriptedBackend]) {
    let had = |replica: &ScriptedBackend| replica.journal().entries().len();
    let before: Vec<_> = replicas.iter().map(|replica| had(replica)).collect();
    while replicas.iter().zip(&before).any(|(replica, before)| had(replica) == *before) {
        assert!(matches!(effect(backends, "warm").await, Outcome::Completed { .. }));
    }
}

#[tokio::test]
async fn calls_go_to_each_replica_in_turn_and_past_one_that_is_away() {
    let (one, mut two) = (ScriptedBackend::start().await, ScriptedBackend::start().await);
    let backends = replicas(&[&one, &two]).await;
    until_all_serve(&backends, &[&one, &two]).await;
    let counts = || (one.journal().entries().len(), two.journal().entries().len());
    let before = counts();
    for _ in 0..10 {
        assert!(matches!(effect(&backends, "a").await, Outcome::Completed { .. }));
    }
    assert_eq!(counts(), (before.0 + 5, before.1 + 5));

    two.crash().await;
    for _ in 0..10 {
        assert!(matches!(effect(&backends, "b").await, Outcome::Completed { .. }));
    }
    assert_eq!(one.journal().entries().len(), before.0 + 15);
    assert_eq!(backends.states()[0].presence, Presence::Reached, "one is enough");
    two.restart().await;
    until_all_serve(&backends, &[&one, &two]).await;
}

#[tokio::test]
async fn a_replica_that_says_it_does_not_serve_gets_no_calls_until_it_does() {
    let stub = ScriptedBackend::start().await;
    stub.set_serves(false);
    let backends = replicas(&[&stub]).await;
    let attempt = || Attempt { connect_wait: SHORT, ..attempt("effect", r#"{"id":"a"}"#) };
    // Its health is asked for after its list, so that some calls may come before.
    let mut refused = backends.call(attempt(), &|_| {}).await;
    while matches!(refused, Outcome::Completed { .. }) {
        refused = backends.call(attempt(), &|_| {}).await;
    }
    assert!(not_sent(&refused, Reason::BackendUnavailable).contains("does not serve"), "{refused:?}");
    assert!(matches!(&backends.states()[0].presence, Presence::NotServing { .. }));
    let calls = stub.journal().entries().len();
    stub.set_serves(true);
    assert!(matches!(effect(&backends, "b").await, Outcome::Completed { .. }));
    assert_eq!(stub.journal().entries().len(), calls + 1);
    assert_eq!(backends.states()[0].presence, Presence::Reached);
}
