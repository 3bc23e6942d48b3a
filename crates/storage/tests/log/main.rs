//! The worked cases of the leader's rules, as tables, and properties against a naive model.
//!
//! Notation in the tables: `D(e,s-t)` is an idempotent batch with producer epoch `e` and sequences
//! `s` to `t`; `T(…)` a transactional one, verified for an old client; `U(…)` one verified for a
//! client that bumps its epoch; `G(…)` a transactional one of a group coordinator; `C(e,c)` and
//! `A(e,c)` COMMIT and ABORT markers with producer epoch `e` and coordinator epoch `c`, followed by
//! `/2` if the transaction version is 2; `N(n)` `n` records without a producer id. `p2` in front
//! names producer 2 (1 if not named), `R@7` a replicated batch at offset 7. The outcome follows:
//! `ok@offset`, `dup@offset`, or an error number.

mod cleaner;
mod follower;
mod idempotence;
mod lso_and_index;
mod markers;
mod model;
mod recovery;
mod retention;
mod support;
mod validation;
mod verification;
