//! Scenario files: what a user writes, the check that refuses what is wrong, and the resolved plan
//! that a run follows.
//!
//! A file is read strictly ([`json`]), changed by `--set` ([`overrides`]), compared with the
//! published schema ([`schema()`], `check`) and with itself (names that must exist). What is left
//! to the seed is then drawn, and the result is a [`Plan`]: a scenario whose values are all plain.
//! A plan is a valid scenario file again.
#![forbid(unsafe_code)]

mod check;
mod cross;
mod draw;
mod error;
mod file;
pub mod json;
mod nearest;
mod number;
pub mod overrides;
pub mod plan;
mod schema;
pub mod settings;

pub use check::conform;
pub use error::InputError;
pub use file::ScenarioFile;
pub use nearest::nearest;
pub use number::{Probability, Spread};
pub use overrides::Override;
pub use plan::Plan;
pub use schema::schema;

/// Picks one of 0 … `n` − 1 for the place in the file called `site`; 0 is the quiet choice.
pub type Chooser<'a> = dyn FnMut(&str, u32) -> u32 + 'a;
