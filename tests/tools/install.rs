//! `htools install`: everything is installed, other files are left alone, and everything can be removed.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use assert_cmd::assert::Assert;
use predicates::prelude::*;
use predicates::str::{contains, ends_with, starts_with};
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_htools");

fn htools(words: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command.env_remove("HTOOLS").args(words);
    command
}

fn install(prefix: &Path, more: &[&str]) -> Assert {
    htools(&["install", "--prefix"]).arg(prefix).args(more).assert()
}

fn uninstall(prefix: &Path) -> Assert {
    install(prefix, &["--uninstall"])
}

/// All files and links below a directory: the targets of links, and the content of files.
fn content(directory: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![directory.to_owned()];
    while let Some(directory) = waiting.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_symlink() {
                found.insert(path.clone(), format!("-> {}", fs::read_link(&path).unwrap().display()));
            } else if path.is_dir() {
                waiting.push(path);
            } else {
                found.insert(path.clone(), fs::read_to_string(&path).unwrap());
            }
        }
    }
    found
}

fn record(prefix: &Path) -> PathBuf {
    prefix.join("share/htools/installed.json")
}

/// A directory that does not exist yet, within one that does.
fn fresh() -> (TempDir, PathBuf) {
    let outer = tempfile::tempdir().unwrap();
    let prefix = outer.path().canonicalize().unwrap().join("below/prefix");
    (outer, prefix)
}

fn names() -> impl Iterator<Item = &'static str> {
    htools::tools::TOOLS.iter().map(|tool| tool.spec.name()).chain(["htools"])
}

#[test]
fn everything_is_put_where_it_is_looked_for_and_goes_again() {
    let (outer, prefix) = fresh();
    install(&prefix, &[]).code(0).stdout(contains(format!("made {} -> ", prefix.join("bin/hbal").display())));
    for name in names() {
        let program = prefix.join("bin").join(name);
        Command::new(&program).arg("-V").assert().code(0).stdout(starts_with(format!("{name} ")));
        let page = fs::read_to_string(prefix.join(format!("share/man/man1/{name}.1"))).unwrap();
        assert_eq!(page, fs::read_to_string(format!("man/{name}.1")).unwrap());
    }
    assert!(prefix.join("share/man/man5/htools-format.5").is_file());
    for (shell, path) in [
        ("bash", "share/bash-completion/completions/hspace"),
        ("zsh", "share/zsh/site-functions/_htools"),
        ("fish", "share/fish/vendor_completions.d/htools.fish"),
    ] {
        let script = htools(&["completion", shell]).assert().get_output().stdout.clone();
        assert_eq!(fs::read(prefix.join(path)).unwrap(), script, "{shell}");
    }
    assert_eq!(record(&prefix).metadata().unwrap().mode() & 0o777, 0o644);

    let before = content(&prefix);
    install(&prefix, &[]).code(0).stdout("");
    assert_eq!(content(&prefix), before, "once more changes nothing");

    uninstall(&prefix).code(0).stderr("").stdout(contains("removed ").count(before.len() - 1));
    assert_eq!(fs::read_dir(outer.path()).unwrap().count(), 0, "directories that were made are gone, too");
    uninstall(&prefix).code(1).stdout("").stderr(contains("has installed nothing below"));
}

#[test]
fn without_a_prefix_it_is_the_home_directory_of_users() {
    let outer = tempfile::tempdir().unwrap();
    if rustix::process::geteuid().is_root() {
        let said = htools(&["install", "--dry-run"]).env("HOME", outer.path()).assert();
        said.stdout(predicate::str::is_empty().or(contains(" /usr/local/bin/hbal")));
    } else {
        htools(&["install"]).env("HOME", outer.path()).assert().code(0);
        assert!(outer.path().join(".local/bin/hbal").exists());
        htools(&["install"]).env_remove("HOME").assert().code(1).stderr(contains("HOME is not set"));
    }
}

