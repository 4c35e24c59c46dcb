//! Maximum surplus of a choice of profits whose conditions have costs.

/// Profits, and the costs of their conditions.
#[derive(Debug, Default)]
pub(super) struct Choice {
    /// Cost of each condition.
    costs: Vec<i64>,
    /// Profits: the amount of each, and the positions of its conditions.
    profits: Vec<(i64, Vec<usize>)>,
}

impl Choice {
    /// Adds a condition.
    pub(super) fn cost(&mut self, amount: i64) -> usize {
        self.costs.push(amount);
        self.costs.len() - 1
    }

    /// Adds a profit of `amount` that requires all these conditions.
    pub(super) fn profit(&mut self, amount: i64, conditions: Vec<usize>) {
        self.profits.push((amount, conditions));
    }

    /// The maximum over all choices of profits, less the costs of their conditions: 0 or more.
    ///
    /// A cost is paid once, however many profits need it. So this is a closure of maximum weight, and the loss is a
    /// maximum flow from profits to their conditions (Picard, Management Science 22, 1976).
    pub(super) fn best(&self) -> i64 {
        let mut flow = Flow {
            left: self.costs.clone(),
            paid: vec![Vec::new(); self.costs.len()],
            conditions: self.profits.iter().map(|(_, conditions)| &conditions[..]).collect(),
            seen: vec![false; self.costs.len()],
        };
        let mut lost = |(at, (amount, _)): (usize, &(i64, Vec<usize>))| flow.pay_all(at, *amount);
        // Sum profit by profit, because the total may overflow.
        let kept = |(at, profit): (usize, &(i64, Vec<usize>))| profit.0 - lost((at, profit));
        self.profits.iter().enumerate().map(kept).fold(0, i64::saturating_add)
    }
}

struct Flow<'c> {
    /// Unpaid part of each cost.
    left: Vec<i64>,
    /// Payers of each cost, with their shares.
    paid: Vec<Vec<(usize, i64)>>,
    conditions: Vec<&'c [usize]>,
    seen: Vec<bool>,
}

impl Flow<'_> {
    /// The largest part of `amount` that a profit can pay for its conditions.
    fn pay_all(&mut self, profit: usize, amount: i64) -> i64 {
        let mut paid = 0;
        while paid < amount {
            self.seen.fill(false);
            match self.pay(profit, amount - paid) {
                0 => break,
                more => paid += more,
            }
        }
        paid
    }

    /// Pays some of `amount`, perhaps by making another profit pay for another condition.
    fn pay(&mut self, profit: usize, amount: i64) -> i64 {
        for &cost in self.conditions[profit] {
            if std::mem::replace(&mut self.seen[cost], true) {
                continue;
            }
            let mut paid = amount.min(self.left[cost]);
            self.left[cost] -= paid;
            if paid == 0 {
                let payers = self.paid[cost].clone();
                for (other, share) in payers {
                    paid = self.pay(other, amount.min(share));
                    if paid > 0 {
                        self.enter(cost, other, -paid);
                        break;
                    }
                }
            }
            if paid > 0 {
                self.enter(cost, profit, paid);
                return paid;
            }
        }
        0
    }

    fn enter(&mut self, cost: usize, profit: usize, amount: i64) {
        let paid = &mut self.paid[cost];
        match paid.iter_mut().find(|(other, _)| *other == profit) {
            Some((_, share)) => *share = share.saturating_add(amount),
            None => paid.push((profit, amount)),
        }
        paid.retain(|(_, share)| *share > 0);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn no_choice_is_worth_more(
            costs in prop::collection::vec(0i64..20, 0..6),
            profits in prop::collection::vec((0i64..20, prop::collection::vec(any::<prop::sample::Index>(), 0..4)), 0..7),
        ) {
            let mut choice = Choice::default();
            costs.iter().for_each(|cost| { choice.cost(*cost); });
            for (amount, conditions) in &profits {
                let conditions = if costs.is_empty() { &[][..] } else { &conditions[..] };
                choice.profit(*amount, conditions.iter().map(|at| at.index(costs.len())).collect());
            }
            let worth = |chosen: usize| -> i64 {
                let taken: Vec<_> = choice.profits.iter().enumerate().filter(|(at, _)| chosen >> at & 1 == 1).collect();
                let is_needed = |cost: usize| taken.iter().any(|(_, (_, conditions))| conditions.contains(&cost));
                let paid = costs.iter().enumerate().filter(|(cost, _)| is_needed(*cost));
                taken.iter().map(|(_, (amount, _))| amount).sum::<i64>() - paid.map(|(_, cost)| cost).sum::<i64>()
            };
            let best = (0..1usize << profits.len()).map(worth).max();
            prop_assert_eq!(Some(choice.best()), best);
        }
    }
}
