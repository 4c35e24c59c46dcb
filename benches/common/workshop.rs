//! Whole processes under the clock.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A command that takes longer is run twice at most.
const LONG: Duration = Duration::from_secs(2);
/// A command that takes longer is run once.
const VERY_LONG: Duration = Duration::from_secs(20);
/// How often a running process is looked at, at first; and later at every
/// such part of the time that it has run. The precision of the figures.
const LOOK: Duration = Duration::from_micros(100);
const LOOKS: u32 = 500;

/// What came of a command.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Taken {
    /// It came to its end.
    Run(Run),
    /// It was ended when this time was up.
    MoreThan(Duration),
}

/// The runs of a command.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Run {
    /// The time of the shortest.
    pub seconds: f64,
    /// The most memory that the first held at a time, where the system tells.
    pub mib: Option<f64>,
    /// Seconds of processor time of one, the mean of all, where the system tells.
    pub cpu: Option<f64>,
}

/// Where commands read and write.
pub struct Workshop {
    directory: PathBuf,
}

impl Workshop {
    /// An empty directory of its own.
    pub fn new() -> io::Result<Workshop> {
        let name = format!("{}-{}", env!("CARGO_CRATE_NAME"), std::process::id());
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(&directory)?;
        Ok(Workshop { directory })
    }

    /// Writes a file and returns its path.
    pub fn file(&self, name: &str, content: &str) -> io::Result<PathBuf> {
        let path = self.directory.join(name);
        fs::write(&path, content)?;
        Ok(path)
    }

    /// The shortest of up to `runs` runs of a command, none of them longer than
    /// `limit`; fewer runs of a long one.
    pub fn best(&self, command: &mut Command, runs: u32, limit: Duration) -> io::Result<Taken> {
        // only the first run is slowed down by looks at its memory; the last look counts, for the
        // system itself keeps the highest figure
        let before = cpu_of_children();
        let mut kib = None;
        let first = self.once(command, limit, |child| kib = high_water_mark(child).max(kib))?;
        let Some(mut best) = first else { return Ok(Taken::MoreThan(limit)) };
        let runs = match best {
            _ if best > VERY_LONG => 1,
            _ if best > LONG => runs.min(2),
            _ => runs,
        };
        let mut taken = 1;
        for _ in 1..runs {
            taken += 1;
            let Some(time) = self.once(command, limit, |_| ())? else { break };
            best = best.min(time);
        }
        let cpu = cpu_of_children().zip(before).map(|(now, before)| (now - before) / f64::from(taken));
        Ok(Taken::Run(Run { seconds: best.as_secs_f64(), mib: kib.map(|kib| kib as f64 / 1024.0), cpu }))
    }

    /// What the command printed last.
    pub fn printed(&self) -> io::Result<String> {
        fs::read_to_string(self.directory.join("stdout"))
    }

    /// The time of one run, if it is no longer than `limit`.
    fn once(
        &self,
        command: &mut Command,
        limit: Duration,
        mut look: impl FnMut(&Child),
    ) -> io::Result<Option<Duration>> {
        let stdout = File::create(self.directory.join("stdout"))?;
        let start = Instant::now();
        let mut child = command
            .env("LC_ALL", "C.UTF-8")
            .stdin(Stdio::null())
            .stdout(stdout)
            .stderr(Stdio::null())
            .spawn()?;
        loop {
            let status = child.try_wait()?;
            let time = start.elapsed();
            match status {
                Some(status) if status.success() => return Ok(Some(time)),
                // the negative answer of a tool that checks something
                Some(status) if matches!(status.code(), Some(1 | 2)) && !self.printed()?.is_empty() => {
                    return Ok(Some(time));
                }
                Some(status) => return Err(io::Error::other(format!("{command:?} failed: {status}"))),
                None if time > limit => {
                    child.kill()?;
                    child.wait()?;
                    return Ok(None);
                }
                None => look(&child),
            }
            sleep(LOOK.max(time / LOOKS));
        }
    }
}

impl Drop for Workshop {
    fn drop(&mut self) {
        // leftovers only take room
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// The seconds of processor time of all processes that were waited for. The system counts in hundredths.
fn cpu_of_children() -> Option<f64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // the name of the program, in parentheses, may hold blanks
    let (_, fields) = stat.rsplit_once(')')?;
    let ticks: u64 =
        fields.split_whitespace().skip(13).take(2).filter_map(|text| text.parse::<u64>().ok()).sum();
    Some(ticks as f64 / 100.0)
}

/// The memory high-water mark of a process, in KiB, where the system tells.
fn high_water_mark(child: &Child) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse().ok()
}