#[test]
fn what_would_be_done_is_not() {
    let (outer, prefix) = fresh();
    let made = contains("would make ").and(contains("/bin/hbal -> ")).and(contains("/man1/hbal.1\n"));
    install(&prefix, &["--dry-run"]).code(0).stdout(made);
    assert_eq!(fs::read_dir(outer.path()).unwrap().count(), 0);
    install(&prefix, &[]).code(0);
    let before = content(&prefix);
    let planned = install(&prefix, &["--uninstall", "--dry-run"]).code(0).get_output().stdout.clone();
    assert_eq!(content(&prefix), before);
    let done = uninstall(&prefix).code(0).get_output().stdout.clone();
    let done = String::from_utf8(done).unwrap().replace("removed ", "would remove ");
    assert_eq!(String::from_utf8(planned).unwrap(), done);
}

#[test]
fn files_of_others_stay() {
    let (_outer, prefix) = fresh();
    let page = prefix.join("share/man/man1/hbal.1");
    fs::create_dir_all(page.parent().unwrap()).unwrap();
    fs::create_dir(prefix.join("bin")).unwrap();
    fs::write(&page, "somebody's page").unwrap();
    symlink("nowhere", prefix.join("bin/hinfo")).unwrap();
    let before = content(&prefix);
    install(&prefix, &[]).code(1).stdout("").stderr(
        contains("hbal.1 exists and was not installed by this command\n")
            .and(contains("bin/hinfo exists"))
            .and(ends_with("Error: nothing was done: 2 other files or directories are in the way\nHint: --force replaces files\n")),
    );
    assert_eq!(content(&prefix), before, "nothing is done by halves");

    install(&prefix, &["--force"]).code(0).stdout(contains("replaced ").count(2));
    assert!(fs::read_to_string(&page).unwrap().starts_with(".TH"));
    // A user replaces some of them, and adds a file.
    fs::write(&page, "somebody's page").unwrap();
    fs::remove_file(prefix.join("bin/hail")).unwrap();
    symlink("elsewhere", prefix.join("bin/hail")).unwrap();
    fs::write(prefix.join("bin/own"), "").unwrap();
    install(&prefix, &[]).code(1).stderr(contains("2 other files or directories are in the way"));
    let stays = |file: &str| {
        contains(format!(
            "Note: {} was changed since the installation and is kept\n",
            prefix.join(file).display()
        ))
    };
    uninstall(&prefix).code(0).stderr(stays("bin/hail").and(stays("share/man/man1/hbal.1")));
    let left: Vec<PathBuf> = content(&prefix).into_keys().collect();
    assert_eq!(left, ["bin/hail", "bin/own", "share/man/man1/hbal.1"].map(|file| prefix.join(file)));
    assert!(!prefix.join("share/fish").exists() && prefix.join("share/man").exists());
}

#[test]
fn what_was_as_it_should_be_before_stays_afterwards() {
    let (_outer, prefix) = fresh();
    let bin = prefix.join("bin");
    fs::create_dir_all(&bin).unwrap();
    htools(&["install-links"]).arg(&bin).assert().code(0);
    // Another link to the program.
    fs::remove_file(bin.join("hbal")).unwrap();
    symlink("hinfo", bin.join("hbal")).unwrap();
    let before = content(&prefix);
    install(&prefix, &[]).code(0).stdout(contains("/bin/hbal ").not().and(contains("made ")));
    uninstall(&prefix).code(0).stderr("");
    assert_eq!(content(&prefix), before);
}

#[test]
fn neither_directories_nor_links_lead_elsewhere() {
    let (outer, prefix) = fresh();
    fs::create_dir_all(prefix.join("bin/hbal")).unwrap();
    install(&prefix, &["--force"])
        .code(1)
        .stderr(contains("bin/hbal is a directory").and(contains("nothing was done")));
    fs::remove_dir(prefix.join("bin/hbal")).unwrap();
    // A link in place of a file is replaced, but not its target.
    let victim = outer.path().join("victim");
    fs::write(&victim, "precious").unwrap();
    let page = prefix.join("share/man/man1/hbal.1");
    fs::create_dir_all(page.parent().unwrap()).unwrap();
    symlink(&victim, &page).unwrap();
    install(&prefix, &[]).code(1);
    install(&prefix, &["--force"]).code(0);
    assert!(page.metadata().unwrap().is_file() && !page.is_symlink());
    assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
    // A pipe is replaced, too, without being read.
    fs::remove_file(&page).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, &page, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    install(&prefix, &[]).code(1).stderr(contains("hbal.1 exists"));
    install(&prefix, &["--force"]).code(0);
    uninstall(&prefix).code(0);
}

