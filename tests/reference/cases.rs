//! A case: a cluster, its files, and a command line.

use htools::generate::random::Random;

use super::clusters::{OddCluster, odd_cluster};
use super::hail::Asked;
use super::oddities::Purpose;
use super::options;
use super::tools::Tool;
use super::{
    hail, harep, hcheck, hroller, hscan, hspace, hsqueeze, input, loads, luxi, mistakes, rapi, requests,
};

/// A run for both sides.
#[derive(Debug, Clone)]
pub struct Case {
    /// Number among the cases of the seed.
    pub number: u64,
    pub tool: Tool,
    pub cluster: OddCluster,
    /// Files in the working directory: name and content.
    pub files: Vec<(&'static str, String)>,
    /// The command line without the words for the cluster's source.
    pub words: Vec<String>,
    /// Position of the source among the words.
    pub source_at: usize,
    /// Source of the tool's main input.
    pub source: Source,
    /// Properties of the options that the comparison needs.
    pub facts: Facts,
    /// The request to hail.
    pub asked: Option<Asked>,
}

/// Source of a tool's main input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// `-t`, a text file.
    Text,
    /// `-I`, an allocator request.
    Request,
    /// `-m`, a directory with answers of RAPI.
    Rapi,
    /// `-L`, a master daemon.
    Luxi,
    /// The words contain it, or lack it by mistake.
    Nowhere,
    /// A request as the argument.
    Argument,
    /// A request on standard input.
    Input,
}

/// Form of the cluster's description.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Over {
    Text,
    Request,
    Rapi,
    Luxi,
    /// The words contain it, or lack it by mistake.
    Other,
}

impl Over {
    /// Forms for `--over`, with their names.
    pub const NAMES: [(&str, Over); 4] =
        [("text", Over::Text), ("request", Over::Request), ("rapi", Over::Rapi), ("luxi", Over::Luxi)];

    pub fn named(name: &str) -> Option<Over> {
        Over::NAMES.into_iter().find(|(known, _)| *known == name).map(|(_, over)| over)
    }
}

/// Properties of the options.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// Keys of nodes marked offline.
    pub offline: Vec<String>,
    /// The group selected.
    pub group: Option<String>,
    /// The instance table is printed.
    pub print_instances: bool,
    /// States are saved.
    pub save: bool,
    /// Commands are printed or written.
    pub commands: bool,
    /// The plan is executed, which fails unless it is empty.
    pub execute: bool,
    /// There is a file of monitoring data.
    pub monitoring: bool,
    /// There is a utilisation file.
    pub utilisation: bool,
    /// The command line has a mistake.
    pub mistaken: bool,
    /// The output is for programs.
    pub machine_readable: bool,
    /// The nodes of `--restrict-allocation-to`.
    pub restricted: Option<Vec<String>>,
    /// The limit of `-l`.
    pub limit: Option<i64>,
    /// Nothing is printed for people.
    pub quiet: bool,
    /// No trial balancing.
    pub no_simulation: bool,
    /// The check for nodes that can be emptied is off.
    pub no_capacity_checks: bool,
    /// Options of hroller.
    pub rolling: Option<hroller::Rolling>,
    /// Number of standard instances for which hsqueeze keeps room on every node.
    pub reserve: Option<f64>,
    /// The hypervisor is KVM.
    pub kvm: bool,
    /// The memory that a KVM node is assumed to use, if positive.
    pub node_memory: i64,
}

/// The text form's file name.
pub const TEXT: &str = "cluster.data";
/// The request's file name.
pub const REQUEST: &str = "request.json";

/// Share of each tool in the cases of all tools.
const SHARES: [(Tool, f64); 9] = [
    (Tool::Hbal, 0.25),
    (Tool::Hinfo, 0.07),
    (Tool::Hail, 0.28),
    (Tool::Hspace, 0.12),
    (Tool::Hcheck, 0.08),
    (Tool::Hroller, 0.08),
    (Tool::Hscan, 0.05),
    (Tool::Harep, 0.03),
    (Tool::Hsqueeze, 0.04),
];

impl Case {
    /// Creates case `number` of `seed`.
    pub fn new(seed: u64, number: u64, only: Option<Tool>) -> Case {
        let mut random = Random::stream(seed, number);
        let drawn = SHARES[random.weighted(&SHARES.map(|(_, share)| share))].0;
        match only.unwrap_or(drawn) {
            Tool::Hail => hail::case(number, &mut random),
            Tool::Hspace => hspace::case(number, &mut random),
            Tool::Hcheck => hcheck::case(number, &mut random),
            Tool::Hroller => hroller::case(number, &mut random),
            Tool::Hscan => hscan::case(number, &mut random),
            Tool::Hsqueeze => hsqueeze::case(number, &mut random),
            Tool::Harep => harep::case(number, &mut random),
            tool => Case::of_balancing(tool, number, &mut random),
        }
    }

