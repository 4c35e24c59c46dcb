//! Options for the source of the cluster, and for reading it.

use std::path::PathBuf;
use std::time::Duration;

use crate::load::Detail;
use crate::load::merge::{MergeOptions, NodeOptions};
use crate::model::Mib;
use crate::remote::luxi::default_socket;
use crate::remote::rapi::AccessOptions;
use crate::report::pacemaker::commands::CommandForm;
use crate::search::moves::MoveRules;
use crate::tools::options::measured::MeasuredOptions;
use crate::tools::options::one_form;

/// Sources of a Ganeti cluster. Several can be given; loading decides which of them count and which exclude each other.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SourceOptions {
    /// `-t`
    pub text_data: Option<PathBuf>,
    /// `-m`; an empty address counts as not given.
    pub rapi: Option<String>,
    /// Name of the cluster in the configuration, if it comes from there.
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
    /// Tells if a Ganeti cluster is named. The permission to send passwords in plain text names none.
    pub(crate) fn is_named(&self) -> bool {
        let rapi_access = AccessOptions { insecure_http: false, ..self.rapi_access.clone() };
        SourceOptions { rapi_access, ..self.clone() } != SourceOptions::default()
    }

    /// The master daemon's socket: the one that was named, or the default one.
    pub(crate) fn socket(&self) -> PathBuf {
        self.luxi.clone().flatten().unwrap_or_else(default_socket)
    }
}

/// Source of a Pacemaker cluster, and options for changing it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct CibOptions {
    /// `-x`; `-` is standard input.
    pub file: Option<PathBuf>,
    pub live: bool,
    pub skip_unsupported: bool,
    /// Let tools other than hplace move resources even if that restarts something.
    pub allow_restarts: bool,
    /// Program whose commands are printed.
    pub commands: Option<CommandForm>,
}

impl CibOptions {
    /// Tells if a Pacemaker cluster is named.
    pub(crate) fn is_named(&self) -> bool {
        self.file.is_some() || self.live
    }
}

/// Options for reading and preparing the cluster, and the verbosity.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadOptions {
    /// Source of the cluster.
    pub source: SourceOptions,
    /// Amount of data to read from a live cluster.
    pub detail: Detail,
    /// Options for the merge of the source's data; the file of `-U` is read when loading.
    pub merge: MergeOptions,
    /// Node settings, applied once the cluster is complete.
    pub nodes: NodeOptions,
    /// `-U`
    pub utilisation: Option<PathBuf>,
    /// `--load-from`
    pub measured: MeasuredOptions,
    pub mond: bool,
    /// `--mond-data`
    pub mond_data: Option<PathBuf>,
    /// `--mond-xen`
    pub mond_xen: bool,
    /// `--exit-on-missing-mond-data`
    pub exit_on_missing_mond_data: bool,
    /// `--static-kvm-node-memory`; zero or less: as the nodes report.
    pub static_kvm_node_memory: Mib,
    /// 1, one more for each `-v`, one less for each `-q`.
    pub verbosity: i32,
    /// Maximum time for reading the cluster, if not the usual one. With a limit, only regular files are read.
    pub reading_limit: Option<Duration>,
    /// True if a saved plan named the files beside the cluster's; errors then do not quote their content.
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
            measured: MeasuredOptions::default(),
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
    /// These options with the `--keep-reserve` of a plan, if that has one.
    #[must_use]
    pub fn keeping(&self, keep_reserve: Option<usize>) -> LoadOptions {
        let nodes =
            NodeOptions { keep_reserve: keep_reserve.or(self.nodes.keep_reserve), ..self.nodes.clone() };
        LoadOptions { nodes, ..self.clone() }
    }

    /// Refuses `--keep-reserve` and `--keep-room` together with `--ignore-soft-errors`, which would ignore them.
    ///
    /// # Errors
    /// Names the two.
    pub(crate) fn check_rules(&self, rules: &MoveRules) -> anyhow::Result<()> {
        one_form(&[
            ("keep-reserve", self.nodes.keep_reserve.is_some()),
            ("ignore-soft-errors", rules.ignore_soft_errors),
        ])?;
        one_form(&[
            ("keep-room", self.nodes.keep_room.is_some()),
            ("ignore-soft-errors", rules.ignore_soft_errors),
        ])
    }
}
