//! Keys, the levels on which they are set, and the keys that apply to a machine.

use std::collections::BTreeMap;

pub use htools_model::AffinityKey;
pub use htools_model::key_tags::{LARGEST, SPECIAL};
use htools_model::key_tags::{SpecialKeyFault, check_special};
use htools_model::words;

words!(
    /// Level on which a key of a machine is set, from high to low. Of keys with one name, the lowest level wins.
    pub KeyLevel, "level of keys" {
        /// Built into the algorithm: the special keys.
        Default = "default",
        /// The whole cluster.
        Cluster = "cluster",
        /// The billing entity, which pays for the customer.
        BillingEntity = "billing-entity",
        /// The product offer that the customer has taken.
        CustomerOffer = "customer-offer",
        /// The customer.
        Customer = "customer",
        /// The product offer of the image.
        ImageOffer = "image-offer",
        /// The image from which the machine is made.
        Image = "image",
        /// The product offer of the virtual data center.
        VdcOffer = "vdc-offer",
        /// The virtual data center; in Ganeti, the node group.
        Vdc = "vdc",
        /// The product offer of the machine.
        ServerOffer = "server-offer",
        /// The machine; in Ganeti, the instance.
        Server = "server",
        /// The product offer of its first disk.
        DiskOffer = "disk-offer",
        /// Its first disk.
        Disk = "disk",
        /// The product offer of the network of its first network card.
        NetworkOffer = "network-offer",
        /// The network of its first network card.
        Network = "network",
        /// The product offer of its first network card.
        NicOffer = "nic-offer",
        /// Its first network card.
        Nic = "nic",
    }
);

words!(
    /// Owner of a key.
    pub KeyOwner, "owner of keys" {
        /// The operator, who sets it for machines.
        System = "system",
        /// The customer.
        Customer = "customer",
        /// The billing entity; its keys count if the customer sets none of the name on the same level.
        Billing = "billing",
    }
);

/// A key of a node.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeKey {
    /// Name. One that begins with `_` is compared with keys of customers, any other with the operator's.
    pub name: String,
    /// Value.
    pub value: f64,
    /// Weight of the copy that a machine started there takes along; `None` if the key is not sticky.
    pub sticky: Option<f64>,
}

/// The copies that a machine takes along from a node with these keys: the operator's keys on the level of the server.
pub(super) fn copies(keys: &[NodeKey]) -> Vec<AffinityKey> {
    let copy = |key: &NodeKey| {
        let (name, value) = (key.name.clone(), key.value);
        key.sticky.map(|weight| AffinityKey { name, value, weight })
    };
    keys.iter().filter_map(copy).collect()
}

