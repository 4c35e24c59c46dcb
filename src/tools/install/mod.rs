//! `htools install`: links, manual pages and completion scripts, where man and the shells look for them.

mod change;
mod files;
mod pages;
mod record;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use rustix::process::geteuid;

use self::change::{Changes, Removal};
use self::record::InstallationRecord;
use super::ExitStatus;
use super::cli::heading::OptionTopic;
use super::cli::option::ArgumentKind::Directory;
use super::cli::{OptionDef, Spec, example};
use super::links;
use super::options::ToolOptions;
use super::options::catalogue::HELP;
use super::output::Output;
use crate::tools::hint::WithHint;

/// Options of `htools install`.
#[derive(Debug, Default, PartialEq)]
pub struct InstallOptions {
    /// None for the default.
    prefix: Option<PathBuf>,
    hail_dir: Option<PathBuf>,
    uninstall: bool,
    force: bool,
    dry_run: bool,
}

impl OptionTopic for InstallOptions {}

impl ToolOptions for InstallOptions {}

/// Name, purpose and options.
pub const SPEC: Spec<InstallOptions> = Spec {
    name: "htools install",
    summary: "install links, manual pages and completion scripts",
    forms: &["[OPTION...]"],
    examples: &[
        example("htools install", "install for all (root) or for this user"),
        example("htools install --dry-run", "show what would be installed"),
        example("htools install --uninstall", "remove it again"),
    ],
    options: &[
        &OptionDef::<InstallOptions>::addition("prefix", "put everything below DIR")
            .otherwise("/usr/local for root, else ~/.local")
            .common()
            .takes("DIR", Directory, |o, g| g.path().map(|path| o.prefix = path)),
        &OptionDef::<InstallOptions>::addition("hail-dir", "make the link hail in DIR, too")
            .more("Ganeti looks for allocators there.")
            .common()
            .takes("DIR", Directory, |o, g| g.path().map(|path| o.hail_dir = path)),
        &OptionDef::<InstallOptions>::flag("uninstall", "remove what was installed, and nothing else", |o| {
            o.uninstall = true;
        })
        .common()
        .added(),
        &OptionDef::<InstallOptions>::added_flag("force", "replace files that are in the way", |o| {
            o.force = true
        })
        .common(),
        &OptionDef::<InstallOptions>::added_flag("dry-run", "change nothing, show what would be done", |o| {
            o.dry_run = true
        })
        .common(),
        &HELP,
    ],
    ..Spec::PLAIN
};

/// Reads the arguments after `install`, and installs or uninstalls.
pub fn start(args: &[OsString]) -> anyhow::Result<ExitStatus> {
    let mut output = Output::standard();
    let options = match SPEC.parse(args) {
        Ok(options) => options,
        Err(stop) => return stop.show(&mut output),
    };
    let prefix = prefix(options.prefix.clone())?;
    let result = if options.uninstall {
        uninstall(&prefix, &options, &mut output)
    } else {
        install(&prefix, &options, &mut output)
    };
    // changes made before an error remain, so their messages are printed
    output.flush()?;
    result.map(|()| ExitStatus::Success)
}

/// Installation prefix, as an absolute path.
fn prefix(given: Option<PathBuf>) -> anyhow::Result<PathBuf> {
    let prefix = match given {
        Some(prefix) => prefix,
        None if geteuid().is_root() => PathBuf::from("/usr/local"),
        None => match std::env::var_os("HOME") {
            Some(home) if !home.is_empty() => Path::new(&home).join(".local"),
            _ => {
                return Err(anyhow!("the default prefix is unknown, because HOME is not set")
                    .hint("name a directory with --prefix"));
            }
        },
    };
    absolute(&prefix)
}

/// Makes a path absolute, without `.` and `..`: it is recorded, and read in other working directories.
fn absolute(path: &Path) -> anyhow::Result<PathBuf> {
    if path.as_os_str().is_empty() {
        bail!("the name of a directory is empty");
    }
    // only the existing part of a path can be resolved, so the missing names are appended to it
    let given = std::path::absolute(path).with_context(|| path.display().to_string())?;
    let (mut there, mut missing) = (given.as_path(), Vec::new());
    let real = loop {
        match (there.canonicalize(), there.parent(), there.file_name()) {
            (Ok(real), ..) => break real,
            (Err(error), Some(parent), Some(name)) if error.kind() == std::io::ErrorKind::NotFound => {
                missing.push(name);
                there = parent;
            }
            (Err(error), ..) => return Err(error).with_context(|| there.display().to_string()),
        }
    };
    Ok(missing.iter().rev().fold(real, |path, name| path.join(name)))
}

fn install(prefix: &Path, options: &InstallOptions, output: &mut Output) -> anyhow::Result<()> {
    let program = links::program()?;
    let recorded = InstallationRecord::read(prefix)?.unwrap_or_default();
    let mut files = files::files(prefix, &program);
    let asked = options.hail_dir.as_deref().map(absolute).transpose()?;
    // allocators from earlier installations are kept up to date
    let known =
        recorded.items.iter().filter(|item| !item.path.starts_with(prefix)).filter_map(|i| i.path.parent());
    let mut directories: Vec<&Path> = known.chain(asked.as_deref()).collect();
    directories.dedup();
    files.extend(directories.iter().map(|directory| files::allocator(directory, &program)));

    let changes = Changes::needed(&files, &recorded, &program)?;
    changes.check(options.force, output)?;
    changes.carry_out(prefix, &recorded, options.dry_run, output)?;
    if !directories.is_empty() || links::closed(&prefix.join("bin/htools")).is_none() {
        links::warn_if_closed(&program, output)?;
    }
    Ok(())
}

fn uninstall(prefix: &Path, options: &InstallOptions, output: &mut Output) -> anyhow::Result<()> {
    if options.hail_dir.is_some() {
        bail!("option --hail-dir does not apply to --uninstall, which removes every installed hail");
    }
    match InstallationRecord::read(prefix)? {
        Some(recorded) => Removal::of(&recorded)?.carry_out(prefix, options.dry_run, output),
        None => bail!(
            "{} does not exist: htools install has installed nothing below {}",
            InstallationRecord::place(prefix).display(),
            prefix.display()
        ),
    }
}
