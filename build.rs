//! Compiles the public contract (`proto/`) and the store's private records (`src/store/`) without a protoc on the machine.

use std::{env, error::Error, fs, path::PathBuf};

use prost::Message as _;

fn main() -> Result<(), Box<dyn Error>> {
    let out = PathBuf::from(env::var("OUT_DIR")?);
    println!("cargo:rerun-if-changed=proto");
    println!("cargo:rerun-if-changed=src/store/records.proto");

    let contract = protox::compile(
        [
            "toolbatch/v1/batch.proto",
            "toolbatch/v1/registry.proto",
            "toolbatch/v1/task.proto",
            "toolbatch/v1/tool.proto",
        ],
        ["proto"],
    )?;
    fs::write(out.join("descriptors.bin"), contract.encode_to_vec())?;
    // Pieces of a large result go from the store to the wire as they are.
    tonic_prost_build::configure().bytes(".toolbatch.v1.ReadStepResultResponse").compile_fds(contract)?;

    let records = protox::compile(["records.proto"], ["src/store"])?;
    tonic_prost_build::configure().build_client(false).build_server(false).bytes(".").compile_fds(records)?;
    Ok(())
}
