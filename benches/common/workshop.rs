//! Runs whole processes and times them.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A command that takes longer is run at most twice.
const LONG: Duration = Duration::from_secs(2);
/// A command that takes longer is run once.
const VERY_LONG: Duration = Duration::from_secs(20);
/// Shortest interval between two looks at a running process. Later the interval is one part in [`LOOKS`] of the time
/// that the process has run, which limits the precision of the figures.
const LOOK: Duration = Duration::from_micros(100);
const LOOKS: u32 = 500;

/// Outcome of a command.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Taken {
    /// It ended by itself.
    Run(Run),
    /// It was killed after this time.
    MoreThan(Duration),
}

/// Figures from all runs of a command.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Run {
    /// Time of the shortest run.
    pub seconds: f64,
    /// Peak memory of the first run, if the system reports it.
    pub mib: Option<f64>,
    /// Mean processor time of a run in seconds, if the system reports it.
    pub cpu: Option<f64>,
}

/// Directory for the input and the output of commands.
pub struct Workshop {
    directory: PathBuf,
}

impl Workshop {
    /// Creates an empty directory.
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

    /// The shortest of up to `runs` runs of a command, each limited to `limit`. A long command is run less often.
    pub fn best(&self, command: &mut Command, runs: u32, limit: Duration) -> io::Result<Taken> {
        // Only the first run is slowed down by reading its memory. The last reading is enough, because the system
        // itself keeps the peak.
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

    /// Output of the last command.
    pub fn printed(&self) -> io::Result<String> {
        fs::read_to_string(self.directory.join("stdout"))
    }

    /// Time of one run, if it ends within `limit`.
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
                // A tool that checks something ends like this if its answer is no.
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
        // The files are of no further use.
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// Processor time in seconds of all child processes that have ended. The system counts in hundredths.
fn cpu_of_children() -> Option<f64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // The program's name, in parentheses, may contain blanks.
    let (_, fields) = stat.rsplit_once(')')?;
    let ticks: u64 =
        fields.split_whitespace().skip(13).take(2).filter_map(|text| text.parse::<u64>().ok()).sum();
    Some(ticks as f64 / 100.0)
}

/// Peak memory of a process in KiB, if the system reports it.
fn high_water_mark(child: &Child) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse().ok()
}
