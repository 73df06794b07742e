//! `toolbatch usage`.

use std::collections::BTreeMap;

use super::{
    args::ClientArgs,
    connect::{Link, answer},
    exit::{Exit, Failure},
    pages::Pages,
    render::{Form, Tone, json, print_json, table::Cell, words},
};
use crate::proto::{ListUsageRequest, UsageRow};

/// What a task used, of one tool and unit.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Total {
    pub(crate) rows: u64,
    pub(crate) quantity: f64,
    /// In thousand-millionths; the sum of any number of rows fits.
    pub(crate) cost_nanos: i128,
}

/// A task's usage, added up.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Totals {
    /// By tool, unit and currency.
    pub(crate) units: BTreeMap<(String, String, String), Total>,
    /// By currency, for what has a price.
    pub(crate) costs: BTreeMap<String, i128>,
}

/// Shows what a task used and what that costs.
pub(crate) async fn usage(task: &str, client: &ClientArgs) -> Result<Exit, Failure> {
    let link = Link::open(&client.server).await?;
    let form = Form::choose(client.json);
    let mut pages = Pages::new(u32::MAX);
    let mut totals = Totals::default();
    while let Some((page_size, page_token)) = pages.next() {
        let request = ListUsageRequest { task_id: task.to_owned(), page_size, page_token };
        let page = answer(link.tasks().list_usage(request)).await?;
        for row in &pages.take(page.rows, page.next_page_token) {
            totals.add(row);
            if let Form::Json { terminal } = form {
                print_json(&json::usage_row(row), terminal)?;
            }
        }
    }
    if let Form::Json { terminal } = form {
        print_json(&json::usage_totals(&totals), terminal)?;
    }
    let rows = if form.is_for_people() { totals.table() } else { Vec::new() };
    pages.finish(form, &["TOOL", "UNIT", "STEPS", "QUANTITY", "COST"], rows)
}

impl Totals {
    fn add(&mut self, row: &UsageRow) {
        let key = (row.tool.clone(), row.unit.clone(), row.currency.clone());
        let total = self.units.entry(key).or_default();
        total.rows += 1;
        total.quantity += row.quantity;
        total.cost_nanos += i128::from(row.cost_nanos);
        if !row.currency.is_empty() {
            *self.costs.entry(row.currency.clone()).or_default() += i128::from(row.cost_nanos);
        }
    }

    /// A row for each tool and unit, then one for each currency.
    fn table(&self) -> Vec<Vec<Cell>> {
        let cost = |nanos, currency: &str| {
            if currency.is_empty() { String::new() } else { format!("{} {currency}", words::nanos(nanos)) }
        };
        let units = self.units.iter().map(|((tool, unit, currency), total)| {
            vec![
                Cell::new(tool),
                Cell::new(unit),
                Cell::new(total.rows.to_string()),
                Cell::new(total.quantity.to_string()),
                Cell::new(cost(total.cost_nanos, currency)),
            ]
        });
        let costs = self.costs.iter().map(|(currency, nanos)| {
            let mut row = vec![Cell::toned("total", Tone::Strong)];
            row.extend([Cell::new(""), Cell::new(""), Cell::new("")]);
            row.push(Cell::toned(cost(*nanos, currency), Tone::Strong));
            row
        });
        units.chain(costs).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::render::{Palette, table};

    fn row(tool: &str, quantity: f64, cost_nanos: i64, currency: &str) -> UsageRow {
        UsageRow {
            step_id: "s".into(),
            tool: tool.into(),
            unit: "calls".into(),
            quantity,
            cost_nanos,
            currency: currency.into(),
        }
    }

    fn totals() -> Totals {
        let mut totals = Totals::default();
        for row in [
            row("ask\u{1b}", 1.0, i64::MAX, "USD"),
            row("ask\u{1b}", 1.5, 1, "USD"),
            row("free", 1.0, 0, ""),
            row("post", 1.0, 2_000_000, "USD"),
        ] {
            totals.add(&row);
        }
        totals
    }

    #[test]
    fn totals_are_exact_to_the_last_digit() {
        let lines = table::lines(&["TOOL", "UNIT", "STEPS", "QUANTITY", "COST"], totals().table(), Palette::Bare, None);
        assert_eq!(
            lines,
            [
                "TOOL       UNIT   STEPS  QUANTITY  COST",
                "ask\\u001b  calls  2      2.5       9223372036.854775808 USD",
                "free       calls  1      1",
                "post       calls  1      1         0.002 USD",
                "total                              9223372036.856775808 USD",
            ]
        );
    }

    #[test]
    fn rows_and_totals_are_objects() {
        assert_eq!(
            json::usage_row(&row("free", 2.0, 0, "")),
            r#"{"step_id":"s","tool":"free","unit":"calls","quantity":2.0,"cost_nanos":0}"#
        );
        assert_eq!(
            json::usage_totals(&totals()),
            concat!(
                r#"{"totals":[{"tool":"ask\u001b","unit":"calls","steps":2,"quantity":2.5,"cost_nanos":9223372036854775808,"currency":"USD"},"#,
                r#"{"tool":"free","unit":"calls","steps":1,"quantity":1.0,"cost_nanos":0},"#,
                r#"{"tool":"post","unit":"calls","steps":1,"quantity":1.0,"cost_nanos":2000000,"currency":"USD"}],"#,
                r#""costs":[{"cost_nanos":9223372036856775808,"currency":"USD"}]}"#
            )
        );
    }
}
