//! Fills a new data folder with finished keyed calls, as a server would have left them, and much faster: to measure a start on it.
//!
//! ```sh
//! cargo run --profile fast --example fill_store -- DIR 1000000
//! ```

mod fill;

use std::{error::Error, path::Path};

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let usage = "expected a folder that is not there yet, and how many calls: fill_store DIR 1000000";
    let (Some(dir), Some(calls)) = (args.next(), args.next()) else { return Err(usage.into()) };
    let (dir, calls) = (Path::new(&dir), calls.parse::<u64>()?);
    if dir.exists() {
        return Err(usage.into());
    }
    println!("{}", fill::fill(dir, calls)?);
    Ok(())
}
