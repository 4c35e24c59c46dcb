//! hplace --strategy affinity on hostile or odd documents and clusters.

mod cibs;
mod documents;
mod ganeti;

use assert_cmd::Command;
use assert_cmd::assert::Assert;

fn hplace(words: &[&str], document: impl Into<Vec<u8>>) -> Assert {
    let mut command = Command::new(env!("CARGO_BIN_EXE_htools"));
    command.env_remove("HTOOLS").args(["hplace", "-j", "-"]).args(words).write_stdin(document).assert()
}

/// A document with one node and one machine, each with these keys.
fn small(node_keys: &str, keys: &str) -> String {
    format!(
        r#"{{"nodes": [{{"name": "n", "ram_total": 8192, "cpus": 4, "load": 0, "keys": [{node_keys}]}}], "vms": [{{"name": "vm", "ram": 512, "vcpus": 1, "keys": {{{keys}}}}}]}}"#
    )
}
