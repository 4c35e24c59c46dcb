//! Checks the pages of `--report` in headless Chromium (Debian's packages chromium and chromium-driver):
//!
//!     cargo test --release --test pages -- [--only NAME] [--screenshots]
//!
//! Each page is opened, sorted, searched, switched between light and dark, narrowed, and printed. With
//! `--screenshots`, the suite only updates the pictures in docs/reports.

mod browser;
mod checks;
mod samples;

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::Context;
use clap::{Arg, ArgAction, Command};

use self::browser::Browser;
use self::checks::CHECKS;
use self::samples::{PICTURES, SAMPLES};

/// Directory of the pictures.
const PICTURES_IN: &str = "docs/reports";

fn main() -> ExitCode {
    let matches = Command::new("pages")
        .about("Looks at the pages of --report in Chromium")
        .arg(
            Arg::new("only")
                .long("only")
                .value_name("NAME")
                .help("Look at the pages whose names begin like this"),
        )
        .arg(
            Arg::new("screenshots")
                .long("screenshots")
                .action(ArgAction::SetTrue)
                .help("Make the pictures in docs/reports anew"),
        )
        .get_matches();
    let begin = matches.get_one::<String>("only").map_or("", String::as_str);
    let done = if matches.get_flag("screenshots") { pictures() } else { look(begin) };
    match done {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(problem) => {
            eprintln!("{problem:#}");
            ExitCode::FAILURE
        }
    }
}

/// Checks all pages; returns the number of failed checks.
fn look(begin: &str) -> anyhow::Result<usize> {
    let start = Instant::now();
    let directory = tempfile::tempdir()?;
    let browser = Browser::start()?;
    let (mut passed, mut failed) = (0, 0);
    for sample in SAMPLES.iter().filter(|sample| sample.name.starts_with(begin)) {
        let page = sample.page(directory.path()).with_context(|| sample.name)?;
        for (name, check) in CHECKS {
            let result =
                browser.open(&page).and_then(|()| check(&browser)).and_then(|()| browser.is_silent());
            match result {
                Ok(()) => passed += 1,
                Err(problem) => {
                    failed += 1;
                    println!("FAILED {}, {name}: {problem:#}", sample.name);
                }
            }
        }
    }
    println!("{:.0?} in all", start.elapsed());
    println!("{passed} passed, {failed} failed");
    anyhow::ensure!(passed + failed > 0, "no page is called like that");
    Ok(failed)
}

fn pictures() -> anyhow::Result<usize> {
    let directory = tempfile::tempdir()?;
    let browser = Browser::start()?;
    for picture in PICTURES {
        let page = picture.sample.page(directory.path())?;
        browser.scheme(picture.scheme)?;
        browser.size(picture.width, picture.height)?;
        browser.open(&page)?;
        let file = Path::new(PICTURES_IN).join(picture.file);
        let image = browser.picture(picture.width, picture.height)?;
        std::fs::write(&file, &image).with_context(|| file.display().to_string())?;
        println!("{}: {} bytes", file.display(), image.len());
    }
    Ok(0)
}