#[test]
fn hail_is_put_where_ganeti_looks_for_it() {
    let (outer, prefix) = fresh();
    let directory = outer.path().canonicalize().unwrap().join("lib/iallocators");
    let hail = directory.join("hail");
    install(&prefix, &["--hail-dir", directory.to_str().unwrap()])
        .code(0)
        .stdout(contains(hail.to_str().unwrap()));
    Command::new(&hail).arg("-V").assert().code(0).stdout(starts_with("hail "));
    // It is recorded, and installed again.
    fs::remove_file(&hail).unwrap();
    install(&prefix, &[]).code(0).stdout(contains(format!("made {} -> ", hail.display())));
    install(&prefix, &["--uninstall", "--hail-dir", "/x"])
        .code(1)
        .stderr(contains("option --hail-dir does not apply to --uninstall"));
    uninstall(&prefix).code(0);
    assert_eq!(fs::read_dir(outer.path()).unwrap().count(), 0);
}

/// Another version has installed other pages, and links to its own place.
#[test]
fn another_version_takes_the_place() {
    let (_outer, prefix) = fresh();
    install(&prefix, &[]).code(0);
    let wanted = content(&prefix);
    let page = prefix.join("share/man/man1/hbal.1");
    let digest = |record: &str| {
        let (_, rest) = record.split_once("\"share/man/man1/hbal.1\"").unwrap();
        rest.split('"').nth(5).unwrap().to_owned()
    };
    let text = fs::read_to_string(record(&prefix)).unwrap();
    // First half of the SHA-256 of "an older page", as sha256sum prints it.
    let older = text.replace(&digest(&text), "@").replace(
        &format!("{}\"", PathBuf::from(PROGRAM).canonicalize().unwrap().display()),
        "/opt/older/htools\"",
    );
    fs::write(&page, "an older page").unwrap();
    let older = older.replace('@', &half_of_sha256(&page));
    for name in names() {
        let link = prefix.join("bin").join(name);
        fs::remove_file(&link).unwrap();
        symlink("/opt/older/htools", &link).unwrap();
    }
    // A page that no longer exists.
    let gone = prefix.join("share/man/man1/hgone.1");
    fs::copy(&page, &gone).unwrap();
    let item = format!(
        "\"items\": [{{\"path\": \"share/man/man1/hgone.1\", \"marks\": [{{\"digest\": \"{}\"}}]}},",
        half_of_sha256(&gone)
    );
    fs::write(record(&prefix), older.replacen("\"items\": [", &item, 1)).unwrap();

    let replaced = contains("replaced ").count(names().count() + 1);
    let removed = contains(format!("removed {}", gone.display()));
    install(&prefix, &[]).code(0).stderr("").stdout(replaced.and(removed));
    assert_eq!(content(&prefix), wanted);
}

fn half_of_sha256(file: &Path) -> String {
    let sum = std::process::Command::new("sha256sum").arg(file).output().unwrap().stdout;
    String::from_utf8(sum).unwrap()[..32].to_owned()
}

/// A disk that becomes full during the installation, simulated by a limit on the size of files. The installed files
/// are recorded, and nothing else is left.
#[test]
fn a_run_that_fails_leaves_nothing_unknown() {
    let (outer, prefix) = fresh();
    let fails = || {
        let script = "ulimit -f 20; exec \"$0\" install --prefix \"$1\"";
        let output = std::process::Command::new("bash")
            .args(["-c", script, PROGRAM])
            .arg(&prefix)
            .env_remove("HTOOLS")
            .output()
            .unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        assert!(
            stderr.starts_with("Error: cannot write file ") && stderr.contains("File too large"),
            "{stderr}"
        );
    };
    let made = |file: &str| prefix.join(file).exists();
    fails();
    assert!(made("bin/hbal") && made("share/man/man1/hail.1") && !made("share/man/man1/htools.1"));
    // The installation can be continued.
    install(&prefix, &[])
        .code(0)
        .stderr("")
        .stdout(contains("bin/hbal").not().and(contains("man1/htools.1")));
    uninstall(&prefix).code(0).stderr("");

    fails();
    uninstall(&prefix).code(0).stderr("");
    assert!(content(outer.path()).is_empty());
}

