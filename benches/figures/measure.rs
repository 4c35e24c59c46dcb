//! Whole processes under the clock.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Time that the repetitions of one command may take together.
const REPEATING: Duration = Duration::from_secs(15);
/// How often a running process is looked at; the precision of the figures.
const LOOK: Duration = Duration::from_micros(100);

/// What came of a command.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Taken {
    /// The shortest of its runs.
    Time(Duration),
    /// It was ended when this time was up.
    MoreThan(Duration),
}

/// Where commands read and write.
pub struct Workshop {
    directory: PathBuf,
}

impl Workshop {
    /// An empty directory of its own.
    pub fn new() -> io::Result<Workshop> {
        let directory =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("figures-{}", std::process::id()));
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
    /// `limit`.
    pub fn best(&self, command: &mut Command, runs: u32, limit: Duration) -> io::Result<Taken> {
        let start = Instant::now();
        let mut best = Taken::MoreThan(limit);
        for run in 0..runs {
            if run > 0 && start.elapsed() > REPEATING {
                break;
            }
            match (self.once(command, limit, |_| ())?, best) {
                (Taken::Time(new), Taken::Time(old)) => best = Taken::Time(new.min(old)),
                (taken, _) => best = taken,
            }
            if let Taken::MoreThan(_) = best {
                break;
            }
        }
        Ok(best)
    }

    /// The most memory that a command holds at a time, in KiB.
    pub fn peak_memory(&self, command: &mut Command) -> io::Result<Option<u64>> {
        let mut peak = None;
        // the last look before the end counts; the figure itself is kept by the system
        self.once(command, Duration::MAX, |child| peak = high_water_mark(child).max(peak))?;
        Ok(peak)
    }

    /// What the command printed last.
    pub fn printed(&self) -> io::Result<String> {
        fs::read_to_string(self.directory.join("stdout"))
    }

    fn once(
        &self,
        command: &mut Command,
        limit: Duration,
        mut look: impl FnMut(&Child),
    ) -> io::Result<Taken> {
        let stdout = File::create(self.directory.join("stdout"))?;
        let start = Instant::now();
        let mut child = command
            .env("LC_ALL", "C.UTF-8")
            .stdin(Stdio::null())
            .stdout(stdout)
            .stderr(Stdio::null())
            .spawn()?;
        loop {
            if let Some(status) = child.try_wait()? {
                let time = start.elapsed();
                return if status.success() {
                    Ok(Taken::Time(time))
                } else {
                    Err(io::Error::other(format!("{command:?} failed: {status}")))
                };
            }
            if start.elapsed() > limit {
                child.kill()?;
                child.wait()?;
                return Ok(Taken::MoreThan(limit));
            }
            look(&child);
            sleep(LOOK);
        }
    }
}

impl Drop for Workshop {
    fn drop(&mut self) {
        // leftovers only take room
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// The memory high-water mark of a process, in KiB, where the system tells.
fn high_water_mark(child: &Child) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse().ok()
}
