//! The figures: as a table for people, as JSON for programs.

use serde_json::{Map, Value, json};

/// What a row has to reach.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Must {
    AtMost(f64),
    AtLeast(f64),
}

impl Must {
    fn bound(self) -> f64 {
        match self {
            Self::AtMost(bound) | Self::AtLeast(bound) => bound,
        }
    }

    fn is_met(self, ratio: f64) -> bool {
        match self {
            Self::AtMost(bound) => ratio <= bound,
            Self::AtLeast(bound) => ratio >= bound,
        }
    }
}

/// One figure.
#[derive(Debug)]
pub(crate) struct Row {
    /// Such as `W1`.
    pub(crate) work: &'static str,
    /// What is measured.
    pub(crate) what: String,
    /// The floor, with its unit.
    pub(crate) floor: String,
    /// Toolbatch, with the same unit.
    pub(crate) reached: String,
    pub(crate) ratio: f64,
    pub(crate) must: Must,
}

/// All figures.
#[derive(Debug, Default)]
pub(crate) struct Report {
    rows: Vec<Row>,
}

impl Report {
    /// Notes a figure and shows it, since a run is long.
    pub(crate) fn add(&mut self, row: Row) {
        eprintln!("{}", line(&row));
        self.rows.push(row);
    }

    pub(crate) fn print(&self) {
        println!("| work | what | floor | toolbatch | ratio | must | |\n| --- | --- | --- | --- | --- | --- | --- |");
        for row in &self.rows {
            println!("{}", line(row));
        }
    }

    /// `{"W1": {"ratio": ..., "must": 1.5, "bound": "at most", "met": true, ...}, ...}`; a work of two figures is `W8` and `W8 memory`.
    pub(crate) fn json(&self) -> String {
        let rows = self.rows.iter().map(|row| {
            let bound = match row.must {
                Must::AtMost(_) => "at most",
                Must::AtLeast(_) => "at least",
            };
            let value = json!({
                "ratio": (row.ratio * 1_000.0).round() / 1_000.0,
                "must": row.must.bound(),
                "bound": bound,
                "met": row.must.is_met(row.ratio),
                "what": row.what,
                "floor": row.floor,
                "reached": row.reached,
            });
            (row.work.to_owned(), value)
        });
        let all: Map<String, Value> = rows.collect();
        serde_json::to_string_pretty(&all).expect("it is JSON") + "\n"
    }
}

fn line(row: &Row) -> String {
    let Row { work, what, floor, reached, ratio, must } = row;
    let sign = match must {
        Must::AtMost(_) => "≤",
        Must::AtLeast(_) => "≥",
    };
    let met = if must.is_met(*ratio) { "met" } else { "short" };
    format!("| {work} | {what} | {floor} | {reached} | {ratio:.2} | {sign} {} | {met} |", must.bound())
}
