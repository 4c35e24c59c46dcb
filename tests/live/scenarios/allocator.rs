//! Ganeti uses our hail as its allocator.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use serde_json::Value;

use super::placement::{Placement, placements};
use crate::child;
use crate::cluster::Cluster;
use crate::tools::{self, READING, same_text};

/// The name under which Ganeti finds our hail.
const NAME: &str = "ourhail";

/// New instances, new secondaries and emptied nodes: all instances go where our hail says, and the reference's hail
/// gives the same answer.
pub fn decides(cluster: &Cluster) -> anyhow::Result<()> {
    let asked = install(cluster)?;
    let add = "gnt-instance add -t drbd -o noop+default --disk 0:size=1g -B memory=512 --no-name-check \
               --no-ip-check -I ourhail inst21.vc.test";
    run(cluster, add)?;
    went_as_told(cluster, &asked, &["inst21.vc.test"])?;
    run(cluster, "gnt-instance replace-disks -I ourhail inst01.vc.test")?;
    went_as_told(cluster, &asked, &["inst01.vc.test"])?;
    // An instance that moves its primary may leave its secondary there.
    run(cluster, "gnt-node evacuate -f --primary-only -I ourhail node3.vc.test")?;
    went_as_told(cluster, &asked, &[])?;
    run(cluster, "gnt-node evacuate -f --secondary-only -I ourhail node3.vc.test")?;
    went_as_told(cluster, &asked, &[])?;
    let left = placements(cluster)?;
    let there = left.iter().find(|(_, place)| place.nodes().any(|node| node == "node3.vc.test"));
    ensure!(there.is_none(), "node3 was evacuated, but there is {there:?}");
    Ok(())
}

/// Installs our hail as an allocator, with a recorder of requests and answers. Returns the directory of the records.
fn install(cluster: &Cluster) -> anyhow::Result<PathBuf> {
    let program = cluster.copy_program()?;
    let asked = cluster.path("asked");
    let _ = fs::remove_dir_all(&asked);
    fs::create_dir(&asked)?;
    let script = format!(
        "#!/bin/sh\nrecord={asked}/$(date +%s%N)\ncp \"$1\" $record.request\n\
         HTOOLS=hail {program} \"$@\" > $record.answer\nstatus=$?\ncat $record.answer\nexit $status\n",
        asked = asked.display(),
        program = program.display(),
    );
    let file = Path::new(cluster.value("GANETI_IALLOCATOR_DIR")).join(NAME);
    fs::write(&file, script)?;
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755))?;
    Ok(asked)
}

fn run(cluster: &Cluster, line: &str) -> anyhow::Result<()> {
    cluster.exec(&line.split_whitespace().collect::<Vec<_>>())?.good()?;
    Ok(())
}

/// Compares our answers since the last call with the reference's, and the instances' nodes with the answers. `named`
/// are instances that the answer does not name.
fn went_as_told(cluster: &Cluster, asked: &Path, named: &[&str]) -> anyhow::Result<()> {
    let mut requests: Vec<PathBuf> =
        fs::read_dir(asked)?.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
    requests.retain(|path| path.extension().is_some_and(|extension| extension == "request"));
    requests.sort();
    ensure!(!requests.is_empty(), "Ganeti did not ask our hail");
    for request in &requests {
        let answer = request.with_extension("answer");
        let ours = fs::read_to_string(&answer)?;
        let theirs = child::run(tools::reference_hail(cluster.system()).arg(request), READING)?.good()?;
        same_text(&format!("hail {}", request.display()), &theirs.stdout, &ours)?;
        let answer_value: Value = serde_json::from_str(&ours)?;
        let now = placements(cluster)?;
        for (instance, nodes) in told(&answer_value["result"], named)? {
            let place: &Placement = now.get(&instance).with_context(|| format!("no instance {instance}"))?;
            let there: Vec<&str> = place.nodes().collect();
            ensure!(
                nodes.iter().all(|node| there.contains(&&**node)),
                "{instance} is on {there:?}, told {nodes:?}"
            );
        }
        fs::remove_file(request)?;
        fs::remove_file(answer)?;
    }
    Ok(())
}

/// Instances and nodes of an answer: a list of nodes, or the moved instances, the failed ones, and the jobs.
fn told(result: &Value, named: &[&str]) -> anyhow::Result<Vec<(String, Vec<String>)>> {
    let texts = |value: &Value| -> Option<Vec<String>> {
        value.as_array()?.iter().map(|item| item.as_str().map(str::to_owned)).collect()
    };
    if let [name] = named {
        return Ok(vec![((*name).to_owned(), texts(result).context("the answer is no list of nodes")?)]);
    }
    let Some([moved, failed, _jobs]) = result.as_array().map(Vec::as_slice) else {
        bail!("odd answer {result}")
    };
    ensure!(failed.as_array().is_some_and(Vec::is_empty), "not all can go: {failed}");
    let one = |item: &Value| Some((item.get(0)?.as_str()?.to_owned(), texts(item.get(2)?)?));
    moved.as_array().and_then(|moved| moved.iter().map(one).collect()).context("odd list of moved instances")
}
