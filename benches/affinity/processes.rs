//! Tools that use keys, as whole processes.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, bail};
use htools::generate::{ClusterSpec, TemplateMix};
use htools::model::random::Random;
use htools::tools::generate::GeneratedText;
use serde_json::json;

use super::common::numbers::{seconds, thousands};
use super::common::workshop::{Taken, Workshop};

/// Longer than any of these runs.
const LIMIT: Duration = Duration::from_secs(600);
const RUNS: u32 = 3;
/// Keys of each instance.
const KEYS: usize = 2;
/// Number of different key names.
const NAMES: usize = 200;

/// Prints a table of the tools' times.
pub fn measure() -> anyhow::Result<()> {
    let workshop = Workshop::new()?;
    let htools = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_htools"));
        command.env_remove("HTOOLS").args(words);
        let Taken::Run(run) = workshop.best(&mut command, RUNS, LIMIT)? else {
            bail!("{words:?} takes more than {} s", LIMIT.as_secs())
        };
        run.cpu.context("the system tells no processor time")
    };
    println!("\n| what | processor time | the same without keys |\n|---|---:|---:|");
    for (weights, of) in [(&[10, 5][..], "attract"), (&[-10, -5, 5, 10], "attract or repel")] {
        let keyed = workshop.file("keyed.data", &cluster(weights)?)?;
        let keyed = keyed.to_str().context("paths of benches are UTF-8")?;
        let with = htools(&["hbal", "-t", keyed, "--affinity-weight", "0.01"])?;
        let steps = workshop.printed()?.lines().filter(|line| line.contains(" a=")).count();
        let without = htools(&["hbal", "-t", keyed])?;
        let fewer = workshop.printed()?.lines().filter(|line| line.contains(" a=")).count();
        println!(
            "| hbal, 200 nodes, 2,000 instances with two keys each that {of}, to the end | {}, {} steps | {}, {} steps |",
            seconds(with),
            thousands(steps),
            seconds(without),
            thousands(fewer)
        );
        if weights.len() > 2 {
            let request = workshop.file("request.json", &request())?;
            let request = request.to_str().context("paths of benches are UTF-8")?;
            let [with, without] = [
                &["hail", "-t", keyed, "--no-capacity-checks", "--affinity", request][..],
                &["hail", "-t", keyed, "--no-capacity-checks", request],
            ]
            .map(htools);
            println!("| hail, a new instance in that cluster | {} | {} |", seconds(with?), seconds(without?));
        }
    }
    let fleet = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/affinity.json");
    let fleet = fleet.to_str().context("paths of benches are UTF-8")?;
    let year = ["hplace", "simulate", "-j", fleet, "--poisson", "20", "--lifetime", "2", "--days", "365"];
    let time = htools(&year)?;
    let said = workshop.printed()?;
    let requests = said.split(' ').next().unwrap_or_default();
    println!(
        "| hplace simulate, 4 nodes, a year, {requests} requests, five strategies | {} | |",
        seconds(time)
    );
    Ok(())
}

/// Two hundred nodes with ten instances each. All instances have keys with these weights.
fn cluster(weights: &[i32]) -> anyhow::Result<String> {
    let made = GeneratedText::new(&ClusterSpec::new(200, 2000, TemplateMix::Drbd, 1))?;
    let mut random = Random::new(3);
    let mut key = || {
        let (name, value) = (random.below(NAMES), random.below(3));
        format!("htools:key:customer:k{name}:{value}:{}", random.pick(weights))
    };
    let sections: Vec<&str> = made.text.split("\n\n").collect();
    let [groups, nodes, instances, rest @ ..] = &sections[..] else { bail!("the text has too few parts") };
    let instances = instances.lines().map(|line| {
        let mut fields: Vec<String> = line.split('|').map(str::to_owned).collect();
        fields[9] = (0..KEYS).map(|_| key()).collect::<Vec<_>>().join(",");
        fields.join("|")
    });
    let instances = instances.collect::<Vec<_>>().join("\n");
    Ok([&[*groups, *nodes, &instances], rest].concat().join("\n\n"))
}

/// A request for a small instance whose key attracts it to others.
fn request() -> String {
    let request = json!({
        "type": "allocate", "name": "new", "memory": 256, "vcpus": 1, "disk_space_total": 10368,
        "disks": [{"size": 10240, "mode": "rw"}], "disk_template": "drbd", "required_nodes": 2, "spindle_use": 1,
        "nics": [], "tags": ["htools:key:customer:k7:1:10"], "os": "x", "hypervisor": "xen-pvm",
    });
    json!({"version": 2, "cluster_name": "c", "cluster_tags": [], "enabled_hypervisors": [], "nodegroups": {}, "nodes": {}, "instances": {}, "request": request})
        .to_string()
}
