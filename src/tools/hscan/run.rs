//! The run of hscan: reads, prints and saves the clusters.

use std::collections::HashMap;

use anyhow::anyhow;

use super::file::{ScanError, checked_text, file_name};
use super::gather::gather;
use super::{ExitStatus, HscanOptions};
use crate::load::Detail;
use crate::load::anonymise::Anonymiser;
use crate::load::merge::{MergeOptions, finish, merge};
use crate::load::{RawCluster, luxi};
use crate::model::shown::printable;
use crate::remote::luxi::Timeouts;
use crate::remote::rapi::{Access, Address};
use crate::report::cluster::nodes::text::node_list;
use crate::report::cluster::scan;
use crate::report::form::file::write_whole;
use crate::tools::hint::WithHint;
use crate::tools::output::Output;

/// The name of the local cluster.
const LOCAL: &str = "LOCAL";

/// Reads the clusters, prints a line about each and writes its file. A failure of one cluster does not stop the
/// others; a file that cannot be written does.
pub(super) fn run(options: &HscanOptions, output: &mut Output) -> anyhow::Result<ExitStatus> {
    let addresses: Vec<Address> = options.clusters.iter().map(|word| Address::new(word)).collect();
    let access = Access::read(&options.load.source.rapi_access, &addresses)?;
    let names = OutputNames::new(options, &addresses);
    names.check(&addresses)?;
    let width = names.shown.iter().map(|name| name.chars().count()).max().unwrap_or(LOCAL.len());
    if !options.output.no_headers {
        output.line(&scan::heading(width))?;
    }
    if addresses.is_empty() {
        return scan_local(options, width, output);
    }
    let mut status = ExitStatus::Success;
    let mut anonymiser = options.anonymise.then(Anonymiser::default);
    // The user can see the progress.
    output.flush()?;
    for warning in access.warnings(&addresses, options.load.verbosity >= 1) {
        output.error_line(&format!("Warning: {warning}"))?;
    }
    for (at, loaded) in gather(addresses.clone(), access).enumerate() {
        let raw = match loaded {
            Ok(raw) => raw,
            Err(error) => {
                failure(output, &addresses[at].shown(), "load", &error.to_string())?;
                status = ExitStatus::Usage;
                continue;
            }
        };
        warn(&raw, &addresses[at].shown(), options, output)?;
        let cluster = Scanned { raw, name: &names.shown[at], file: &names.files[at], width };
        if let Err(problem) = cluster.show_and_save(options, anonymiser.as_mut(), output)? {
            failure(output, &addresses[at].shown(), "process", &problem.to_string())?;
            status = ExitStatus::Usage;
        }
        output.flush()?;
    }
    output.flush()?;
    Ok(status)
}

/// Prints the warnings of the reading, except with `--anonymise`, because they contain names.
fn warn(raw: &RawCluster, name: &str, options: &HscanOptions, output: &mut Output) -> anyhow::Result<()> {
    if options.anonymise {
        return Ok(());
    }
    for warning in &raw.warnings {
        output.error_line(&format!("Warning: {name}: {warning}"))?;
    }
    Ok(())
}

/// Reads the local cluster, prints a line about it and writes its file. If the connection fails, nothing is printed.
fn scan_local(options: &HscanOptions, width: usize, output: &mut Output) -> anyhow::Result<ExitStatus> {
    output.flush()?;
    let socket = options.load.source.socket();
    let answers = luxi::fetch(&socket, Timeouts::default(), Detail::Usual)?;
    let problem = match luxi::parse(&answers) {
        Ok(raw) => {
            warn(&raw, LOCAL, options, output)?;
            let cluster = Scanned { raw, name: LOCAL, file: &file_name(LOCAL), width };
            let mut anonymiser = options.anonymise.then(Anonymiser::default);
            let done = cluster.show_and_save(options, anonymiser.as_mut(), output)?;
            done.map_err(|problem| ("process", problem.to_string()))
        }
        Err(error) => Err(("load", error.to_string())),
    };
    let Err((what, problem)) = problem else {
        output.flush()?;
        return Ok(ExitStatus::Success);
    };
    failure(output, LOCAL, what, &problem)?;
    Ok(ExitStatus::Usage)
}

/// Names of the clusters in the table, and of their files.
struct OutputNames {
    shown: Vec<String>,
    files: Vec<String>,
}

impl OutputNames {
    fn new(options: &HscanOptions, addresses: &[Address]) -> OutputNames {
        let name = |(at, address): (usize, &Address), named: fn(&Address) -> String| {
            if options.anonymise { format!("cluster-{}", at + 1) } else { named(address) }
        };
        OutputNames {
            shown: addresses.iter().enumerate().map(|one| name(one, Address::shown)).collect(),
            files: addresses.iter().enumerate().map(|one| file_name(&name(one, Address::bare))).collect(),
        }
    }

    /// Refuses to write two clusters to one file. The same cluster may be named twice.
    fn check(&self, addresses: &[Address]) -> anyhow::Result<()> {
        let mut first: HashMap<&str, usize> = HashMap::new();
        for (at, file) in self.files.iter().enumerate() {
            let before = *first.entry(file).or_insert(at);
            if !addresses[before].is_same(&addresses[at]) {
                let [one, other] = [before, at].map(|at| printable(&self.shown[at], 200));
                return Err(anyhow!("'{one}' and '{other}' would both be written to '{file}'")
                    .hint("write the address of one of them in another way"));
            }
        }
        Ok(())
    }
}

/// A cluster that was read.
struct Scanned<'n> {
    raw: RawCluster,
    name: &'n str,
    file: &'n str,
    width: usize,
}

impl Scanned<'_> {
    /// Prints the cluster's line and writes its file.
    ///
    /// # Errors
    /// Failures of the output and the file. The inner error is a reason not to show or save the cluster.
    fn show_and_save(
        self,
        options: &HscanOptions,
        anonymiser: Option<&mut Anonymiser>,
        output: &mut Output,
    ) -> anyhow::Result<Result<(), ScanError>> {
        let mut raw = self.raw;
        if let Some(anonymiser) = anonymiser {
            anonymiser.replace(&mut raw);
        }
        let weights = options.load.merge.weights;
        let mut cluster = match merge(raw.clone(), &MergeOptions { weights, ..MergeOptions::default() }) {
            Ok(cluster) => cluster,
            Err(error) => return Ok(Err(ScanError::Contradictory(error))),
        };
        finish(&mut cluster, options.load.static_kvm_node_memory);
        output.line(&scan::row(self.name, self.width, &cluster))?;
        if let Some(fields) = &options.output.print_nodes {
            for line in node_list(&cluster, &cluster.all_nodes(), fields) {
                output.line(&line)?;
            }
        }
        let text = match checked_text(raw, &cluster) {
            Ok(text) => text,
            Err(problem) => return Ok(Err(problem)),
        };
        // The line must appear even if writing the file fails.
        output.flush()?;
        write_whole(&options.directory.join(self.file), &text)?;
        Ok(Ok(()))
    }
}

fn failure(output: &mut Output, name: &str, what: &str, problem: &str) -> anyhow::Result<()> {
    output.write(&format!("\nError for {name}: failed to {what} data. Details:\n{problem}\n"))?;
    output.flush()?;
    Ok(())
}
