//! Reading the cluster that the options name.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, anyhow, bail, ensure};

use super::HplaceOptions;
use super::measured::MeasuredChange;
use crate::affinity::bridges::ganeti;
use crate::input::compressed::unpacked;
use crate::input::encoding::decode;
use crate::input::local::read_limited;
use crate::load::merge::apply_node_options;
use crate::model::shown::printable;
use crate::pacemaker::cib::GuestReading;
use crate::pacemaker::cib::change::{ChangedTicket, dated, with_release, with_tickets};
use crate::pacemaker::execute::{CibClient, LocalCluster, SIZE};
use crate::pacemaker::working_set::{QuorumPolicy, Unsupported, WorkingSet};
use crate::pacemaker::{AllocationScore, Release, cib};
use crate::tools::hint::WithHint;
use crate::tools::options::{CibOptions, LoadOptions};
use crate::tools::output::Output;
use crate::tools::source;

/// Default score of a Ganeti instance for staying on its node: above 0, so that no instance moves without a reason.
const STAYING: i64 = 1;
/// Options that name a cluster, for hints.
pub(super) const NAME_CLUSTER: &str =
    "a Pacemaker cluster with -x FILE or --live, or a Ganeti cluster with -t FILE, -m ADDRESS or -L";
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
    let guests = guests(&options.cib);
    let measured = MeasuredChange::read(options, output)?;
    let set = match ClusterOrigin::of(options)? {
        ClusterOrigin::Ganeti => {
            let mut cluster = source::load(&options.load, output)?;
            apply_node_options(&mut cluster, &options.load.nodes)?;
            ganeti::working_set(&cluster, options.stickiness.unwrap_or(AllocationScore::of(STAYING)))
        }
        origin if measured.is_some() || !options.what_if().is_nothing() => {
            let (text, source) = origin.document(options.what_if())?;
            let text = match measured {
                Some(measured) => measured.made_in(&text, &source, output)?,
                None => text,
            };
            cib::read_with(text.as_bytes(), &source, guests)?
        }
        ClusterOrigin::Document(file) => {
            let (document, source) = opened(file)?;
            cib::read_with(document, &source, guests)?
        }
        ClusterOrigin::Live => cib::read_with(LocalCluster.document()?.as_bytes(), ASKED, guests)?,
    };
    accept(&set, &options.cib, options.release, output)?;
    options.tell_release(&set, output)?;
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
    let set = cib::read_with(text.as_bytes(), &source, guests(options))?;
    accept(&set, options, what_if.release, output)?;
    Ok(ReadCib { text, source, set })
}

/// Treatment of guest nodes. If unsupported elements are skipped, guest nodes are, too.
fn guests(options: &CibOptions) -> GuestReading {
    if options.skip_unsupported { GuestReading::IfAllIsKnown } else { GuestReading::Followed }
}

impl HplaceOptions {
    /// Reads the cluster as [`read_cib`] does. Measured utilization counts in the cluster, but is not in its document:
    /// Pacemaker goes by that.
    ///
    /// # Errors
    /// Those of [`read_cib`], and of measured utilization.
    pub(super) fn read_cib(&self, output: &mut Output) -> anyhow::Result<ReadCib> {
        let measured = MeasuredChange::read(self, output)?;
        let mut cib = read_cib(&ClusterOrigin::of(self)?, &self.cib, self.what_if(), output)?;
        if let Some(measured) = measured {
            let text = measured.made_in(&cib.text, &cib.source, output)?;
            cib.set = cib::read_with(text.as_bytes(), &cib.source, guests(&self.cib))?;
        }
        self.tell_release(&cib.set, output)?;
        Ok(cib)
    }

    /// Names the version of Pacemaker whose rules are used, at higher verbosity.
    fn tell_release(&self, set: &WorkingSet, output: &mut Output) -> anyhow::Result<()> {
        if self.load.verbosity > 1 {
            output.error_line(&format!("The rules are those of Pacemaker {}.", set.release))?;
        }
        Ok(())
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
        WhatIf { now: self.now, tickets: &self.tickets, release: self.release }
    }
}

/// State in which a cluster is looked at, where that is not its present state.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::tools) struct WhatIf<'a> {
    now: Option<jiff::Timestamp>,
    tickets: &'a [ChangedTicket],
    release: Option<Release>,
}

