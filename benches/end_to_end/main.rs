//! What a call costs through toolbatch, over the raw floor of the same machine, in the same run: the release binary, a raw tonic tool
//! backend and a raw tonic client side by side. docs/performance.md explains each row.
//!
//! ```sh
//! cargo bench --bench end_to_end                                  # all rows, some minutes
//! cargo bench --bench end_to_end -- --short --json figures.json   # fewer rounds
//! cargo bench --bench end_to_end -- W1 W6                         # only these
//! cargo bench --bench end_to_end -- --plot docs/cost.svg          # cost against length, width and number of batches
//! ```

#![allow(clippy::cast_precision_loss, reason = "figures for people, of a few digits")]

mod backend;
mod client;
mod disk;
#[path = "../../examples/fill_store/fill.rs"]
mod fill;
mod floor;
mod lab;
mod plot;
mod process;
mod readers;
mod report;
mod server;
mod works;

use std::path::PathBuf;

use clap::Parser;

use self::{lab::Lab, report::Report};

/// Measures toolbatch against the raw floor. Read the ratios: single times say little on a shared machine.
#[derive(Debug, Parser)]
struct Args {
    /// Only these rows, such as W1; all by default.
    works: Vec<String>,
    /// Fewer rounds, and only 10^5 calls on disk for W10.
    #[arg(long)]
    short: bool,
    /// Writes the figures there as JSON: {"W1": {"ratio": ..., "must": 1.5}, ...}.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Measures only the cost of a call against list length, width and number of batches, and draws it there.
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// cargo passes this.
    #[arg(long, hide = true)]
    bench: bool,
    /// This process is the tool backend, and writes into that file where a tool does.
    #[arg(long, hide = true, value_name = "FILE")]
    backend: Option<PathBuf>,
    /// This process follows a batch many times over: endpoint, batch, readers.
    #[arg(long, hide = true, num_args = 3)]
    readers: Option<Vec<String>>,
}

fn main() {
    let args = Args::parse();
    if let Some(file) = &args.backend {
        return backend::serve(file);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        if let Some(readers) = &args.readers {
            return readers::follow(&readers[0], &readers[1], readers[2].parse().expect("a number")).await;
        }
        let mut lab = Lab::open(args.short).await;
        if let Some(file) = &args.plot {
            return plot::draw(&mut lab, file).await;
        }
        let mut report = Report::default();
        works::run(&mut lab, &args.works, &mut report).await;
        report.print();
        if let Some(file) = &args.json {
            std::fs::write(file, report.json()).expect("the figures can be written");
        }
    });
}