/// A run that is killed at any point: its installed files are recorded.
#[test]
fn a_run_that_is_killed_leaves_nothing_unknown() {
    let (outer, prefix) = fresh();
    let mut child = std::process::Command::new(PROGRAM)
        .args(["install", "--prefix"])
        .arg(&prefix)
        .env_remove("HTOOLS")
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    while !prefix.join("bin/hbal").exists() && child.try_wait().unwrap().is_none() {
        std::thread::sleep(std::time::Duration::from_micros(100));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    uninstall(&prefix).code(0).stderr("");
    // Only the file that was being written is not recorded.
    let left: Vec<PathBuf> = content(outer.path()).into_keys().collect();
    let is_part = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().starts_with(".htools-");
    assert!(left.len() <= 1 && left.iter().all(is_part), "{left:?}");
}

#[test]
fn places_that_cannot_be_written_to() {
    let (outer, prefix) = fresh();
    fs::create_dir_all(&prefix).unwrap();
    fs::write(prefix.join("share"), "").unwrap();
    install(&prefix, &[]).code(1).stdout("").stderr(starts_with("Error: ").and(contains("share")));
    assert_eq!(fs::read_dir(&prefix).unwrap().count(), 1);
    fs::remove_file(prefix.join("share")).unwrap();
    install(&prefix, &["--prefix", ""]).code(1).stdout("").stderr(contains("is empty"));
    if !rustix::process::geteuid().is_root() {
        fs::set_permissions(&prefix, Permissions::from_mode(0o555)).unwrap();
        install(&prefix, &[]).code(1).stdout("").stderr(contains("cannot make "));
        fs::set_permissions(&prefix, Permissions::from_mode(0o755)).unwrap();
        assert_eq!(fs::read_dir(&prefix).unwrap().count(), 0);
    }
    install(Path::new("/proc/nowhere"), &[])
        .code(1)
        .stdout("")
        .stderr(starts_with("Error: cannot make /proc/nowhere"));
    drop(outer);
}

#[test]
fn records_of_others_are_not_believed() {
    let (outer, prefix) = fresh();
    install(&prefix, &[]).code(0);
    let victim = outer.path().canonicalize().unwrap().join("victim");
    fs::write(&victim, "precious").unwrap();
    let text = fs::read_to_string(record(&prefix)).unwrap();
    for (path, complaint) in [
        ("../../victim", "which htools never installs"),
        (victim.to_str().unwrap(), "which htools never installs"),
    ] {
        let item = format!(
            "\"items\": [{{\"path\": \"{path}\", \"marks\": [{{\"digest\": \"{}\"}}]}},",
            half_of_sha256(&victim)
        );
        fs::write(record(&prefix), text.replacen("\"items\": [", &item, 1)).unwrap();
        uninstall(&prefix).code(1).stdout("").stderr(contains(complaint));
        install(&prefix, &[]).code(1).stdout("").stderr(contains(complaint));
    }
    fs::write(record(&prefix), "{").unwrap();
    uninstall(&prefix).code(1).stdout("").stderr(contains("installed.json"));
    assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
    assert!(prefix.join("bin/hbal").exists());
}

#[test]
fn words_that_mean_nothing() {
    htools(&["install", "DIR"]).assert().code(1).stderr(contains("doesn't take any arguments"));
    htools(&["install", "--links"]).assert().code(2).stderr(ends_with("\nTry 'htools install --help'.\n"));
    htools(&["--force", "install"])
        .assert()
        .code(2)
        .stderr(contains("the options of `install' belong behind it"));
    htools(&["install", "--help"]).assert().code(0).stderr("").stdout(contains("--hail-dir=DIR"));
}
