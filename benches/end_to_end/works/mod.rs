//! The rows.

mod large;
pub(crate) mod load;
mod many;
mod order;
mod over;
mod stored;
mod told;

use std::time::Duration;

use crate::{
    client::median,
    lab::Lab,
    report::{Must, Report, Row},
};

/// Runs the rows that are asked for; all, where none is named.
pub(crate) async fn run(lab: &mut Lab, wanted: &[String], report: &mut Report) {
    let wants = |work: &str| wanted.is_empty() || wanted.iter().any(|wanted| wanted.eq_ignore_ascii_case(work));
    if wants("W1") {
        report.add(order::sequential(lab).await);
    }
    if wants("W2") {
        report.add(order::parallel(lab).await);
    }
    if wants("W3") {
        report.add(order::parallel_slow(lab).await);
    }
    if wants("W4") {
        report.add(order::lanes(lab).await);
    }
    if wants("W5") {
        report.add(told::news(lab).await);
    }
    if wants("W6") {
        report.add(load::flood(lab).await);
    }
    if wants("W7") {
        report.add(large::result(lab).await);
    }
    if wants("W8") {
        many::readers(lab).await.into_iter().for_each(|row| report.add(row));
    }
    if wants("W9") {
        report.add(many::batches(lab).await);
    }
    if wants("W10") {
        stored::calls(lab).await.into_iter().for_each(|row| report.add(row));
    }
    if wants("W11") {
        report.add(over::load(lab).await);
    }
}

/// A row of two durations: what each side took for so many calls.
fn row(work: &'static str, what: &str, times: (Vec<Duration>, Vec<Duration>), calls: usize, must: f64) -> Row {
    let (floor, reached) = (median(times.0), median(times.1));
    let a_call = |time: Duration| format!("{:.0} µs a call", time.as_secs_f64() * 1e6 / calls as f64);
    Row {
        work,
        what: what.to_owned(),
        floor: a_call(floor),
        reached: a_call(reached),
        ratio: reached.as_secs_f64() / floor.as_secs_f64(),
        must: Must::AtMost(must),
    }
}
