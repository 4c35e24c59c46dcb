//! Reading the cluster that the options name.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, bail, ensure};

use super::HplaceOptions;
use crate::affinity::bridges::ganeti;
use crate::input::compressed::unpacked;
use crate::input::encoding::decode;
use crate::input::local::read_limited;
use crate::load::merge::apply_node_options;
use crate::model::shown::printable;
use crate::pacemaker::cib::GuestReading;
use crate::pacemaker::cib::change::{ChangedTicket, dated, with_tickets};
use crate::pacemaker::execute::{CibClient, LocalCluster, SIZE};
use crate::pacemaker::working_set::{QuorumPolicy, Unsupported, WorkingSet};
use crate::pacemaker::{AllocationScore, cib};
use crate::tools::options::{CibOptions, LoadOptions};
use crate::tools::output::Output;
use crate::tools::source;

/// Default score of a Ganeti instance for staying on its node: above 0, so that no instance moves without a reason.
const STAYING: i64 = 1;
/// Source of a live cluster's document, for messages.
const ASKED: &str = "cibadmin";

/// A Pacemaker cluster with its document (CIB).
pub(in crate::tools) struct ReadCib {
    pub text: String,
    /// Source of the document, for messages.
    pub source: String,
    /// The cluster that the document describes.
    pub set: WorkingSet,
}

/// Reads the cluster, Pacemaker's or Ganeti's. Unsupported elements are listed on standard error.
///
/// # Errors
/// Fails if the cluster cannot be read, or has unsupported elements that are not to be skipped.
pub(super) fn load(options: &HplaceOptions, output: &mut Output) -> anyhow::Result<WorkingSet> {
    load_with(options, GuestReading::Unsupported, output)
}

/// Reads the cluster as [`load`] does, with guest nodes as `guests` says.
///
/// # Errors
/// Those of [`load`].
pub(super) fn load_with(
    options: &HplaceOptions,
    guests: GuestReading,
    output: &mut Output,
) -> anyhow::Result<WorkingSet> {
    let set = match ClusterOrigin::of(options)? {
        ClusterOrigin::Ganeti => {
            let mut cluster = source::load(&options.load, output)?;
            apply_node_options(&mut cluster, &options.load.nodes)?;
            ganeti::working_set(&cluster, options.stickiness.unwrap_or(AllocationScore::of(STAYING)))
        }
        origin if !options.what_if().is_nothing() => {
            let (text, source) = origin.document(options.what_if())?;
            cib::read_with(text.as_bytes(), &source, guests)?
        }
        ClusterOrigin::Document(file) => {
            let (document, source) = opened(file)?;
            cib::read_with(document, &source, guests)?
        }
        ClusterOrigin::Live => cib::read_with(LocalCluster.document()?.as_bytes(), ASKED, guests)?,
    };
    accept(&set, &options.cib, output)?;
    Ok(set)
}

/// Reads a Pacemaker cluster with its document, in another state if that is asked for.
///
/// # Errors
/// Fails if the cluster cannot be read, is Ganeti's, or has unsupported elements that are not to be skipped.
pub(in crate::tools) fn read_cib(
    origin: &ClusterOrigin<'_>,
    options: &CibOptions,
    what_if: WhatIf<'_>,
    output: &mut Output,
) -> anyhow::Result<ReadCib> {
    let (text, source) = origin.document(what_if)?;
    let set = cib::parse(&text, &source)?;
    accept(&set, options, output)?;
    Ok(ReadCib { text, source, set })
}

impl HplaceOptions {
    /// Reads the cluster as [`read_cib`] does.
    ///
    /// # Errors
    /// Those of [`read_cib`].
    pub(super) fn read_cib(&self, output: &mut Output) -> anyhow::Result<ReadCib> {
        read_cib(&ClusterOrigin::of(self)?, &self.cib, self.what_if(), output)
    }

    /// The document of a Pacemaker cluster, and its source for messages.
    ///
    /// # Errors
    /// Fails if the document cannot be read, or if the cluster is Ganeti's.
    pub(super) fn read_text(&self) -> anyhow::Result<(String, String)> {
        ClusterOrigin::of(self)?.document(self.what_if())
    }

    /// The state in which the options look at the cluster.
    fn what_if(&self) -> WhatIf<'_> {
        WhatIf { now: self.now, tickets: &self.tickets }
    }
}

/// State in which a cluster is looked at, where that is not its present state.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::tools) struct WhatIf<'a> {
    now: Option<jiff::Timestamp>,
    tickets: &'a [ChangedTicket],
}

impl WhatIf<'_> {
    /// Returns true for the present state.
    fn is_nothing(self) -> bool {
        self.now.is_none() && self.tickets.is_empty()
    }

    /// The document in this state.
    fn applied(self, mut text: String, source: &str) -> anyhow::Result<String> {
        if let Some(now) = self.now {
            text = dated(&text, source, now)?;
        }
        if !self.tickets.is_empty() {
            text = with_tickets(&text, source, self.tickets)?;
        }
        Ok(text)
    }
}

/// Source of a cluster.
pub(in crate::tools) enum ClusterOrigin<'a> {
    /// The document in a file.
    Document(&'a Path),
    /// The Pacemaker cluster of this node.
    Live,
    /// A Ganeti cluster, named by the options that all tools share.
    Ganeti,
}

