//! Placing bundles: the containers first, then the resources around each of them, then those inside.

use super::additions::ScoreSource;
use super::bundle::{Bundle, Replica};
use super::index::ResourceIdx;
use super::place::{Placer, PlacingState};
use super::placing::PlacingEvent;
use super::score::{AllocationScore, HostScore};

impl Placer<'_> {
    /// Places a bundle with everything that belongs to it.
    pub(super) fn assign_bundle(&mut self, bundle: &Bundle) {
        self.progress[bundle.whole.get()] = PlacingState::Begun;
        self.tell_bundle(bundle);
        self.assign_instances(bundle.whole);
        let place = bundle.replicas.iter().find_map(|replica| self.place_of(replica.container));
        for replica in &bundle.replicas {
            self.keep_connection_near(replica);
            replica.companions().for_each(|companion| self.assign(companion));
            if let Some(inside) = replica.inside {
                let table = &mut self.tables[inside.instance.get()];
                if self.set.resource(inside.instance).broken_on.contains(&inside.host) {
                    table.set(inside.host, AllocationScore::INFINITY);
                    self.log.forget(inside.instance, inside.host);
                } else {
                    table.add_or_set(inside.host, AllocationScore::INFINITY);
                }
                let pinned = HostScore { host: inside.host, score: AllocationScore::INFINITY };
                self.log.note(inside.instance, ScoreSource::Guest, std::iter::once(pinned));
                self.assign(inside.instance);
            }
        }
        self.progress[bundle.whole.get()] = PlacingState::Done(place);
        bundle.inner.into_iter().for_each(|inner| self.assign_inner(bundle, inner));
    }

    /// Keeps the connection to a container on a remote node where the connection to that node is.
    fn keep_connection_near(&mut self, replica: &Replica) {
        let (Some(inside), Some(host)) = (replica.inside, self.place_of(replica.container)) else { return };
        let Some(parts) = self.set.host(host).guest else { return };
        let near = self.place_of(parts.connection);
        let table = &mut self.tables[inside.connection.get()];
        let others: Vec<HostScore> = table
            .iter()
            .filter(|(host, _)| Some(*host) != near)
            .map(|(host, _)| HostScore { host, score: AllocationScore::MINUS_INFINITY })
            .collect();
        others.iter().for_each(|other| table.set(other.host, other.score));
        self.log.note(inside.connection, ScoreSource::Guest, others.into_iter());
    }

    /// Notes the scores of a bundle that has its place, as Pacemaker shows them once more.
    pub(super) fn tell_bundle_again(&mut self, resource: ResourceIdx) {
        let is_placed = matches!(self.progress[resource.get()], PlacingState::Done(_));
        if let Some(bundle) = self.set.bundle(resource).filter(|_| is_placed) {
            self.tell_bundle(bundle);
            bundle.inner.into_iter().for_each(|inner| self.open_own_nodes(bundle, inner));
            // Each instance is sent to its own node again, even if it is to be stopped.
            let never = AllocationScore::MINUS_INFINITY;
            for inside in bundle.replicas.iter().filter_map(|replica| replica.inside) {
                if self.set.resource(inside.instance).scores.or_never(inside.host) > never {
                    self.tables[inside.instance.get()].set(inside.host, AllocationScore::INFINITY);
                }
            }
        }
    }

    /// Opens the nodes in the containers of a bundle to the clone inside, and no others.
    fn open_own_nodes(&mut self, bundle: &Bundle, inner: ResourceIdx) {
        let table = &mut self.tables[inner.get()];
        for host in self.set.host_indices() {
            let is_own =
                bundle.replicas.iter().any(|replica| replica.inside.is_some_and(|one| one.host == host));
            if is_own {
                table.set(host, AllocationScore::ZERO);
            } else if table.get(host).is_some() {
                table.set(host, AllocationScore::MINUS_INFINITY);
            }
        }
    }

    /// Settles the clone inside of a bundle, whose instances have their places.
    fn assign_inner(&mut self, bundle: &Bundle, inner: ResourceIdx) {
        self.open_own_nodes(bundle, inner);
        self.tell_scores(inner);
        let mut instances = self.instance_sequence(inner);
        instances.retain(|one| !self.set.resource(*one).surplus);
        self.turns.insert(inner, instances.clone());
        let place = instances.iter().find_map(|instance| self.place_of(*instance));
        self.progress[inner.get()] = PlacingState::Done(place);
        self.promote(inner, &instances);
    }

    /// Notes the scores with which the placing of a bundle begins.
    fn tell_bundle(&mut self, bundle: &Bundle) {
        let mut shown = vec![bundle.whole];
        for replica in &bundle.replicas {
            shown.push(replica.container);
            shown.extend(replica.companions());
        }
        if let Some(inner) = bundle.inner {
            shown.push(inner);
            shown.extend(self.in_turn(inner));
        }
        let scores = shown.into_iter().map(|one| (one, self.tables[one.get()].clone()));
        self.events.push(PlacingEvent::Bundle(scores.collect()));
    }
}