/// Fault of a key.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum KeyError {
    /// Special and reserved names are restricted to certain owners.
    #[error("key '{name}': {owner} keys cannot have names that begin with '{letter}'")]
    Name {
        /// The key.
        name: String,
        /// Owner of the key.
        owner: &'static str,
        /// First character of its name.
        letter: char,
    },
    /// It begins as a special key, but is not a valid one.
    #[error("key '{0}' {1}")]
    Special(String, SpecialKeyFault),
    /// Customers cannot set keys on this level.
    #[error("customers cannot set keys on this level; keys that are set for them are 'billing' keys")]
    Level,
    /// There are two keys of the same name.
    #[error("key '{0}' is given twice")]
    Twice(String),
    /// A number is not finite.
    #[error("key '{0}': the {1} is not a finite number")]
    NotFinite(String, &'static str),
    /// A number is too large for sums.
    #[error("key '{0}': the {1} is not between -1e12 and 1e12")]
    TooLarge(String, &'static str),
}

/// The keys of a machine that one owner set on one level.
#[derive(Debug, Clone, PartialEq)]
pub struct LevelKeys {
    /// Level.
    pub level: KeyLevel,
    /// Owner.
    pub owner: KeyOwner,
    /// The keys.
    pub keys: Vec<AffinityKey>,
}

impl LevelKeys {
    /// Checks names and numbers.
    ///
    /// # Errors
    /// The first fault.
    pub(crate) fn check(&self) -> Result<(), KeyError> {
        if self.owner == KeyOwner::Customer && !self.keys.is_empty() && !self.level.is_customers() {
            return Err(KeyError::Level);
        }
        let (owner, letter) = match self.owner {
            KeyOwner::System => ("system", '_'),
            KeyOwner::Customer => ("customer", '#'),
            KeyOwner::Billing => ("billing", '#'),
        };
        let mut names = std::collections::HashSet::new();
        for key in &self.keys {
            if key.name.starts_with(letter) {
                return Err(KeyError::Name { name: key.name.clone(), owner, letter });
            }
            if !names.insert(&key.name) {
                return Err(KeyError::Twice(key.name.clone()));
            }
            for (number, what) in [(key.value, "value"), (key.weight, "weight")] {
                check_number(&key.name, what, number)?;
            }
            check_special(&key.name, key.value)
                .map_err(|fault| KeyError::Special(key.name.clone(), fault))?;
        }
        Ok(())
    }
}

/// Checks a number of a key, its value or weight.
///
/// # Errors
/// If it is not finite, or too large for sums.
pub(crate) fn check_number(key: &str, what: &'static str, number: f64) -> Result<(), KeyError> {
    match number {
        _ if !number.is_finite() => Err(KeyError::NotFinite(key.to_owned(), what)),
        _ if number.abs() > LARGEST => Err(KeyError::TooLarge(key.to_owned(), what)),
        _ => Ok(()),
    }
}

impl KeyLevel {
    /// Tells if customers themselves can set keys on this level.
    pub(crate) fn is_customers(self) -> bool {
        matches!(
            self,
            KeyLevel::Image | KeyLevel::Server | KeyLevel::Disk | KeyLevel::Network | KeyLevel::Nic
        )
    }
}

/// A key that applies to a machine, and its origin.
#[derive(Debug, Clone, PartialEq)]
pub struct CompiledKey {
    /// Name.
    pub name: String,
    /// Value.
    pub value: f64,
    /// Weight.
    pub weight: f64,
    /// The level that won.
    pub level: KeyLevel,
    /// Owner of the key on that level.
    pub owner: KeyOwner,
    /// True if it overrides a key of the billing entity.
    pub over_billing: bool,
}

/// The keys that apply to a machine, by name.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CompiledKeys {
    /// The operator's.
    pub system: Vec<CompiledKey>,
    /// The customer's.
    pub customer: Vec<CompiledKey>,
}

