//! The clusters to measure on: from the library's own generator or from a script.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::rc::Rc;

use anyhow::{Context, bail, ensure};
use htools::generate::{ClusterSpec, TemplateMix};
use htools::load::text;
use htools::tools::generate::GeneratedText;

use super::workshop::Workshop;

/// Properties of a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kind {
    pub nodes: usize,
    pub instances: usize,
    pub templates: TemplateMix,
    /// True for exclusion tags and locations.
    pub tags: bool,
    /// True for different node sizes.
    pub heterogeneous: bool,
    /// Number of node groups.
    pub groups: usize,
    /// Seed that distinguishes clusters with the same properties.
    pub seed: u64,
}

impl Kind {
    /// Equal nodes, no tags, all instances on DRBD.
    pub const fn drbd(nodes: usize, instances: usize) -> Kind {
        Kind {
            nodes,
            instances,
            templates: TemplateMix::Drbd,
            tags: false,
            heterogeneous: false,
            groups: 1,
            seed: 1,
        }
    }

    /// The template's name in both generators.
    pub fn template(&self) -> &'static str {
        match self.templates {
            TemplateMix::Drbd => "drbd",
            TemplateMix::Ext => "ext",
            TemplateMix::Plain => "plain",
            TemplateMix::Mixed => "mixed",
        }
    }

    /// The options of both generators, without the leading dashes.
    fn options(&self) -> impl Iterator<Item = &'static str> {
        [("tags", self.tags), ("hetero", self.heterogeneous)]
            .into_iter()
            .filter_map(|(name, wanted)| wanted.then_some(name))
    }

    fn file_name(&self) -> String {
        let mut name = format!("{}-{}-{}", self.nodes, self.instances, self.template());
        for option in self.options() {
            name.push('-');
            name.push_str(option);
        }
        if self.groups > 1 {
            name.push_str(&format!("-{}-groups", self.groups));
        }
        name + &format!("-{}.data", self.seed)
    }
}

/// A cluster as a file in the text format.
pub struct Input {
    pub kind: Kind,
    /// Number of instances that found a place.
    pub instances: usize,
    pub file: PathBuf,
}

/// Creates each cluster once.
pub struct Clusters {
    script: Option<PathBuf>,
    made: RefCell<Vec<Rc<Input>>>,
}

impl Clusters {
    /// Clusters of this script, or of the library's generator.
    pub fn new(script: Option<PathBuf>) -> Clusters {
        Clusters { script, made: RefCell::default() }
    }

    /// Description of the generator.
    pub fn source(&self) -> String {
        let maker = match &self.script {
            None => "htools generate".into(),
            Some(script) => script.file_name().unwrap_or(script.as_os_str()).to_string_lossy(),
        };
        maker.into_owned()
    }

    /// The cluster of this kind, in a file.
    pub fn input(&self, kind: Kind, workshop: &Workshop) -> anyhow::Result<Rc<Input>> {
        if let Some(input) = self.made.borrow().iter().find(|input| input.kind == kind) {
            return Ok(input.clone());
        }
        let (origin, text) = match &self.script {
            None => ("htools generate".to_owned(), of_the_library(kind)?),
            Some(script) => of_a_script(script, kind)?,
        };
        let raw = text::parse(&text, &origin)?;
        let (nodes, instances) = (raw.nodes.len(), raw.instances.len());
        ensure!(nodes == kind.nodes, "{origin}: {nodes} nodes printed instead of {}", kind.nodes);
        if instances < kind.instances {
            let left_out = kind.instances - instances;
            eprintln!("Note: {origin}: {left_out} instances found no room and were left out");
        }
        let file = workshop.file(&kind.file_name(), &text)?;
        let input = Rc::new(Input { kind, instances, file });
        self.made.borrow_mut().push(input.clone());
        Ok(input)
    }
}

fn of_the_library(kind: Kind) -> anyhow::Result<String> {
    let plain = ClusterSpec::new(kind.nodes, kind.instances, kind.templates, kind.seed);
    Ok(GeneratedText::new(&ClusterSpec {
        tags: kind.tags,
        heterogeneous: kind.heterogeneous,
        groups: kind.groups,
        ..plain
    })?
    .text)
}

/// The command, for messages, and its output.
fn of_a_script(script: &Path, kind: Kind) -> anyhow::Result<(String, String)> {
    let mut words = vec![
        kind.nodes.to_string(),
        kind.instances.to_string(),
        kind.template().into(),
        kind.seed.to_string(),
    ];
    words.extend(kind.options().map(|option| format!("--{option}")));
    if kind.groups > 1 {
        words.push(format!("--groups={}", kind.groups));
    }
    let line = format!("python3 {} {}", script.display(), words.join(" "));
    let output = Command::new("python3")
        .arg(script)
        .args(&words)
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot run {line}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("{line} failed: {}\n{}", output.status, said.trim_end());
    }
    let text = String::from_utf8(output.stdout).with_context(|| format!("output of {line}"))?;
    Ok((line, text))
}
