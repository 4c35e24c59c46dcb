//! Where the cluster comes from, and how it is read.

use std::path::PathBuf;
use std::time::Duration;

use crate::load::Detail;
use crate::load::merge::{MergeOptions, NodeOptions};
use crate::model::Mib;
use crate::remote::luxi::default_socket;
use crate::remote::rapi::AccessOptions;
use crate::report::pacemaker::commands::CommandForm;
use crate::search::moves::MoveRules;
use crate::tools::options::one_form;

/// Where the cluster is to be read from. Several may be given; which of them
/// count, and which exclude each other, is decided when loading.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SourceOptions {
    /// `-t`
    pub text_data: Option<PathBuf>,
    /// `-m`; an empty address counts as not given.
    pub rapi: Option<String>,
    /// What the configuration calls the cluster, if it is from there.
    pub named: Option<String>,
    /// `--rapi-credentials` and `--rapi-cacert`
    pub rapi_access: AccessOptions,
    /// `-L`; the inner value is the socket, if not the default one.
    pub luxi: Option<Option<PathBuf>>,
    /// `-I`; `-` is standard input.
    pub ialloc: Option<PathBuf>,
    /// `--simulate`, once per group.
    pub simulate: Vec<String>,
}

impl SourceOptions {
    /// Whether a Ganeti cluster is named.
    pub(crate) fn is_named(&self) -> bool {
        *self != SourceOptions::default()
    }

    /// The master daemon's socket: the one that was named, or the default one.
    pub(crate) fn socket(&self) -> PathBuf {
        self.luxi.clone().flatten().unwrap_or_else(default_socket)
    }
}

/// Which Pacemaker cluster is read, and what of it may be changed, how.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct CibOptions {
    /// `-x`; `-` is standard input.
    pub file: Option<PathBuf>,
    pub live: bool,
    pub skip_unsupported: bool,
    /// Whether other tools may move what cannot move while it runs.
    pub allow_restarts: bool,
    /// Whose commands are printed.
    pub commands: Option<CommandForm>,
}

impl CibOptions {
    /// Whether a Pacemaker cluster is named.
    pub(crate) fn is_named(&self) -> bool {
        self.file.is_some() || self.live
    }
}

/// How the cluster is read and prepared, and how much is said on the way.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadOptions {
    /// Where the cluster comes from.
    pub source: SourceOptions,
    /// How much the tool has to know of it.
    pub detail: Detail,
    /// What is added to the source's data; the file of `-U` is read when loading.
    pub merge: MergeOptions,
    /// What is changed in the nodes once the cluster is complete.
    pub nodes: NodeOptions,
    /// `-U`
    pub utilisation: Option<PathBuf>,
    pub mond: bool,
    /// `--mond-data`
    pub mond_data: Option<PathBuf>,
    /// `--mond-xen`
    pub mond_xen: bool,
    /// `--exit-on-missing-mond-data`
    pub exit_on_missing_mond_data: bool,
    /// `--static-kvm-node-memory`; zero or less: believe what nodes report.
    pub static_kvm_node_memory: Mib,
    /// 1, one more for each `-v`, one less for each `-q`.
    pub verbosity: i32,
    /// Most time for asking the cluster, if not the usual one; a file must be one whose end comes then.
    pub reading_limit: Option<Duration>,
    /// Whether a saved plan named the files besides the cluster: errors quote nothing of them then.
    pub files_of_plan: bool,
}

impl Default for LoadOptions {
    fn default() -> Self {
        LoadOptions {
            source: SourceOptions::default(),
            detail: Detail::Usual,
            merge: MergeOptions::default(),
            nodes: NodeOptions::default(),
            utilisation: None,
            mond: false,
            mond_data: None,
            mond_xen: false,
            exit_on_missing_mond_data: false,
            static_kvm_node_memory: Mib(4096),
            verbosity: 1,
            reading_limit: None,
            files_of_plan: false,
        }
    }
}

impl LoadOptions {
    /// The same with the `--keep-reserve` that a plan was made with, if that was given.
    #[must_use]
    pub fn keeping(&self, keep_reserve: Option<usize>) -> LoadOptions {
        let nodes =
            NodeOptions { keep_reserve: keep_reserve.or(self.nodes.keep_reserve), ..self.nodes.clone() };
        LoadOptions { nodes, ..self.clone() }
    }

    /// Refuses a rule that another option leaves out.
    ///
    /// # Errors
    /// Both, by name.
    pub(crate) fn check_rules(&self, rules: &MoveRules) -> anyhow::Result<()> {
        one_form(&[
            ("keep-reserve", self.nodes.keep_reserve.is_some()),
            ("ignore-soft-errors", rules.ignore_soft_errors),
        ])
    }
}