/// Determines the keys that apply to a machine. Of each name, the key on the lowest level wins, with value and weight
/// together. On the same level the customer's key wins over the billing entity's. A key with weight 0 is ignored,
/// unless `zero_disables` is set: then it removes the keys of its name.
pub fn compiled<'a>(levels: impl IntoIterator<Item = &'a LevelKeys>, zero_disables: bool) -> CompiledKeys {
    let mut sides: [BTreeMap<&str, CompiledKey>; 2] = [BTreeMap::new(), BTreeMap::new()];
    let mut in_order: Vec<&LevelKeys> = levels.into_iter().collect();
    // On the same level the billing entity comes first, so that the customer wins.
    in_order.sort_by_key(|level_keys| (level_keys.level, level_keys.owner != KeyOwner::Billing));
    for level_keys in in_order {
        let side = &mut sides[usize::from(level_keys.owner != KeyOwner::System)];
        for key in level_keys.keys.iter().filter(|key| zero_disables || key.weight != 0.0) {
            let before = side.get(key.name.as_str());
            let over_billing = level_keys.owner == KeyOwner::Customer
                && before.is_some_and(|old| old.level == level_keys.level && old.owner == KeyOwner::Billing);
            let (level, owner) = (level_keys.level, level_keys.owner);
            let AffinityKey { name, value, weight } = key.clone();
            side.insert(&key.name, CompiledKey { name, value, weight, level, owner, over_billing });
        }
    }
    let [system, customer] = sides.map(|side| {
        let keys = side.into_values();
        keys.filter(|key| key.weight != 0.0).collect::<Vec<_>>()
    });
    CompiledKeys { system, customer }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(level: KeyLevel, owner: KeyOwner, name: &str, value: f64, weight: f64) -> LevelKeys {
        LevelKeys { level, owner, keys: vec![AffinityKey { name: name.to_owned(), value, weight }] }
    }

    #[test]
    fn the_lowest_level_wins() {
        use KeyLevel::{Cluster, ServerOffer, Vdc};
        let levels = [(Cluster, 1.0), (ServerOffer, 3.0), (Vdc, 2.0)]
            .map(|(level, value)| at(level, KeyOwner::System, "MYKEY", value, 5.0));
        let keys = compiled(&levels, false).system;
        assert_eq!(keys.iter().map(|key| (key.value, key.level)).collect::<Vec<_>>(), [(3.0, ServerOffer)]);
    }

    #[test]
    fn what_weighs_nothing_is_no_key_or_takes_the_name_away() {
        let levels = [
            at(KeyLevel::Cluster, KeyOwner::Customer, "k", 1.0, 5.0),
            at(KeyLevel::Server, KeyOwner::Customer, "k", 2.0, 0.0),
        ];
        assert_eq!(compiled(&levels, false).customer[0].value, 1.0);
        assert_eq!(compiled(&levels, true).customer, []);
    }

    #[test]
    fn the_customer_wins_over_who_pays_on_one_level_only() {
        let billing = |level| at(level, KeyOwner::Billing, "k", 1.0, 1.0);
        let customer = |level| at(level, KeyOwner::Customer, "k", 2.0, 1.0);
        for levels in [
            [billing(KeyLevel::Vdc), customer(KeyLevel::Vdc)],
            [customer(KeyLevel::Vdc), billing(KeyLevel::Vdc)],
        ] {
            let keys = compiled(&levels, false).customer;
            assert_eq!((keys[0].value, keys[0].over_billing), (2.0, true));
        }
        let keys = compiled(&[billing(KeyLevel::Server), customer(KeyLevel::Vdc)], false).customer;
        assert_eq!((keys[0].value, keys[0].over_billing), (1.0, false));
    }

    #[test]
    fn names_and_numbers_are_checked() {
        let wrong =
            |owner, name: &str, value| at(KeyLevel::Server, owner, name, value, 1.0).check().unwrap_err();
        assert_eq!(
            wrong(KeyOwner::System, "_k", 1.0).to_string(),
            "key '_k': system keys cannot have names that begin with '_'"
        );
        assert_eq!(
            wrong(KeyOwner::Billing, "#RAM", 1.0).to_string(),
            "key '#RAM': billing keys cannot have names that begin with '#'"
        );
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(
                wrong(KeyOwner::System, "k", value).to_string(),
                "key 'k': the value is not a finite number"
            );
        }
        assert_eq!(
            wrong(KeyOwner::System, "k", -LARGEST.next_up()).to_string(),
            "key 'k': the value is not between -1e12 and 1e12"
        );
        assert_eq!(at(KeyLevel::Server, KeyOwner::System, "k", LARGEST, -LARGEST).check(), Ok(()));
        assert_eq!(
            wrong(KeyOwner::System, "#FOO", 0.0).to_string(),
            "key '#FOO' is not a special key: the special keys are #CPU, #LOAD, #RAM"
        );
        assert_eq!(
            wrong(KeyOwner::System, "#RAM", 1.0).to_string(),
            "key '#RAM' is a special key, whose value must be 0; its weight is the worth of an unused node"
        );
        for level in KeyLevel::ALL {
            let is_allowed = at(*level, KeyOwner::Customer, "k", 1.0, 1.0).check().is_ok();
            let own = ["image", "server", "disk", "network", "nic"];
            assert_eq!(is_allowed, own.contains(&level.as_str()), "{level}");
            assert_eq!(at(*level, KeyOwner::Billing, "k", 1.0, 1.0).check(), Ok(()));
        }
        let mut twice = at(KeyLevel::Server, KeyOwner::System, "k", 1.0, 1.0);
        twice.keys.push(twice.keys[0].clone());
        assert_eq!(twice.check().unwrap_err().to_string(), "key 'k' is given twice");
        assert_eq!(at(KeyLevel::Server, KeyOwner::System, "#RAM", 0.0, 1.0).check(), Ok(()));
    }
}
