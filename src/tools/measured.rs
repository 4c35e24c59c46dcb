//! Load of instances that a monitoring system has measured (`--load-from`).

pub(super) mod forecast;

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, anyhow, bail, ensure};

use super::hint::WithHint;
use super::options::LoadOptions;
use super::options::measured::MeasuredOptions;
use super::output::Output;
use crate::load::RawCluster;
use crate::load::measured::{
    AssignedLoad, LoadMismatch, LoadQuestion, LoadResource, MeasuredLoad, MissingSeries, ask,
};
use crate::model::number::counted;
use crate::model::shown::shown_name;
use crate::remote::rapi::{Access, AccessOptions, Address, FetchLimits, Session};

/// Most names in a warning.
const NAMES: usize = 5;
/// Maximum size of an answer, in bytes: about 200,000 series.
const SIZE: u64 = 64 << 20;
/// Maximum time for all answers.
pub(super) const TIME: Duration = Duration::from_secs(60);

/// Asks for the load of the instances of a cluster; `None` if no source of it is given. Instances without measurements
/// are named in a warning.
///
/// # Errors
/// Mistakes in the options, faults of the connection, and load that does not fit the cluster.
pub(super) fn read(
    cluster: &RawCluster,
    options: &LoadOptions,
    output: &mut Output,
) -> anyhow::Result<Option<AssignedLoad>> {
    let measured = &options.measured;
    let Some(from) = &measured.from else {
        ensure!(measured.forecast.is_none(), "option --forecast needs --load-from");
        ensure!(*measured == MeasuredOptions::default(), "options that begin with --load need --load-from");
        return Ok(None);
    };
    let excluded = [
        ("dynu-file", options.utilisation.is_some()),
        ("ignore-dynu", options.merge.ignore_dynu),
        ("mond", options.mond),
    ];
    if let Some((other, _)) = excluded.into_iter().find(|(_, given)| *given) {
        bail!("options --load-from and --{other} exclude each other");
    }
    let (question, session) = (question(measured)?, session(from, options, output)?);
    let FoundLoad { load, notes } = match measured.forecast {
        Some(coming) => forecast::read(cluster, &session, &question, coming, options)?,
        None => FoundLoad { load: answer(&session, &question, options)?, notes: Vec::new() },
    };
    warn(&load, output)?;
    let assigned = load.assigned(cluster, measured.missing).map_err(|mismatch| {
        let hint = match mismatch {
            LoadMismatch::Missing { .. } => "--load-missing=median takes the median of their group",
            _ => "--load-label and --load-pattern say where the name is",
        };
        anyhow!("cannot use the measured load: {mismatch}").hint(hint)
    })?;
    if options.verbosity >= 1 {
        notes.iter().try_for_each(|note| output.error_line(note))?;
    }
    if !assigned.without.is_empty() && options.verbosity >= 1 {
        let counts = match measured.missing {
            MissingSeries::Zero => "has none",
            _ => "has the median of its group",
        };
        output.error_line(&format!(
            "Warning: not all load was measured for {}, which {counts}: {}",
            counted(assigned.without.len(), "instance"),
            first_names(&assigned.without)
        ))?;
    }
    Ok(Some(assigned))
}

/// Load by the names in labels, with lines about it for people.
struct FoundLoad {
    load: MeasuredLoad,
    notes: Vec<String>,
}

/// The first of some names.
pub(super) fn first_names(all: &[String]) -> String {
    let names: Vec<String> = all.iter().take(NAMES).map(|name| shown_name(name)).collect();
    let more = if all.len() > NAMES { ", ..." } else { "" };
    format!("{}{more}", names.join(", "))
}

/// Asks for the load of these resources.
///
/// # Errors
/// Mistakes in the options, a resource without an expression, and faults of the connection.
pub(super) fn read_resources(
    from: &str,
    wanted: &BTreeSet<LoadResource>,
    options: &LoadOptions,
    output: &mut Output,
) -> anyhow::Result<MeasuredLoad> {
    let mut question = question(&options.measured)?;
    if let Some(unknown) = wanted.iter().find(|resource| !question.expressions.contains_key(resource)) {
        return Err(anyhow!("there is no expression for the load of {unknown}")
            .hint(format!("--load-query {unknown}=EXPRESSION gives it")));
    }
    question.expressions.retain(|resource, _| wanted.contains(resource));
    let load = answer(&session(from, options, output)?, &question, options)?;
    warn(&load, output)?;
    Ok(load)
}

fn answer(session: &Session, question: &LoadQuestion, options: &LoadOptions) -> anyhow::Result<MeasuredLoad> {
    let limit = options.reading_limit.map_or(TIME, |most| most.min(TIME));
    ask(session, question, limit).context("cannot read the measured load")
}

/// Passes the server's warnings on.
fn warn(load: &MeasuredLoad, output: &mut Output) -> anyhow::Result<()> {
    for warning in &load.warnings {
        output.error_line(&format!("Warning: Prometheus: {warning}"))?;
    }
    Ok(())
}

fn question(measured: &MeasuredOptions) -> anyhow::Result<LoadQuestion> {
    let preset = measured.preset.unwrap_or_default();
    let mut expressions = preset.expressions();
    if measured.preset.is_none() && !measured.queries.is_empty() {
        expressions.clear();
    }
    expressions.extend(measured.queries.iter().cloned());
    let pattern = measured.pattern.as_deref().or_else(|| preset.pattern());
    let pattern = pattern.map(str::parse).transpose().context("option --load-pattern")?;
    Ok(LoadQuestion {
        expressions,
        label: measured.label.clone().unwrap_or_else(|| preset.label().to_owned()),
        pattern,
        window: measured.window(),
        quantile: measured.quantile / 100.0,
    })
}

/// A session with the server that `--load-from` names. Warns if its certificate is not checked.
pub(super) fn session(from: &str, options: &LoadOptions, output: &mut Output) -> anyhow::Result<Session> {
    let MeasuredOptions { credentials, certificates, .. } = &options.measured;
    let url = from.strip_prefix("prometheus:").map(|url| url.trim_end_matches('/'));
    let url = url.filter(|url| url.starts_with("http://") || url.starts_with("https://"));
    let Some(url) = url else {
        return Err(anyhow!("option --load-from: the source is not prometheus:URL")
            .hint("an example is prometheus:http://localhost:9090"));
    };
    let address = Address::new(url.as_ref());
    if address.holds_password() {
        return Err(anyhow!("option --load-from: others can see the password in the URL")
            .hint("use --load-credentials FILE"));
    }
    let files = AccessOptions {
        credentials: credentials.clone(),
        certificates: certificates.clone(),
        insecure_http: options.source.rapi_access.insecure_http,
    };
    let access = Access::of_files(&files, std::slice::from_ref(&address))?;
    if url.starts_with("https://") && certificates.is_none() && options.verbosity >= 1 {
        output.error_line(
            "Warning: the certificate of the Prometheus server is not verified; --load-cacert FILE pins it",
        )?;
    }
    let limits =
        FetchLimits { connect: Duration::from_secs(5), transfer: TIME, size: SIZE, ..FetchLimits::default() };
    Ok(Session::prometheus(&address, &access, limits)?)
}
