//! Waiting for several jobs at once: one thread for each of them, up to a limit, asks
//! Ganeti to tell when its job gets further.

use std::collections::{HashMap, HashSet};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use super::job::{JobId, Status, Watched};
use crate::load::remote::CallError;

/// Most jobs that are waited for at once; the others have their turn when one of these ends.
const MOST: usize = 16;

/// How long Ganeti may take to say that nothing has changed.
pub const ANSWER: Duration = Duration::from_secs(120);

/// What Ganeti said about a job that was waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Change {
    /// How far it is now; none if nothing has changed.
    pub status: Option<Status>,
    /// The number of its newest message.
    pub serial: Option<u64>,
}

/// A wait for one job, to be done on a thread of its own: it is told how far the job was,
/// and the number of the newest message that is known.
pub type Wait = Box<dyn FnOnce(Watched, Option<u64>) -> Result<Change, CallError> + Send>;

/// Waits under way.
pub struct Watchers {
    sender: Sender<(JobId, Result<Change, CallError>)>,
    receiver: Receiver<(JobId, Result<Change, CallError>)>,
    /// The jobs that a thread is waiting for.
    busy: HashSet<JobId>,
    /// The newest message of each job: Ganeti answers at once if there is one that it
    /// has not told of.
    serials: HashMap<JobId, u64>,
}

impl Default for Watchers {
    fn default() -> Self {
        let (sender, receiver) = channel();
        Watchers { sender, receiver, busy: HashSet::new(), serials: HashMap::new() }
    }
}

impl Watchers {
    /// Waits until one of the jobs is not as far as it was, at most so long; gives those
    /// of which this is known. `wait` makes a wait.
    ///
    /// # Errors
    /// What is wrong with a connection.
    pub fn next(
        &mut self,
        jobs: &[Watched],
        at_most: Duration,
        wait: impl Fn() -> Wait,
    ) -> Result<Vec<(JobId, Status)>, CallError> {
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
            // all of these waits are over, whatever is wrong with one of them
            for (id, _) in &came {
                self.busy.remove(id);
            }
            for (id, result) in came {
                let change = result?;
                if let Some(serial) = change.serial {
                    self.serials.insert(id, serial);
                }
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

    fn begin(&mut self, job: Watched, wait: impl Fn() -> Wait) -> Result<(), CallError> {
        if self.busy.contains(&job.id) {
            return Ok(());
        }
        let (sender, serial, wait) = (self.sender.clone(), self.serials.get(&job.id).copied(), wait());
        thread::Builder::new()
            .name(format!("job {}", job.id))
            .spawn(move || {
                // nobody listens any more if the run is over
                let _ = sender.send((job.id, wait(job, serial)));
            })
            .map_err(|error| CallError::NotSent(format!("no thread to wait for job {}: {error}", job.id)))?;
        self.busy.insert(job.id);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watched(id: u64, status: Status) -> Watched {
        Watched { id: JobId(id), status }
    }

    #[test]
    fn the_first_change_ends_the_wait() {
        let mut watchers = Watchers::default();
        let jobs = [watched(1, Status::Running), watched(2, Status::Queued)];
        let wait = || -> Wait {
            Box::new(|job, _| {
                if job.id == JobId(1) {
                    thread::sleep(Duration::from_secs(600));
                }
                Ok(Change { status: Some(Status::Waiting), serial: None })
            })
        };
        let changes = watchers.next(&jobs, Duration::from_secs(60), wait).unwrap();
        assert_eq!(changes, [(JobId(2), Status::Waiting)]);
    }

    #[test]
    fn messages_alone_are_no_change_and_are_not_told_twice() {
        let mut watchers = Watchers::default();
        let wait = || -> Wait {
            Box::new(|job, serial| match serial {
                None => Ok(Change { status: Some(job.status), serial: Some(7) }),
                Some(7) => Ok(Change { status: Some(Status::Success), serial: Some(8) }),
                Some(_) => Err(CallError::Lost("asked for what was told".into())),
            })
        };
        let changes = watchers.next(&[watched(3, Status::Running)], Duration::from_secs(60), wait).unwrap();
        assert_eq!(changes, [(JobId(3), Status::Success)]);
    }

    #[test]
    fn time_passes_and_errors_surface() {
        let mut watchers = Watchers::default();
        let nothing = || -> Wait { Box::new(|_, _| Ok(Change::default())) };
        let jobs = [watched(1, Status::Running)];
        assert_eq!(watchers.next(&jobs, Duration::from_millis(20), nothing).unwrap(), []);
        let broken = || -> Wait { Box::new(|_, _| Err(CallError::Lost("gone".into()))) };
        assert!(watchers.next(&jobs, Duration::from_secs(60), broken).is_err());
    }

    #[test]
    fn jobs_whose_waits_fail_together_are_waited_for_again() {
        let mut watchers = Watchers::default();
        let jobs = [watched(1, Status::Running), watched(2, Status::Running)];
        let broken = || -> Wait {
            Box::new(|_, _| {
                thread::sleep(Duration::from_millis(50));
                Err(CallError::Lost("gone".into()))
            })
        };
        assert_eq!(watchers.next(&jobs, Duration::ZERO, broken).unwrap(), []);
        assert_eq!(watchers.busy.len(), 2);
        thread::sleep(Duration::from_millis(500));
        // both answers are there by now
        assert!(watchers.next(&jobs, Duration::from_secs(60), broken).is_err());
        assert_eq!(watchers.busy.len(), 0);
    }

    #[test]
    fn not_too_many_threads() {
        let mut watchers = Watchers::default();
        let jobs: Vec<Watched> = (0..100).map(|id| watched(id, Status::Running)).collect();
        let wait = || -> Wait {
            Box::new(|_, _| {
                thread::sleep(Duration::from_secs(600));
                Ok(Change::default())
            })
        };
        assert_eq!(watchers.next(&jobs, Duration::from_millis(20), wait).unwrap(), []);
        assert_eq!(watchers.busy.len(), MOST);
    }
}
