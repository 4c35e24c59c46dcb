//! The tools that only read, over LUXI and RAPI, compared with the reference at the same moment.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use anyhow::{Context, ensure};
use htools::model::RunStatus;

use crate::child::{self, Output};
use crate::cluster::Cluster;
use crate::tools::{self, READING, compare, same_text};

/// Arguments of each tool, in addition to the source.
const QUESTIONS: &[(&str, &[&str])] = &[
    ("hbal", &[]),
    ("hbal", &["-p", "--print-instances", "-v", "-v"]),
    ("hbal", &["-l", "3", "--evac-mode", "--no-disk-moves"]),
    ("hinfo", &[]),
    ("hinfo", &["-p", "-p+plist,slist", "--print-instances"]),
    ("hspace", &[]),
    ("hspace", &["--machine-readable", "-l", "20"]),
    ("hcheck", &["--no-simulation"]),
    ("hcheck", &[]),
    ("hroller", &[]),
    ("hroller", &["--force", "--print-moves", "--full-evacuation"]),
];

pub fn over_rapi(cluster: &Cluster) -> anyhow::Result<()> {
    questions(cluster, &format!("--master={}", cluster.login_url()))?;
    same_states(cluster, &format!("-m{}", cluster.login_url()))
}

pub fn over_luxi(cluster: &Cluster) -> anyhow::Result<()> {
    questions(cluster, &format!("--luxi={}", cluster.socket()))?;
    same_states(cluster, &format!("-L{}", cluster.socket()))
}

/// `-L` without an argument stands for Ganeti's usual socket.
pub fn default_socket(cluster: &Cluster) -> anyhow::Result<()> {
    let root = root_with_socket(cluster)?;
    let run = |mut command: std::process::Command| {
        child::run(command.args(["-L"]).env("GANETI_ROOTDIR", root.path()), READING)
    };
    tools::same(&run(tools::reference(cluster.system(), "hinfo"))?, &run(tools::ours("hinfo"))?)
}

pub fn hscan_over_rapi(cluster: &Cluster) -> anyhow::Result<()> {
    let url = cluster.login_url();
    let (theirs, ours) = (tempfile::tempdir()?, tempfile::tempdir()?);
    let run = |mut command: std::process::Command, directory: &Path| {
        child::run(command.args(["-p", url]).current_dir(directory), READING)?.good()
    };
    let reference = run(tools::reference(cluster.system(), "hscan"), theirs.path())?;
    let mine = run(tools::ours("hscan"), ours.path())?;
    // The reference shows the password, and uses it in the file's name (docs/differences.md).
    let password = cluster.value("GANETI_RAPI_PASSWORD");
    ensure!(!(mine.stdout.clone() + &mine.stderr).contains(password), "hscan shows the password");
    let shown = reference.stdout.replace(&format!(":{password}@"), ":***@");
    same_text("hscan over RAPI", &same_width(&shown), &same_width(&mine.stdout))?;
    same_text("hscan's file", &only_file(theirs.path())?, &only_file(ours.path())?)
}

pub fn hscan_over_luxi(cluster: &Cluster) -> anyhow::Result<()> {
    let root = root_with_socket(cluster)?;
    let named = format!("-L{}", cluster.socket());
    for words in [vec!["-p", &*named], vec![]] {
        let (theirs, ours) = (tempfile::tempdir()?, tempfile::tempdir()?);
        let run = |mut command: std::process::Command, directory: &Path| {
            command.args(&words).env("GANETI_ROOTDIR", root.path()).current_dir(directory);
            child::run(&mut command, READING)?.good()
        };
        let reference = run(tools::reference(cluster.system(), "hscan"), theirs.path())?;
        tools::same(&reference, &run(tools::ours("hscan"), ours.path())?)?;
        let file =
            |directory: &Path| fs::read_to_string(directory.join("LOCAL.data")).context("no LOCAL.data");
        same_text("LOCAL.data", &file(theirs.path())?, &file(ours.path())?)?;
    }
    Ok(())
}

fn questions(cluster: &Cluster, source: &str) -> anyhow::Result<()> {
    for (tool, words) in QUESTIONS {
        let words: Vec<&str> = std::iter::once(source).chain(words.iter().copied()).collect();
        let ours = compare(cluster.system(), tool, &words)?;
        if ours.status == 0 {
            quiet(&ours)?;
        }
    }
    health(cluster, source, &[])?;
    health(cluster, source, &["--no-simulation"])
}

