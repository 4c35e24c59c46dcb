//! Our program in place of the original: as Ganeti's own allocator, and as the tools on the master under their names.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};

use super::placement::placements;
use crate::cluster::Cluster;
use crate::tools;

/// The tools that only read, run on the master without naming the cluster.
const READERS: [&[&str]; 5] =
    [&["hbal", "-L", "-l2"], &["hinfo", "-L"], &["hcheck", "-L"], &["hspace", "-L"], &["hroller", "-L"]];

/// New instances and emptied nodes with `-I hail`, and the other tools. Afterwards Ganeti finds the cluster sound.
pub fn in_place_of_the_original(cluster: &Cluster) -> anyhow::Result<()> {
    let before = complaints(cluster)?;
    let place = Place::take(cluster)?;
    let result = used(cluster, &place, &before);
    place.leave()?;
    result
}

fn used(cluster: &Cluster, place: &Place, before: &[String]) -> anyhow::Result<()> {
    let version = cluster.exec(&["/usr/lib/ganeti/iallocators/hail", "--version"])?.good()?.stdout;
    ensure!(version.starts_with("hail (htools) version "), "Ganeti's allocator is {version}");
    for words in READERS {
        let tool = place.tools.join(words[0]);
        let tool = tool.to_str().context("a path without text")?;
        let version = cluster.exec(&[tool, "--version"])?.good()?.stdout;
        ensure!(version.starts_with(&format!("{} (htools) version ", words[0])), "{tool} is {version}");
        let output = cluster.exec(&[&[tool][..], &words[1..]].concat())?;
        // The status of hcheck says that something could be better.
        ensure!(output.status == 0 || words[0] == "hcheck", "{}: {}", output.command, output.streams());
    }
    run(
        cluster,
        "gnt-instance add -t drbd -o noop+default --disk 0:size=1g -B memory=512 --no-name-check --no-ip-check \
         -I hail inst22.vc.test",
    )?;
    ensure!(placements(cluster)?.contains_key("inst22.vc.test"), "there is no new instance");
    run(cluster, "gnt-node evacuate -f --primary-only -I hail node3.vc.test")?;
    run(cluster, "gnt-node evacuate -f --secondary-only -I hail node3.vc.test")?;
    let left = placements(cluster)?;
    let there = left.iter().find(|(_, place)| place.nodes().any(|node| node == "node3.vc.test"));
    ensure!(there.is_none(), "node3 was evacuated, but there is {there:?}");
    let after = complaints(cluster)?;
    let new: Vec<&String> = after.iter().filter(|line| !before.contains(line)).collect();
    ensure!(new.is_empty(), "gnt-cluster verify: {new:?}");
    Ok(())
}

fn run(cluster: &Cluster, line: &str) -> anyhow::Result<()> {
    cluster.exec(&line.split_whitespace().collect::<Vec<_>>())?.good()?;
    Ok(())
}

/// Errors of the cluster according to `gnt-cluster verify`.
fn complaints(cluster: &Cluster) -> anyhow::Result<Vec<String>> {
    let output = cluster.exec(&["gnt-cluster", "verify", "--error-codes"])?;
    ensure!(output.stdout.contains("Verifying"), "no verification{}", output.streams());
    let lines = output.stdout.lines().filter(|line| line.contains("ERROR"));
    // In front of "- ERROR:ENODEN1:..." are the time and the job.
    Ok(lines.map(|line| line.split_once("ERROR").map_or(line, |(_, error)| error).to_owned()).collect())
}

/// Former place of the original's tools and allocator.
struct Place {
    /// The directory of the tools.
    tools: PathBuf,
    /// The allocator, and the former target of its link.
    hail: Option<(PathBuf, PathBuf)>,
}

impl Place {
    /// Replaces the original for a while. If the package is installed, there is nothing to do.
    fn take(cluster: &Cluster) -> anyhow::Result<Place> {
        if tools::are_installed() {
            return Ok(Place { tools: PathBuf::from("/usr/bin"), hail: None });
        }
        let program = cluster.copy_program()?;
        let tools = cluster.path("tools");
        let _ = fs::remove_dir_all(&tools);
        fs::create_dir(&tools)?;
        for words in READERS {
            symlink(&program, tools.join(words[0]))?;
        }
        let hail = Path::new(cluster.value("GANETI_IALLOCATOR_DIR")).join("hail");
        let original = fs::read_link(&hail)?;
        fs::remove_file(&hail)?;
        symlink(&program, &hail)?;
        Ok(Place { tools, hail: Some((hail, original)) })
    }

    fn leave(self) -> anyhow::Result<()> {
        if let Some((hail, original)) = self.hail {
            fs::remove_file(&hail)?;
            symlink(original, &hail)?;
        }
        Ok(())
    }
}
