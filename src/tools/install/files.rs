//! What `htools install` puts where.

use std::path::{Path, PathBuf};

use clap_complete::Shell;

use super::pages::PAGES;
use crate::tools::completion;

/// One of the things that are put somewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FileToInstall {
    /// Where it goes.
    pub path: PathBuf,
    /// What it is.
    pub kind: FileContent,
}

/// What a thing is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FileContent {
    /// A symbolic link to this.
    Link(PathBuf),
    /// A file with this text.
    Text(String),
}

/// All that belongs below a prefix, with links to `program`, in the order in which it is put there.
///
/// The places are those where `man` and the shells look below `/usr/local` and `~/.local`. Bash and Fish look for a file with the name of
/// the command, Zsh finds all names in one file.
pub(super) fn files(prefix: &Path, program: &Path) -> Vec<FileToInstall> {
    let share = prefix.join("share");
    let link =
        |path: PathBuf, target: &Path| FileToInstall { path, kind: FileContent::Link(target.to_owned()) };
    let text = |path: PathBuf, text: String| FileToInstall { path, kind: FileContent::Text(text) };
    let names = completion::names();
    let tools = &names[1..];

    let mut all: Vec<FileToInstall> =
        names.iter().map(|name| link(prefix.join("bin").join(name), program)).collect();
    all.extend(
        PAGES
            .iter()
            .map(|page| text(share.join("man").join(page.directory()).join(page.file), page.text.to_owned())),
    );
    let bash = share.join("bash-completion/completions");
    all.push(text(bash.join(names[0]), completion::script(Shell::Bash)));
    all.extend(tools.iter().map(|tool| link(bash.join(tool), Path::new(names[0]))));
    all.push(text(share.join("zsh/site-functions/_htools"), completion::script(Shell::Zsh)));
    let fish = share.join("fish/vendor_completions.d");
    let script = format!("{}.fish", names[0]);
    all.push(text(fish.join(&script), completion::script(Shell::Fish)));
    all.extend(tools.iter().map(|tool| link(fish.join(format!("{tool}.fish")), Path::new(&script))));
    all
}

/// The link by which Ganeti finds hail in a directory of allocators.
pub(super) fn allocator(directory: &Path, program: &Path) -> FileToInstall {
    FileToInstall { path: directory.join("hail"), kind: FileContent::Link(program.to_owned()) }
}
