//! `htools generate`: prints a made-up cluster in the text format.

use std::ffi::OsString;
use std::ops::RangeInclusive;

use anyhow::{Context, anyhow, bail};

use super::ExitStatus;
use super::cli::heading::OptionTopic;
use super::cli::hint::try_help;
use super::cli::option::ArgumentKind::{Choices, Float, Integer};
use super::cli::{Given, OperandWords, OptionDef, Spec, Stop, ValueError, example};
use super::options::ToolOptions;
use super::options::catalogue::HELP;
use super::output::Output;
use crate::generate::{ClusterSpec, TemplateMix, cluster};
use crate::load::merge::{MergeOptions, finish, merge};
use crate::load::number::{parse_int, shown};
use crate::load::text::writer::whole_cluster_text;
use crate::model::{Mib, UnknownName};

impl OptionTopic for ClusterSpec {}

impl ToolOptions for ClusterSpec {}

/// Name, purpose and options.
pub const SPEC: Spec<ClusterSpec> = Spec {
    name: "htools generate",
    summary: "print a random, feasible, unbalanced cluster in the text format",
    forms: &["[OPTION...] NODES INSTANCES TEMPLATE"],
    examples: &[
        example("htools generate 20 100 drbd", "print 20 nodes with 100 DRBD instances"),
        example("htools generate --seed 7 20 100 plain", "print another cluster of that size"),
        example("htools generate --groups 3 9 90 drbd", "divide the nodes into 3 groups"),
    ],
    options: &[
        &OptionDef::<ClusterSpec>::addition("seed", "seed of the random choices")
            .more("The same seed gives the same cluster.")
            .common()
            .takes("N", Integer, |o, g| {
                whole(g, 0..=i64::MAX, "a number from 0 on").map(|seed| o.seed = seed)
            })
            .default(|o| o.seed.to_string()),
        &OptionDef::<ClusterSpec>::addition("groups", "number of node groups")
            .common()
            .takes("G", Integer, |o, g| {
                whole(g, 1..=MOST, "a number of groups, 1 to 1000000").map(|groups| o.groups = groups)
            })
            .default(|o| o.groups.to_string()),
        &OptionDef::<ClusterSpec>::added_flag("hetero", "make nodes of different sizes", |o| {
            o.heterogeneous = true
        })
        .common(),
        &OptionDef::<ClusterSpec>::addition("skew", "share of nodes that hold most instances, 0 to 1")
            .common()
            .takes("S", Float, |o, g| share(g).map(|share| o.skew = share))
            .default(|o| o.skew.to_string()),
        &OptionDef::<ClusterSpec>::addition("fill", "mean share of memory in use, 0 to 1")
            .common()
            .takes("F", Float, |o, g| share(g).map(|share| o.fill = share))
            .default(|o| o.fill.to_string()),
        &OptionDef::<ClusterSpec>::added_flag("tags", "add exclusion tags and node locations", |o| {
            o.tags = true
        })
        .common(),
        &HELP,
    ],
    words: &[
        OperandWords { name: "NODES", ..NUMBER },
        OperandWords { name: "INSTANCES", ..NUMBER },
        OperandWords { name: "TEMPLATE", kind: Choices(TemplateMix::WORDS), ..NUMBER },
    ],
    ..Spec::PLAIN
};

const NUMBER: OperandWords = OperandWords { name: "N", kind: Integer, min: 1, max: Some(1) };

/// Most nodes, instances or groups: far beyond any cluster, but low enough that a typing mistake does not exhaust the
/// memory.
const MOST: i64 = 1_000_000;

/// Runs `htools generate` with these words: prints the cluster that they describe.
pub fn start(args: &[OsString]) -> anyhow::Result<ExitStatus> {
    let mut output = Output::standard();
    let (mut spec, words) = match SPEC.read(args) {
        Ok(read) => read,
        Err(stop) => return stop.show(&mut output),
    };
    let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
    let [nodes, instances, template] = words.as_slice() else {
        return usage_error(words.len()).show(&mut output);
    };
    spec.nodes = count("NODES", nodes)?;
    spec.instances = count("INSTANCES", instances)?;
    spec.templates = template_mix(template)?;
    let made = GeneratedText::new(&spec)?;
    output.write(&made.text)?;
    output.flush()?;
    if made.left_out > 0 {
        let (left_out, wanted) = (made.left_out, spec.instances);
        output
            .error_line(&format!("Note: {left_out} of {wanted} instances found no room and were left out"))?;
    }
    Ok(ExitStatus::Success)
}

