//! Waiting for several jobs at once. Each job has a thread, up to a limit, that asks Ganeti to report the job's next
//! change.

use std::collections::{HashMap, HashSet};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use super::job::{JobId, JobStatus, WatchedJob};
use crate::remote::CallError;

/// Maximum number of jobs waited for at once; the others have their turn when one of these ends.
const MOST: usize = 16;

/// Maximum time for Ganeti to answer that nothing has changed.
pub(super) const ANSWER: Duration = Duration::from_secs(120);

/// An answer that took this long was a real wait, so the next may begin at once.
const PATIENT: Duration = Duration::from_secs(1);
/// Number of immediate answers in a row that a job's changes explain.
const FREE: u32 = 4;
/// The pause after one more immediate answer; it doubles after each further one, up to a limit.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
/// The longest pause if there was something new.
const NEWS_PAUSE: Duration = Duration::from_secs(2);
/// The longest pause if there was nothing new.
const IDLE_PAUSE: Duration = Duration::from_secs(8);

/// Answer about a job that was waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct JobChange {
    /// Its present state; `None` if nothing has changed.
    pub status: Option<JobStatus>,
    /// The number of its newest message.
    pub serial: Option<u64>,
}

/// A wait for one job, to be run on a thread of its own. Its arguments are the job's last state and the number of the
/// newest known message.
pub(super) type Wait = Box<dyn FnOnce(WatchedJob, Option<u64>) -> Result<JobChange, CallError> + Send>;

/// Waits under way.
pub(super) struct Watchers {
    sender: Sender<WaitEnd>,
    receiver: Receiver<WaitEnd>,
    /// The jobs for which a thread is waiting.
    busy: HashSet<JobId>,
    /// The newest message of each job. Ganeti answers at once if there is a newer one.
    serials: HashMap<JobId, u64>,
    /// Pace of the answers about each job.
    paces: HashMap<JobId, Pace>,
}

/// The end of a wait: the job, the time that it took, and the result.
type WaitEnd = (JobId, Duration, Result<JobChange, CallError>);

/// Pace of the answers about a job. Ganeti answers when something happens, or after half a minute. A daemon that
/// answers at once every time must not be asked a thousand times a second.
#[derive(Debug, Clone, Copy, Default)]
struct Pace {
    /// Number of immediate answers in a row.
    quick: u32,
    /// True if the last answer had something new.
    news: bool,
}

impl Pace {
    /// The pace after an answer that took this long.
    fn after(self, took: Duration, news: bool) -> Pace {
        Pace { quick: if took < PATIENT { self.quick.saturating_add(1) } else { 0 }, news }
    }

    /// Pause before the next question.
    fn pause(self) -> Duration {
        let Some(doublings) = self.quick.checked_sub(FREE + 1) else { return Duration::ZERO };
        let longest = if self.news { NEWS_PAUSE } else { IDLE_PAUSE };
        FIRST_PAUSE.saturating_mul(1 << doublings.min(16)).min(longest)
    }
}

impl Default for Watchers {
    fn default() -> Self {
        let (sender, receiver) = channel();
        Watchers { sender, receiver, busy: HashSet::new(), serials: HashMap::new(), paces: HashMap::new() }
    }
}

impl Watchers {
    /// Waits at most `at_most` until one of the jobs changes, and returns the jobs known to have changed. `wait` makes
    /// the wait for a job.
    ///
    /// # Errors
    /// Problems of a connection.
    pub(super) fn next(
        &mut self,
        jobs: &[WatchedJob],
        at_most: Duration,
        wait: impl Fn() -> Wait,
    ) -> Result<Vec<(JobId, JobStatus)>, CallError> {
        let end = Instant::now() + at_most;
        loop {
            for job in jobs.iter().take(MOST) {
                self.begin(*job, &wait)?;
            }
            let left = end.saturating_duration_since(Instant::now());
            let Ok(first) = self.receiver.recv_timeout(left) else { return Ok(Vec::new()) };
            let mut changes = Vec::new();
            let more: Vec<_> = self.receiver.try_iter().collect();
            let came: Vec<_> = std::iter::once(first).chain(more).collect();
            // All of these waits are over, even if one of them failed.
            for (id, _, _) in &came {
                self.busy.remove(id);
            }
            for (id, took, result) in came {
                let change = result?;
                let told = change.serial.and_then(|serial| self.serials.insert(id, serial));
                let pace = self.paces.entry(id).or_default();
                *pace = pace.after(took, change.serial.is_some() && change.serial != told);
                let before = jobs.iter().find(|job| job.id == id).map(|job| job.status);
                changes.extend(
                    change.status.filter(|now| before.is_some_and(|b| b != *now)).map(|now| (id, now)),
                );
            }
            if !changes.is_empty() {
                return Ok(changes);
            }
        }
    }

