//! htools plans where the virtual machines of a Ganeti cluster live.
//!
//! # A walk through the house
//!
//! Data enters at the top, becomes a model, is scored and searched, leaves as a
//! plan, and only then is anything printed. Each room knows the rooms above it
//! in this list and nothing else.
//!
//! * [`model`]: what a cluster is. Nodes, instances and groups are known by
//!   newtype indices; names exist at the edges. The part of a node that changes
//!   when an instance comes or goes is a [`Ledger`](model::Ledger), a small value
//!   that a search copies, changes and throws away; the rules that can forbid a
//!   placement are its methods. A change is a [`Step`](model::Step): whose
//!   [`Move`](model::Move), from where to where, and by which [`Leg`](model::Leg)s; changes are tried
//!   on top of each other, and taken back, on a [`Draft`](model::Draft).
//! * [`input`]: what others wrote, read with care: no more than fits, its encoding,
//!   JSON with typed access, and errors that say where.
//! * [`remote`]: talking to Ganeti's daemons: addresses, credentials, TLS, one request
//!   and its errors.
//! * [`load`]: where a cluster comes from. One parser a source, each of which
//!   delivers a [`RawCluster`](load::RawCluster); then one pipeline for all of
//!   them ([`merge`](load::merge)), which checks, tags and indexes it.
//! * [`generate`]: random clusters for trying things out, for tests and for
//!   benchmarks.
//! * [`score`]: how good a placement is. [`Board`](score::Board) computes the
//!   score in the reference's order of operations, to the last bit;
//!   [`Running`](score::interval::Running) bounds the score of a changed state at
//!   a cost that does not depend on the number of nodes;
//!   [`PairUpdate`](score::PairUpdate) carries it on for pairs of nodes, and
//!   [`exact_sums`](score::exact_sums) sums up long rows of equal nodes at once.
//! * [`redundancy`]: what survives the loss of a node: DRBD reserves
//!   ([`n_plus_one`](redundancy::n_plus_one)), and whether every node could be emptied
//!   ([`global`](redundancy::global)).
//! * [`search`]: which change is best. [`moves`](search::moves) works one move out.
//!   [`balance`](search::balance) finds the best of all and repeats:
//!   [`bounds`](search::balance::bounds) keeps lower bounds for all moves from step to
//!   step (docs/search.md explains them), sieves leave out what cannot win,
//!   [`explain`](search::balance::explain) says why an instance stays where it is,
//!   [`tally`](search::balance::tally) counts how much work it was.
//!   [`place`](search::place) finds the best place for one instance (docs/placing.md), and other
//!   nodes for what leaves one ([`evacuation`](search::place::evacuation));
//!   [`requests`](search::requests) answers what Ganeti's master asks with it, and makes room.
//!   [`fill`](search::fill) finds out how many more instances a cluster holds.
//!   [`squeeze`](search::squeeze) decides which nodes are not needed, or needed again.
//!   [`groups`](search::groups) moves instances between node groups.
//!   [`rolling`](search::rolling) divides nodes into groups that can be down together.
//!   [`repair`](search::repair) decides which broken instances may be mended, and how.
//!   [`health`](search::health) tells what is wrong, what balancing would mend, and what
//!   the loss of nodes would mean.
//!   [`why`](search::why) is the words in which all of them say why something cannot be: the rule,
//!   what is missing, where it would nearly do.
//! * [`plan`]: the steps in order, as a [`graph`](plan::graph) of what waits for what and why, no more than
//!   [is needed](plan::needs), of which jobsets are one walk and the [`stream`](plan::stream) another; how
//!   long they take ([`durations`](plan::durations)); with which opcodes they are done, also to nodes ([`switching`](plan::switching), [`rolling`](plan::rolling)), and how they are
//!   [taken back](plan::back); and a checker that replays them by the plain rules, also where they overlap. It knows
//!   nothing but the model.
//!   [`work`](plan::work) is a plan ready to be carried out, in names and opcodes, of which jobs, [`command`](plan::command) lists and time tables are views;
//!   [`fresh`](plan::fresh) tells what has changed since it was made.
//!   [`shell`](plan::shell) is the one writer of commands, and [`names`](plan::names) says which names
//!   may be in commands and jobs.
//! * [`pacemaker`]: Pacemaker clusters: hosts with freely named capacities, resources with scores, the documents
//!   ([`cib`](pacemaker::cib)) that describe them, where Pacemaker [places](pacemaker::place()) them, where they would be [best](pacemaker::optimal()), and the
//!   [transition](pacemaker::transition()) that brings them there, with a checker of its own; what the [loss](pacemaker::loss) of hosts would mean, and how much more
//!   would [fit](pacemaker::fit); which constraints [bring](pacemaker::pinning) a cluster to another placement than its own. A model of its own, which
//!   shares nothing with Ganeti's but ways to show names and the graph of what waits for what.
//! * [`execute`]: carrying a plan out: a runner over one trait of job clients (LUXI, RAPI),
//!   with a journal from which a run goes on after a crash, and plans in files ([`saved`](execute::saved)); repairs of which tags are the only memory ([`autorepair`](execute::autorepair)). docs/execution.md explains
//!   the rules. What is planned for a cluster of Pacemaker is carried out by a [runner](pacemaker::execute) of its own, through the same journals.
//! * [`report`]: showing it: tables and number formats that scripts know, saved
//!   files, JSON documents, responses to Ganeti's master.
//! * [`tools`]: one file or folder a tool: options, load, search, plan, report.
//!   No algorithm lives here.
//!
//! `examples/library.rs` shows how it is used: load, check, place, balance, plan.
//!
//! # The reference
//!
//! The programs answer as Ganeti's own htools 3.0.2 do, on standard output and
//! by exit status, except where `docs/differences.md` says otherwise. Ties
//! between moves are decided there by the last bit of a score, so exact scores
//! are computed in one fixed order, and everything faster than that only decides
//! which scores need not be computed.

#![deny(missing_docs)]

pub use htools_affinity as affinity;
pub use htools_ganeti::execute;
pub use htools_ganeti::generate;
pub use htools_ganeti::input;
pub use htools_ganeti::load;
pub use htools_ganeti::remote;
pub use htools_model as model;
pub use htools_model::redundancy;
pub use htools_pacemaker as pacemaker;
pub use htools_plan as plan;
pub mod report;
pub use htools_model::score;
pub use htools_search as search;
pub mod tools;