impl WhatIf<'_> {
    /// Returns true for the present state.
    fn is_nothing(self) -> bool {
        self.now.is_none() && self.tickets.is_empty() && self.release.is_none()
    }

    /// The document in this state.
    fn applied(self, mut text: String, source: &str) -> anyhow::Result<String> {
        if let Some(now) = self.now {
            text = dated(&text, source, now)?;
        }
        if let Some(release) = self.release {
            text = with_release(&text, source, release)?;
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
            ClusterOrigin::Ganeti => {
                return Err(anyhow!("this command of hplace applies only to Pacemaker clusters")
                    .hint("use hbal, hgroup or hcheck for Ganeti clusters"));
            }
        };
        Ok((what_if.applied(text, &source)?, source))
    }

    fn of(options: &'a HplaceOptions) -> anyhow::Result<ClusterOrigin<'a>> {
        let of_ganeti = options.load.source.is_named();
        ensure!(
            of_ganeti || options.stickiness.is_none(),
            "option --stickiness applies only to Ganeti clusters; a CIB has its own resource-stickiness"
        );
        ensure!(!of_ganeti || options.now.is_none(), "option --now applies only to Pacemaker clusters");
        ensure!(
            !of_ganeti || options.tickets.is_empty(),
            "options for tickets apply only to Pacemaker clusters"
        );
        ensure!(
            !of_ganeti || options.release.is_none(),
            "option --pacemaker-version applies only to Pacemaker clusters"
        );
        ensure!(
            options.release.is_none() || !options.execution.exec,
            "options --pacemaker-version and --exec exclude each other: a change of the cluster goes by its own version"
        );
        ensure!(
            options.tickets.is_empty() || !options.execution.exec,
            "a change of tickets and --exec exclude each other: a change of the cluster goes by its own tickets"
        );
        ensure!(
            options.now.is_none() || !options.execution.exec,
            "options --now and --exec exclude each other: a change of the cluster takes effect at the present time"
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
            (None, false, false) => Err(anyhow!("no cluster is named").hint(format!("name {NAME_CLUSTER}"))),
            (Some(_), true, false) => bail!("options -x and --live exclude each other"),
            (_, _, true) => bail!(
                "the options name a Pacemaker cluster and a Ganeti cluster; only one cluster can be named"
            ),
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
    ensure!(has_quorum, "the cluster has no quorum, so Pacemaker starts no resources, whatever is planned");
    Ok(())
}

/// The first of some nodes, and how many others there are; `None` without nodes.
fn first_and_count(nodes: &[String]) -> Option<String> {
    let first = printable(nodes.first()?, 60);
    Some(match nodes.len() {
        1 => first,
        count => format!("{first} and {} other nodes", count - 1),
    })
}

/// Lists unsupported elements, refuses the cluster unless they are to be skipped, and prints warnings about it.
fn accept(
    set: &WorkingSet,
    options: &CibOptions,
    release: Option<Release>,
    output: &mut Output,
) -> anyhow::Result<()> {
    for unsupported in &set.unsupported {
        output.error_line(&format!("Unsupported: {}", shown(unsupported)))?;
    }
    ensure!(
        set.unsupported.is_empty() || options.skip_unsupported,
        anyhow!("the cluster has elements that hplace does not support")
            .hint("--skip-unsupported leaves these as they are")
    );
    if let (Some(features), None) = (&set.unknown_feature_set, release) {
        output.error_line(&format!(
            "Warning: the rules of Pacemaker with the feature set {} are not known; those of {} are used",
            printable(features, 60),
            set.release
        ))?;
    }
    if let Some(nodes) = first_and_count(&set.ignored_utilization) {
        output.error_line(&format!(
            "Warning: the utilization that the status gives {nodes} is ignored, because a node of this cluster runs a Pacemaker older than 2.1.6"
        ))?;
    }
    if let Some(nodes) = first_and_count(&set.ignored_membership) {
        output.error_line(&format!(
            "Warning: the status says since when {nodes} are members; Pacemaker 2.1.5 does not read that, and takes them for offline"
        ))?;
    }
    if let Some(word) = &set.unknown_strategy {
        let word = printable(word, 60);
        output.error_line(&format!(
            "Warning: there is no placement-strategy '{word}'; Pacemaker uses 'default', which ignores capacities"
        ))?;
    }
    if let Some(policy) = set.without_quorum {
        let what = match policy {
            QuorumPolicy::Stop => "Pacemaker stops all resources",
            QuorumPolicy::Demote => {
                "Pacemaker promotes no instances, and stops all resources but those of promotable clones"
            }
            QuorumPolicy::Freeze => "Pacemaker starts no more resources",
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