    fn begin(&mut self, job: WatchedJob, wait: impl Fn() -> Wait) -> Result<(), CallError> {
        if self.busy.contains(&job.id) {
            return Ok(());
        }
        let (sender, serial, wait) = (self.sender.clone(), self.serials.get(&job.id).copied(), wait());
        let pause = self.paces.get(&job.id).map_or(Duration::ZERO, |pace| pace.pause());
        thread::Builder::new()
            .name(format!("job {}", job.id))
            .spawn(move || {
                thread::sleep(pause);
                let start = Instant::now();
                let result = wait(job, serial);
                // If the run is over, nobody receives this.
                let _ = sender.send((job.id, start.elapsed(), result));
            })
            .map_err(|error| CallError::NotSent(format!("no thread to wait for job {}: {error}", job.id)))?;
        self.busy.insert(job.id);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn watched(id: u64, status: JobStatus) -> WatchedJob {
        WatchedJob { id: JobId(id), status }
    }

    #[test]
    fn the_first_change_ends_the_wait() {
        let mut watchers = Watchers::default();
        let jobs = [watched(1, JobStatus::Running), watched(2, JobStatus::Queued)];
        let wait = || -> Wait {
            Box::new(|job, _| {
                if job.id == JobId(1) {
                    thread::sleep(Duration::from_secs(600));
                }
                Ok(JobChange { status: Some(JobStatus::Waiting), serial: None })
            })
        };
        let changes = watchers.next(&jobs, Duration::from_secs(60), wait).unwrap();
        assert_eq!(changes, [(JobId(2), JobStatus::Waiting)]);
    }

    #[test]
    fn messages_alone_are_no_change_and_are_not_told_twice() {
        let mut watchers = Watchers::default();
        let wait = || -> Wait {
            Box::new(|job, serial| match serial {
                None => Ok(JobChange { status: Some(job.status), serial: Some(7) }),
                Some(7) => Ok(JobChange { status: Some(JobStatus::Success), serial: Some(8) }),
                Some(_) => Err(CallError::Lost("asked for old messages".into())),
            })
        };
        let changes =
            watchers.next(&[watched(3, JobStatus::Running)], Duration::from_secs(60), wait).unwrap();
        assert_eq!(changes, [(JobId(3), JobStatus::Success)]);
    }

    #[test]
    fn answers_that_come_at_once_make_pauses_that_grow() {
        let quick = |news| {
            let mut pace = Pace::default();
            let pauses = std::iter::repeat_with(move || {
                pace = pace.after(Duration::from_millis(1), news);
                pace.pause().as_millis()
            });
            pauses.take(14).collect::<Vec<_>>()
        };
        assert_eq!(quick(false), [0, 0, 0, 0, 50, 100, 200, 400, 800, 1600, 3200, 6400, 8000, 8000]);
        assert_eq!(quick(true)[8..], [800, 1600, 2000, 2000, 2000, 2000]);
        let last = Pace { quick: u32::MAX, news: false };
        assert_eq!(last.after(Duration::ZERO, false).pause(), IDLE_PAUSE);
        // After a real wait the daemon is asked again at once.
        assert_eq!(last.after(PATIENT, false).pause(), Duration::ZERO);
    }

    #[test]
    fn a_daemon_that_answers_at_once_is_asked_seldom() {
        let asked = Arc::new(AtomicUsize::new(0));
        let mut watchers = Watchers::default();
        let wait = || -> Wait {
            let asked = Arc::clone(&asked);
            // Works with or without messages.
            Box::new(move |job, serial| {
                asked.fetch_add(1, Ordering::SeqCst);
                let status = Some(job.status);
                Ok(if job.id == JobId(1) {
                    JobChange::default()
                } else {
                    JobChange { status, serial: serial.map_or(Some(1), |s| s.checked_add(1)) }
                })
            })
        };
        let jobs = [watched(1, JobStatus::Running), watched(2, JobStatus::Running)];
        assert_eq!(watchers.next(&jobs, Duration::from_millis(700), wait).unwrap(), []);
        let asked = asked.load(Ordering::SeqCst);
        assert!((4..=20).contains(&asked), "{asked}");
    }

    #[test]
    fn time_passes_and_errors_surface() {
        let mut watchers = Watchers::default();
        let nothing = || -> Wait { Box::new(|_, _| Ok(JobChange::default())) };
        let jobs = [watched(1, JobStatus::Running)];
        assert_eq!(watchers.next(&jobs, Duration::from_millis(20), nothing).unwrap(), []);
        let broken = || -> Wait { Box::new(|_, _| Err(CallError::Lost("gone".into()))) };
        assert!(watchers.next(&jobs, Duration::from_secs(60), broken).is_err());
    }

    #[test]
    fn jobs_whose_waits_fail_together_are_waited_for_again() {
        let mut watchers = Watchers::default();
        let jobs = [watched(1, JobStatus::Running), watched(2, JobStatus::Running)];
        let broken = || -> Wait {
            Box::new(|_, _| {
                thread::sleep(Duration::from_millis(50));
                Err(CallError::Lost("gone".into()))
            })
        };
        assert_eq!(watchers.next(&jobs, Duration::ZERO, broken).unwrap(), []);
        assert_eq!(watchers.busy.len(), 2);
        thread::sleep(Duration::from_millis(500));
        // Both answers have arrived by now.
        assert!(watchers.next(&jobs, Duration::from_secs(60), broken).is_err());
        assert_eq!(watchers.busy.len(), 0);
    }

    #[test]
    fn not_too_many_threads() {
        let mut watchers = Watchers::default();
        let jobs: Vec<WatchedJob> = (0..100).map(|id| watched(id, JobStatus::Running)).collect();
        let wait = || -> Wait {
            Box::new(|_, _| {
                thread::sleep(Duration::from_secs(600));
                Ok(JobChange::default())
            })
        };
        assert_eq!(watchers.next(&jobs, Duration::from_millis(20), wait).unwrap(), []);
        assert_eq!(watchers.busy.len(), MOST);
    }
}
