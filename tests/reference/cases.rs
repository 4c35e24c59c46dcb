//! One case: a cluster, the files that describe it, and a command line.

use htools::generate::random::Random;

use super::clusters::{OddCluster, odd_cluster};
use super::options::{self, Tool};
use super::{input, loads};

/// What to run on both sides.
#[derive(Debug, Clone)]
pub struct Case {
    /// Its number among those of the seed.
    pub number: u64,
    /// Which tool.
    pub tool: Tool,
    /// The cluster.
    pub cluster: OddCluster,
    /// Files to be in the working directory: name and content.
    pub files: Vec<(&'static str, String)>,
    /// The command line, without what names the cluster's source.
    pub words: Vec<String>,
    /// Where among the words the source belongs.
    pub source_at: usize,
    /// Whether the cluster comes as an allocator request.
    pub request: bool,
    /// What the options ask for, as far as the comparison must know.
    pub facts: Facts,
}

/// What the options ask for.
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
    /// The plan is to be carried out, which fails unless it is empty.
    pub execute: bool,
    /// There is a file of monitoring data.
    pub monitoring: bool,
    /// There is a utilisation file.
    pub utilisation: bool,
    /// The command line has a mistake.
    pub mistaken: bool,
}

/// The text form's file name.
pub const TEXT: &str = "cluster.data";
/// The request's file name.
pub const REQUEST: &str = "request.json";

impl Case {
    /// Makes case `number` of `seed`.
    pub fn new(seed: u64, number: u64, only: Option<Tool>) -> Case {
        let mut random = Random::stream(seed, number);
        let drawn = if random.chance(0.8) { Tool::Hbal } else { Tool::Hinfo };
        let tool = only.unwrap_or(drawn);
        let mut cluster = odd_cluster(&mut random);
        let request = random.chance(0.08) && !cluster.has("non-ASCII") && !cluster.has("duplicate names");
        if request {
            input::limit_to_request(&mut cluster, &mut random);
        }
        let mut facts = Facts {
            monitoring: random.chance(0.12),
            utilisation: tool == Tool::Hbal && random.chance(0.2),
            ..Facts::default()
        };
        let mut files = if request {
            vec![(REQUEST, input::request(&cluster))]
        } else {
            vec![(TEXT, input::text(&mut cluster, &mut random))]
        };
        if facts.monitoring {
            files.push(("mond.json", loads::reports(&cluster.raw, &mut random)));
        }
        if facts.utilisation {
            files.push(("utilisation", loads::utilisation(&cluster.raw, &mut random)));
        }
        let mut meant = options::common(&cluster, &mut facts, &mut random);
        if tool == Tool::Hbal {
            meant.extend(options::balancing(&cluster, &mut facts, &mut random));
        }
        random.shuffle(&mut meant);
        let mut words = options::typed(tool, &meant, &mut random);
        // at an end: a value belongs to the word before it
        let source_at = if random.chance(0.5) { words.len() } else { 0 };
        if random.chance(0.04) {
            facts.mistaken = true;
            words.extend(options::mistake(tool, &mut random));
        }
        Case { number, tool, cluster, files, words, source_at, request, facts }
    }

    /// The command line with the cluster read from text, as the reference
    /// gets it (its own reading of requests counts every instance twice), or
    /// from where it is.
    pub fn arguments(&self, as_text: bool) -> Vec<String> {
        let source = if self.request && !as_text { ["-I", REQUEST] } else { ["-t", TEXT] };
        let mut words = self.words.clone();
        words.splice(self.source_at..self.source_at, source.map(str::to_owned));
        words
    }
}