    /// A case of hbal or hinfo.
    fn of_balancing(tool: Tool, number: u64, random: &mut Random) -> Case {
        let mut cluster = odd_cluster(Purpose::Balance, random);
        let source = draw_any_source(&mut cluster, random);
        let mut facts = Facts {
            monitoring: random.chance(0.12),
            utilisation: tool == Tool::Hbal && random.chance(0.2),
            ..Facts::default()
        };
        let mut files = source_files(source, &mut cluster, random);
        if source == Source::Rapi {
            rapi::silence(&mut files, &mut cluster, random);
        }
        if facts.monitoring {
            files.push(("mond.json", loads::reports(&cluster.raw, random)));
        }
        if facts.utilisation {
            files.push(("utilisation", loads::utilisation(&cluster.raw, random)));
        }
        let mut meant = options::common(&cluster, &mut facts, random);
        if tool == Tool::Hbal {
            meant.extend(options::balancing(&cluster, &mut facts, random));
        }
        random.shuffle(&mut meant);
        let mut words = options::typed(tool, &meant, random);
        // Only at an end, because a value belongs to the word before it.
        let source_at = if random.chance(0.5) { words.len() } else { 0 };
        if random.chance(0.04) {
            facts.mistaken = true;
            words.extend(mistakes::mistake(tool, random));
        }
        Case { number, tool, cluster, files, words, source_at, source, facts, asked: None }
    }

    /// Form of the cluster's description.
    pub fn over(&self) -> Over {
        let has = |name: &str| self.files.iter().any(|(known, _)| *known == name);
        match self.source {
            Source::Text => Over::Text,
            Source::Request | Source::Argument | Source::Input => Over::Request,
            Source::Rapi => Over::Rapi,
            Source::Luxi => Over::Luxi,
            Source::Nowhere if has(luxi::FILES[0]) => Over::Luxi,
            Source::Nowhere if self.tool == Tool::Hscan => Over::Rapi,
            Source::Nowhere => Over::Other,
        }
    }

    /// The command line. With `as_text`, the cluster is read as text, as the reference gets it: its own reading of
    /// requests counts every instance twice. Otherwise it is read from its source.
    pub fn arguments(&self, as_text: bool) -> Vec<String> {
        let luxi = luxi::word();
        let source: &[&str] = match self.source {
            Source::Luxi => &[&luxi],
            Source::Request if !as_text => &["-I", REQUEST],
            Source::Text | Source::Request => &["-t", TEXT],
            Source::Rapi => &["-m", "file://rapi"],
            Source::Nowhere => &[],
            Source::Argument => &[REQUEST],
            Source::Input => &["-"],
        };
        let mut words = self.words.clone();
        // The reference does not check this.
        let unchecked = self.tool == Tool::Hsqueeze && !as_text;
        words.splice(self.source_at..self.source_at, source.iter().map(|word| (*word).to_owned()));
        if unchecked {
            words.insert(0, "--no-capacity-checks".to_owned());
            if hsqueeze::has_soft_tags(self) {
                words.insert(0, "--ignore-soft-errors".to_owned());
            }
        }
        words
    }

    /// The file for standard input.
    pub fn input(&self) -> Option<&'static str> {
        (self.source == Source::Input).then_some(REQUEST)
    }
}

/// Draws between text and an allocator request.
pub fn draw_source(cluster: &mut OddCluster, random: &mut Random) -> Source {
    if random.chance(0.08) && !cluster.has("non-ASCII") && !cluster.has("duplicate names") {
        requests::limit_to_request(cluster, random);
        Source::Request
    } else {
        Source::Text
    }
}

/// Draws between these and a master daemon.
pub fn draw_local_source(cluster: &mut OddCluster, random: &mut Random) -> Source {
    if random.chance(0.08) {
        luxi::limit_to_luxi(cluster, random);
        return Source::Luxi;
    }
    draw_source(cluster, random)
}

/// Draws between these and RAPI.
pub fn draw_any_source(cluster: &mut OddCluster, random: &mut Random) -> Source {
    if random.chance(0.08) {
        rapi::limit_to_rapi(cluster, random);
        return Source::Rapi;
    }
    draw_local_source(cluster, random)
}

/// The files that describe the cluster.
pub fn source_files(
    source: Source,
    cluster: &mut OddCluster,
    random: &mut Random,
) -> Vec<(&'static str, String)> {
    if source == Source::Luxi {
        return luxi::files(cluster, "xen-pvm", true, random);
    }
    if source != Source::Rapi {
        return vec![source_file(source, cluster, random)];
    }
    // With KVM, the nodes' own memory would be replaced; hscan's cases cover that.
    let mut documents = rapi::documents(&cluster.raw, "xen-pvm", random);
    let names = ["rapi/groups.json", "rapi/nodes.json", "rapi/instances.json", "rapi/info.json"];
    if random.chance(0.12) {
        let (texts, meant) = rapi::damage(&mut documents, random);
        cluster.features.insert(if meant.is_some() { "RAPI, changed" } else { "RAPI, damaged" });
        cluster.raw = meant.unwrap_or_else(|| std::mem::take(&mut cluster.raw));
        return names.into_iter().zip(texts).collect();
    }
    names.into_iter().zip(documents.iter().map(|document| rapi::text(document, random))).collect()
}

/// The files of a cluster that does not come from RAPI. All nodes answer.
pub fn local_files(
    source: Source,
    cluster: &mut OddCluster,
    random: &mut Random,
) -> Vec<(&'static str, String)> {
    match source {
        Source::Luxi => luxi::files(cluster, "xen-pvm", false, random),
        _ => vec![source_file(source, cluster, random)],
    }
}

/// The file that describes the cluster.
pub fn source_file(source: Source, cluster: &mut OddCluster, random: &mut Random) -> (&'static str, String) {
    match source {
        Source::Request => (REQUEST, hail::nothing_asked(&cluster.raw)),
        _ => (TEXT, input::text(cluster, random)),
    }
}