/// hcheck for shells; only one key is an addition of ours (docs/differences.md).
fn health(cluster: &Cluster, source: &str, words: &[&str]) -> anyhow::Result<()> {
    let words: Vec<&str> = [source, "--machine-readable"].into_iter().chain(words.iter().copied()).collect();
    let theirs = child::run(tools::reference(cluster.system(), "hcheck").args(&words), READING)?;
    let ours = child::run(tools::ours("hcheck").args(&words), READING)?.expect(theirs.status)?;
    let is_own = |line: &&str| line.starts_with("HCHECK_FINAL_CLUSTER_PROBLEMS_LEFT=");
    let (own, same): (Vec<&str>, Vec<&str>) = ours.stdout.lines().partition(is_own);
    ensure!(own.len() == 1, "{}: {own:?}", ours.command);
    same_text(&ours.command, theirs.stdout.trim_end(), &same.join("\n"))?;
    quiet(&ours)
}

/// A good reading writes nothing to standard error except requested tables and advice on safer access to RAPI.
fn quiet(ours: &Output) -> anyhow::Result<()> {
    let loud =
        |line: &&str| (line.contains("Warning") && !line.contains("--rapi-")) || line.contains("Error");
    match ours.stderr.lines().find(loud) {
        Some(line) => anyhow::bail!("{}: {line}", ours.command),
        None => Ok(()),
    }
}

/// States and commands that hbal writes to files.
fn same_states(cluster: &Cluster, source: &str) -> anyhow::Result<()> {
    let (theirs, ours) = (tempfile::tempdir()?, tempfile::tempdir()?);
    for (mut command, directory) in
        [(tools::reference(cluster.system(), "hbal"), &theirs), (tools::ours("hbal"), &ours)]
    {
        command.args([source, "-S", "state", "-Ccommands"]).current_dir(directory);
        child::run(&mut command, READING)?.good()?;
    }
    let read = |directory: &Path, name: &str| {
        fs::read_to_string(directory.join(name)).with_context(|| format!("hbal {source} wrote no {name}"))
    };
    let original = read(theirs.path(), "state.original")?;
    same_text("state.original", &original, &read(ours.path(), "state.original")?)?;
    // The free memory in the reference's saved state is that before the moves (docs/differences.md).
    let balanced = moved_memory(&original, &read(theirs.path(), "state.balanced")?);
    same_text("state.balanced", &balanced, &read(ours.path(), "state.balanced")?)?;
    // Our commands have full names, and a different frame (docs/differences.md).
    let commands = |directory: &Path| -> anyhow::Result<String> {
        let text = read(directory, "commands")?.replace(".vc.test", "");
        Ok(text
            .lines()
            .filter(|line| line.contains("gnt-instance"))
            .map(|line| format!("{line}\n"))
            .collect())
    };
    same_text("commands", &commands(theirs.path())?, &commands(ours.path())?)
}

/// A saved state, corrected so that moved instances have taken their memory with them.
fn moved_memory(before: &str, after: &str) -> String {
    let rows = |text: &str| -> Vec<Vec<String>> {
        text.split('\n').map(|line| line.split('|').map(str::to_owned).collect()).collect()
    };
    let mut more: HashMap<String, i64> = HashMap::new();
    for (text, sign) in [(before, 1), (after, -1)] {
        for row in rows(text).iter().filter(|row| row.len() == 13) {
            if row[4].parse().is_ok_and(RunStatus::uses_memory) {
                *more.entry(row[6].clone()).or_default() += sign * row[1].parse::<i64>().unwrap_or_default();
            }
        }
    }
    let mut state = rows(after);
    for row in state.iter_mut().filter(|row| row.len() == 15) {
        let free = row[3].parse::<i64>().unwrap_or_default() + more.get(&row[0]).copied().unwrap_or_default();
        row[3] = free.to_string();
    }
    state.iter().map(|row| row.join("|")).collect::<Vec<_>>().join("\n")
}

/// A directory in which the path of the cluster's socket is that of its master's file system.
fn root_with_socket(cluster: &Cluster) -> anyhow::Result<tempfile::TempDir> {
    let root = tempfile::tempdir_in("/tmp")?;
    let directory = root.path().join("var/run/ganeti/socket");
    fs::create_dir_all(&directory)?;
    symlink(cluster.socket(), directory.join("ganeti-query"))?;
    Ok(root)
}

/// The columns without padding, which depends on the length of their content.
fn same_width(text: &str) -> String {
    text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ") + "\n").collect()
}

/// Content of the only file in the directory.
fn only_file(directory: &Path) -> anyhow::Result<String> {
    let files: Vec<_> = fs::read_dir(directory)?.collect::<Result<_, _>>()?;
    ensure!(files.len() == 1, "{} files in {}", files.len(), directory.display());
    Ok(fs::read_to_string(files[0].path())?)
}
