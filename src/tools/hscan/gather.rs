//! Reads several clusters at the same time.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;

use crate::input::error::Result;
use crate::load::Detail;
use crate::load::RawCluster;
use crate::load::rapi;
use crate::remote::rapi::{Access, Address};

/// Most clusters read at the same time.
const AT_ONCE: usize = 8;

/// Reads the clusters and returns them in the order of their addresses. Each is returned as soon as it and those
/// before it have been read.
pub(super) fn gather(addresses: Vec<Address>, access: Access) -> impl Iterator<Item = Result<RawCluster>> {
    let count = addresses.len();
    let addresses = Arc::new(addresses);
    let access = Arc::new(access);
    let next = Arc::new(AtomicUsize::new(0));
    let (sender, receiver) = mpsc::channel();
    // Nothing joins these threads; they end with the program.
    for _ in 0..count.min(AT_ONCE) {
        let (addresses, access) = (Arc::clone(&addresses), Arc::clone(&access));
        let (next, sender) = (Arc::clone(&next), sender.clone());
        thread::spawn(move || {
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(address) = addresses.get(at) else { break };
                if sender.send((at, rapi::load(address, &access, Detail::Usual))).is_err() {
                    break;
                }
            }
        });
    }
    let mut early = BTreeMap::new();
    (0..count).map_while(move |wanted| {
        loop {
            if let Some(found) = early.remove(&wanted) {
                return Some(found);
            }
            let (at, cluster) = receiver.recv().ok()?;
            early.insert(at, cluster);
        }
    })
}
