//! The pages to check: one of each kind.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};

/// A page: a tool, its options and the cluster.
pub struct Sample {
    pub name: &'static str,
    words: &'static [&'static str],
    cluster: SampleCluster,
}

/// Source of a cluster.
enum SampleCluster {
    /// A file in the tree.
    File(&'static str),
    /// Generated, with these numbers of nodes and instances.
    Made(&'static str, &'static str),
}

use SampleCluster::{File, Made};

const fn sample(name: &'static str, words: &'static [&'static str], cluster: SampleCluster) -> Sample {
    Sample { name, words, cluster }
}

const OFFLINE: Sample = sample("hbal-offline", &["hbal"], File("data/offline-nodes.data"));
const HEALING: Sample = sample("hgroup-redistribute", &["hgroup", "redistribute"], File("data/pools.data"));
const PLACEMENT: Sample = sample("hplace", &["hplace"], File("data/pacemaker-six-nodes.xml"));
const DEEP: Sample = sample("hbal-deep", &["hbal", "--deep"], File("data/unbalanced-drbd.data"));

pub const SAMPLES: &[Sample] = &[
    OFFLINE,
    DEEP,
    HEALING,
    sample("hbal-balanced", &["hbal"], File("data/balanced.data")),
    sample("hbal-all-groups", &["hbal", "--all-groups"], File("data/pools.data")),
    sample("hbal-large", &["hbal", "-l", "60"], Made("300", "1500")),
    sample("hgroup-status", &["hgroup", "status"], File("data/pools.data")),
    sample("hgroup-compress", &["hgroup", "compress", "--evacuate"], File("data/pools.data")),
    sample("hgroup-balance", &["hgroup", "balance"], File("data/pools.data")),
    sample("hsqueeze", &["hsqueeze", "--all"], File("data/week.data")),
    sample("hspace", &["hspace", "--disk-template", "drbd"], File("data/unbalanced-drbd.data")),
    sample("hcheck", &["hcheck"], File("data/offline-nodes.data")),
    sample("hcheck-loss", &["hcheck", "--without-node", "node1"], File("data/unbalanced-drbd.data")),
    sample("hroller", &["hroller"], File("data/unbalanced-drbd.data")),
    PLACEMENT,
    sample("hplace-optimal", &["hplace", "--strategy", "optimal"], File("data/pacemaker-six-nodes.xml")),
    sample("hplace-ganeti", &["hplace"], File("data/unbalanced-drbd.data")),
];

/// A picture for the documents.
pub struct Picture {
    pub file: &'static str,
    pub sample: Sample,
    /// `light` or `dark`.
    pub scheme: &'static str,
    /// Width in pixels.
    pub width: u32,
    pub height: u32,
}

pub const PICTURES: &[Picture] = &[
    Picture { file: "hbal.png", sample: OFFLINE, scheme: "light", width: 1280, height: 1030 },
    Picture { file: "hgroup.png", sample: HEALING, scheme: "dark", width: 1280, height: 1030 },
    Picture { file: "hplace.png", sample: PLACEMENT, scheme: "light", width: 1280, height: 1030 },
    Picture { file: "phone.png", sample: DEEP, scheme: "light", width: 390, height: 1240 },
];

impl Sample {
    /// Creates the page in a directory, and returns its address.
    pub fn page(&self, directory: &Path) -> anyhow::Result<String> {
        let cluster = match self.cluster {
            File(path) => path.into(),
            Made(nodes, instances) => {
                let text = run(&["generate", nodes, instances, "drbd"])?;
                let path = directory.join("made.data");
                fs::write(&path, text)?;
                path
            }
        };
        let page = directory.join(self.name).with_extension("html");
        let (cluster, file) = (cluster.to_string_lossy(), page.to_string_lossy());
        let source = if cluster.ends_with(".xml") { "-x" } else { "-t" };
        run(&[self.words, &[source, &cluster, "--report", &file]].concat())?;
        ensure!(page.exists(), "there is no page");
        Ok(format!("file://{file}"))
    }
}

/// Standard output of a run. A tool that achieves only a part exits with status 1, but writes its page.
fn run(words: &[&str]) -> anyhow::Result<Vec<u8>> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_htools"));
    let output = command.env_remove("HTOOLS").args(words).stdin(Stdio::null()).output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    let code = output.status.code().context("it was killed")?;
    ensure!(code <= 2 && !said.contains("rror:"), "{words:?} ended with {code}: {said}");
    Ok(output.stdout)
}