/// A cluster as text.
pub struct GeneratedText {
    /// The text.
    pub text: String,
    /// Instances left out for lack of room.
    pub left_out: usize,
}

impl GeneratedText {
    /// Makes the cluster that `spec` describes.
    ///
    /// # Errors
    /// None are known.
    pub fn new(spec: &ClusterSpec) -> anyhow::Result<GeneratedText> {
        let mut made = merge(cluster(spec), &MergeOptions::default()).context("cannot make the cluster")?;
        finish(&mut made, Mib::ZERO);
        let text = whole_cluster_text(&made);
        Ok(GeneratedText { text, left_out: spec.instances - made.instances.len() })
    }
}

fn whole<T: TryFrom<i64>>(
    given: &Given,
    range: RangeInclusive<i64>,
    expected: &'static str,
) -> Result<T, ValueError> {
    within(given.int()?, range).ok_or_else(|| given.out_of_range(expected))
}

fn within<T: TryFrom<i64>>(number: i64, range: RangeInclusive<i64>) -> Option<T> {
    T::try_from(number).ok().filter(|_| range.contains(&number))
}

fn share(given: &Given) -> Result<f64, ValueError> {
    let number = given.float()?;
    let inside = (0.0..=1.0).contains(&number);
    if inside { Ok(number) } else { Err(given.out_of_range("a share from 0 to 1")) }
}

fn count(what: &str, text: &str) -> anyhow::Result<usize> {
    match parse_int(text).ok().and_then(|number| within(number, 0..=MOST)) {
        Some(number) => Ok(number),
        None => bail!("{what}: '{}' is not a number from 0 to {MOST}", shown(text)),
    }
}

fn template_mix(text: &str) -> anyhow::Result<TemplateMix> {
    text.parse().map_err(|UnknownName { allowed, .. }| {
        anyhow!("TEMPLATE: '{}' is none of {}", shown(text), allowed.join(", "))
    })
}

fn usage_error(words: usize) -> Stop {
    let rest = try_help(&SPEC);
    Stop::Syntax(format!(
        "Command line error: expected NODES, INSTANCES and TEMPLATE, got {words} word(s)\n{rest}"
    ))
}

#[cfg(test)]
mod tests {
    use super::super::cli::testing::words;
    use super::*;

    #[test]
    fn options_become_a_specification() {
        let line =
            words(&["--seed=9", "--groups", "2", "--het", "--skew=0.25", "--fill", "0.7", "--tags", "3"]);
        let (options, rest) = SPEC.read(&line).unwrap();
        assert_eq!(rest, ["3"]);
        let wanted = ClusterSpec {
            groups: 2,
            heterogeneous: true,
            skew: 0.25,
            fill: 0.7,
            tags: true,
            ..ClusterSpec::new(0, 0, TemplateMix::Drbd, 9)
        };
        assert_eq!(options, wanted);
    }

    #[test]
    fn a_whole_cluster() {
        let text = GeneratedText::new(&ClusterSpec::new(2, 1, TemplateMix::Drbd, 1)).unwrap().text;
        let sections: Vec<&str> = text.split("\n\n").collect();
        assert_eq!(sections[0], "group-01|uuid-01|preferred||");
        assert!(sections[1].starts_with("node-00001.example.com|65536|1024|"), "{text}");
        assert!(sections[1].contains("|24|M|uuid-01|1||N|1|1|1.0"), "{text}");
        assert!(sections[2].ends_with("|drbd||1|-|N"), "{text}");
        assert!(sections[3].starts_with("\n|128,1,1024,1,1,1|128,1,1024,1,1,1;32768,8,"), "{text}");
    }

    #[test]
    fn every_kind_and_size_can_be_written() {
        for templates in TemplateMix::ALL.iter().copied() {
            for (nodes, instances) in [(0, 0), (0, 5), (1, 5), (2, 0), (12, 90)] {
                let spec =
                    ClusterSpec { groups: 3, tags: true, ..ClusterSpec::new(nodes, instances, templates, 4) };
                let made = GeneratedText::new(&spec).unwrap();
                let rows = made.text.lines().filter(|line| line.starts_with("inst-")).count();
                assert_eq!(rows + made.left_out, instances);
            }
        }
    }
}
