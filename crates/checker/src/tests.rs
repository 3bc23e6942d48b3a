//! The invariants against synthetic histories: legal oddities, broken promises, random sound runs.

mod broken;
mod effects;
mod group_readers;
mod groups;
mod legal;
mod live;
mod perfect;
mod rebuilt;
mod surface;
