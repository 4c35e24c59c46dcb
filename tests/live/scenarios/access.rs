//! Access to RAPI: authentication of the user, and of the server.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use anyhow::ensure;

use crate::child::{self, Output};
use crate::cluster::Cluster;
use crate::tools::{self, READING, same_text};

const WRONG: &str = "not-the-password";

/// User and password from a file or from the environment work as well as those in the URL.
pub fn credentials(cluster: &Cluster) -> anyhow::Result<()> {
    let (user, password) = (cluster.value("GANETI_RAPI_USER"), cluster.value("GANETI_RAPI_PASSWORD"));
    let url = cluster.value("GANETI_RAPI_URL");
    let expected =
        child::run(tools::reference(cluster.system(), "hinfo").args(["-m", cluster.login_url()]), READING)?
            .good()?;
    let directory = tempfile::tempdir()?;
    for (name, line) in
        [("pair", format!("{user}:{password}\n")), ("users", format!("{user} {password} write\n"))]
    {
        let file = directory.path().join(name);
        fs::write(&file, line)?;
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600))?;
        let mut command = tools::ours("hinfo");
        command.args(["-m", url, "--rapi-credentials"]).arg(&file);
        let output = child::run(&mut command, READING)?.good()?;
        same_text(&output.command, &expected.stdout, &output.stdout)?;
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644))?;
        let output = child::run(&mut command, READING)?;
        ensure!(
            output.status == 0 || !output.stderr.contains(password),
            "a file that all may read: {}",
            output.streams()
        );
    }
    let output = child::run(&mut from_environment(url, user, password), READING)?.good()?;
    same_text(&output.command, &expected.stdout, &output.stdout)
}

/// A wrong password gives a one-line error that does not show the password.
pub fn wrong_password(cluster: &Cluster) -> anyhow::Result<()> {
    let user = cluster.value("GANETI_RAPI_USER");
    let url = cluster.value("GANETI_RAPI_URL");
    refused(child::run(&mut from_environment(url, user, WRONG), READING)?)?;
    let login = cluster.login_url().replace(cluster.value("GANETI_RAPI_PASSWORD"), WRONG);
    refused(child::run(tools::ours("hbal").args(["-m", &login]), READING)?)
}

/// The authority that signed the certificate is trusted if it is named; another one is not.
pub fn certificates(cluster: &Cluster) -> anyhow::Result<()> {
    let authority = cluster.value("GANETI_RAPI_CA").to_owned();
    let hinfo = |trusted: &str| {
        let mut command = tools::ours("hinfo");
        child::run(command.args(["-m", cluster.login_url(), "--rapi-cacert", trusted]), READING)
    };
    let expected =
        child::run(tools::reference(cluster.system(), "hinfo").args(["-m", cluster.login_url()]), READING)?
            .good()?;
    let output = hinfo(&authority)?.good()?;
    same_text(&output.command, &expected.stdout, &output.stdout)?;
    ensure!(!output.stderr.contains("certificate"), "{}{}", output.command, output.streams());
    let directory = tempfile::tempdir()?;
    let other = directory.path().join("other.crt");
    let mut make = Command::new("openssl");
    make.args([
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-subj",
        "/CN=other",
        "-keyout",
        "/dev/null",
    ]);
    child::run(make.arg("-out").arg(&other), READING)?.good()?;
    refused(hinfo(&other.to_string_lossy())?)
}

fn from_environment(url: &str, user: &str, password: &str) -> Command {
    let mut command = tools::ours("hinfo");
    command.args(["-m", url]).env("GANETI_RAPI_USER", user).env("GANETI_RAPI_PASSWORD", password);
    command
}

/// The tool failed with one line that contains no password.
fn refused(output: Output) -> anyhow::Result<()> {
    let output = output.expect(1)?;
    let lines: Vec<&str> = output.stderr.lines().filter(|line| !line.starts_with("Warning:")).collect();
    ensure!(lines.len() == 1, "{}: not one line{}", output.command, output.streams());
    ensure!(!output.stderr.contains(WRONG), "the password is shown: {}", output.stderr);
    Ok(())
}
