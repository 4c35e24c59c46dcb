//! Measured utilization (`--measured`): primitives count with what they use, where that is more than is configured.

use std::collections::BTreeSet;

use anyhow::{anyhow, bail, ensure};

use super::{HplaceOptions, affinity};
use crate::load::measured::{MeasuredLoad, MissingSeries};
use crate::model::number::counted;
use crate::model::shown::shown_name;
use crate::pacemaker::cib::change::{CountedUtilization, with_utilization};
use crate::pacemaker::cib::sized_primitives;
use crate::pacemaker::measured::{MeasuredUtilization, UtilizationMismatch, measured_utilization};
use crate::tools::hint::WithHint;
use crate::tools::measured::{first_names, read_resources};
use crate::tools::options::measured::MeasuredOptions;
use crate::tools::output::Output;

/// Refuses options that need `--measured` or do not go with it.
///
/// # Errors
/// Fails at the first such option.
pub(super) fn check(options: &HplaceOptions) -> anyhow::Result<()> {
    let load = &options.load.measured;
    let Some(first) = options.measured.first() else {
        return match &load.from {
            Some(_) => Err(anyhow!("option --load-from needs --measured")
                .hint("--measured ATTRIBUTE=RESOURCE says which utilization counts as measured")),
            None if *load != MeasuredOptions::default() => {
                bail!("options that begin with --load need --load-from and --measured")
            }
            None => Ok(()),
        };
    };
    ensure!(
        load.from.is_some(),
        anyhow!("option --measured needs --load-from").hint("an example is prometheus:http://localhost:9090")
    );
    ensure!(!options.load.source.is_named(), "option --measured applies only to Pacemaker clusters");
    ensure!(!affinity::is_asked(options), "option --measured does not apply to placement by keys");
    ensure!(
        !options.undo && options.execution.resume.is_none(),
        "option --measured cannot be given with --undo or --resume"
    );
    let mut names = BTreeSet::from([first.name.as_str()]);
    match options.measured[1..].iter().find(|one| !names.insert(&one.name)) {
        Some(twice) => bail!("option --measured is given twice for '{}'", shown_name(&twice.name)),
        None => Ok(()),
    }
}

/// Utilization that is to count as measured.
pub(super) struct MeasuredChange<'o> {
    options: &'o HplaceOptions,
    load: MeasuredLoad,
}

impl<'o> MeasuredChange<'o> {
    /// Asks for the load, if utilization is to count as measured. That comes before the cluster is read, so that its
    /// state is not older than the load.
    ///
    /// # Errors
    /// Mistakes in the options, and faults of the connection.
    pub(super) fn read(
        options: &'o HplaceOptions,
        output: &mut Output,
    ) -> anyhow::Result<Option<MeasuredChange<'o>>> {
        let from = options.load.measured.from.as_deref().filter(|_| !options.measured.is_empty());
        let Some(from) = from else { return Ok(None) };
        let wanted = options.measured.iter().map(|attribute| attribute.resource).collect();
        let load = read_resources(from, &wanted, &options.load, output)?;
        Ok(Some(MeasuredChange { options, load }))
    }

    /// The document in which the measured utilization counts. Prints how much that is, and what was not measured.
    ///
    /// # Errors
    /// Fails if the document cannot be read, or the load does not fit the cluster.
    pub(super) fn made_in(&self, text: &str, source: &str, output: &mut Output) -> anyhow::Result<String> {
        let missing = self.options.load.measured.missing;
        let primitives = sized_primitives(text, source)?;
        let found = measured_utilization(&primitives, &self.load, &self.options.measured, missing);
        let found = found.map_err(|mismatch| {
            let hint = match mismatch {
                UtilizationMismatch::NoAttribute { .. } => "hplace --show-normalized lists the attributes",
                UtilizationMismatch::NoneMatches { .. } => {
                    "--load-label and --load-pattern say where the name is"
                }
                UtilizationMismatch::Missing { .. } => {
                    "--load-missing=median takes the median of the measured ones"
                }
            };
            anyhow!("cannot use the measured load: {mismatch}").hint(hint)
        })?;
        self.tell(&found, output)?;
        Ok(with_utilization(text, source, &found.raised)?)
    }

    fn tell(&self, found: &MeasuredUtilization, output: &mut Output) -> anyhow::Result<()> {
        let MeasuredUtilization { raised, measured, without, replicated } = found;
        let verbosity = self.options.load.verbosity;
        if verbosity < 1 {
            return Ok(());
        }
        if !without.is_empty() {
            let counts = match self.options.load.measured.missing {
                MissingSeries::Zero => "what is configured",
                _ => "the median of the measured ones",
            };
            output.error_line(&format!(
                "Warning: not all load was measured for {}; {counts} counts: {}",
                counted(without.len(), "primitive"),
                first_names(without)
            ))?;
        }
        if !replicated.is_empty() {
            output.error_line(&format!(
                "Warning: the load of clones and bundles is not divided among instances; what is configured counts: {}",
                first_names(replicated)
            ))?;
        }
        let primitives: BTreeSet<&str> = raised.iter().map(|one| one.primitive.as_str()).collect();
        output.error_line(&format!(
            "Load was measured for {}; it raises the utilization of {}. The answer is as if these amounts were in the CIB; Pacemaker goes by the configured ones.",
            counted(*measured, "primitive"),
            primitives.len()
        ))?;
        if verbosity > 1 {
            raised.iter().try_for_each(|one| output.error_line(&raise(one)))?;
        }
        Ok(())
    }
}

/// The change of an amount, in words.
fn raise(one: &CountedUtilization) -> String {
    let CountedUtilization { primitive, attribute, configured, counted } = one;
    format!("{}: {} {configured} counts as {counted}", shown_name(primitive), shown_name(attribute))
}