impl<'a> ClusterOrigin<'a> {
    /// The document in the state that is asked for, and its source for messages.
    fn document(&self, what_if: WhatIf<'_>) -> anyhow::Result<(String, String)> {
        let (text, source) = match self {
            ClusterOrigin::Document(file) => {
                let (document, source) = opened(file)?;
                let bytes = read_limited(document, SIZE).with_context(|| unreadable(&source))?;
                (decode(&bytes, &source)?.to_owned(), source)
            }
            ClusterOrigin::Live => (LocalCluster.document()?, ASKED.to_owned()),
            ClusterOrigin::Ganeti => bail!(
                "only Pacemaker clusters are changed by hplace, or looked through; for Ganeti's there are hbal, hgroup and hcheck"
            ),
        };
        Ok((what_if.applied(text, &source)?, source))
    }

    fn of(options: &'a HplaceOptions) -> anyhow::Result<ClusterOrigin<'a>> {
        let of_ganeti = options.load.source.is_named();
        ensure!(
            of_ganeti || options.stickiness.is_none(),
            "--stickiness is for Ganeti clusters; a CIB says itself what it is worth to stay"
        );
        ensure!(!of_ganeti || options.now.is_none(), "--now is for Pacemaker clusters");
        ensure!(!of_ganeti || options.tickets.is_empty(), "only Pacemaker clusters have tickets");
        ensure!(
            options.tickets.is_empty() || !options.execution.exec,
            "what is carried out goes by the tickets of the cluster: no change of tickets with --exec"
        );
        ensure!(
            options.now.is_none() || !options.execution.exec,
            "what is carried out goes by the clock of the cluster: no --now with --exec"
        );
        ClusterOrigin::named(&options.load, &options.cib)
    }

    /// The one cluster that the options name.
    ///
    /// # Errors
    /// Fails if they name none, or several.
    pub(in crate::tools) fn named(
        load: &LoadOptions,
        cib: &'a CibOptions,
    ) -> anyhow::Result<ClusterOrigin<'a>> {
        match (&cib.file, cib.live, load.source.is_named()) {
            (Some(file), false, false) => Ok(ClusterOrigin::Document(file)),
            (None, true, false) => Ok(ClusterOrigin::Live),
            (None, false, true) => Ok(ClusterOrigin::Ganeti),
            (None, false, false) => {
                bail!(
                    "no cluster is named: -x FILE or --live for Pacemaker, -t FILE, -m ADDRESS or -L for Ganeti"
                )
            }
            (Some(_), true, false) => bail!("only one of -x and --live can be given"),
            (_, _, true) => bail!("only one cluster can be named, Pacemaker's (-x, --live) or Ganeti's"),
        }
    }
}

/// Opens a file, which may be compressed, or standard input for `-`. Also returns its name for messages.
pub(super) fn opened(file: &Path) -> anyhow::Result<(Box<dyn Read>, String)> {
    if file == Path::new("-") {
        let source = "standard input".to_owned();
        let document = unpacked(std::io::stdin(), SIZE).with_context(|| unreadable(&source))?;
        return Ok((document, source));
    }
    let source = file.to_string_lossy().into_owned();
    let document = File::open(file).and_then(|file| unpacked(file, SIZE));
    Ok((document.with_context(|| unreadable(&source))?, source))
}

fn unreadable(source: &str) -> String {
    format!("cannot read file '{}'", printable(source, 200))
}

/// Refuses a cluster without quorum, because it would start nothing, whatever is planned.
///
/// # Errors
/// Fails if there is no quorum.
pub(in crate::tools) fn ensure_quorum(set: &WorkingSet) -> anyhow::Result<()> {
    let has_quorum = set.without_quorum.is_none();
    ensure!(
        has_quorum,
        "the cluster has no quorum: it starts nothing that does not run, whatever is planned for it"
    );
    Ok(())
}

/// Lists unsupported elements, refuses the cluster unless they are to be skipped, and prints warnings about it.
fn accept(set: &WorkingSet, options: &CibOptions, output: &mut Output) -> anyhow::Result<()> {
    for unsupported in &set.unsupported {
        output.error_line(&format!("Unsupported: {}", shown(unsupported)))?;
    }
    ensure!(
        set.unsupported.is_empty() || options.skip_unsupported,
        "the cluster has what this tool does not know; --skip-unsupported leaves it as it is"
    );
    if let Some(host) = set.ignored_utilization.first() {
        let more = match set.ignored_utilization.len() {
            1 => String::new(),
            count => format!(" and {} other nodes", count - 1),
        };
        output.error_line(&format!(
            "Warning: the utilization that the status gives {}{more} does not count: Pacemaker reads it since 2.1.6, and this cluster has an older member",
            printable(host, 60)
        ))?;
    }
    if let Some(word) = &set.unknown_strategy {
        let word = printable(word, 60);
        output.error_line(&format!(
            "Warning: there is no placement-strategy '{word}': Pacemaker takes 'default', which does not look at capacities"
        ))?;
    }
    if let Some(policy) = set.without_quorum {
        let what = match policy {
            QuorumPolicy::Stop => "Pacemaker stops what runs, and starts nothing",
            QuorumPolicy::Freeze => "Pacemaker starts nothing that does not run",
        };
        output
            .error_line(&format!("Warning: the cluster has no quorum: {what} (no-quorum-policy={policy})"))?;
    }
    Ok(())
}

fn shown(unsupported: &Unsupported) -> String {
    let id = if unsupported.id.is_empty() {
        String::new()
    } else {
        format!(" '{}'", printable(&unsupported.id, 60))
    };
    format!("{}{id}: {}", printable(&unsupported.element, 60), unsupported.reason)
}
