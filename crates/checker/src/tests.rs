//! The invariants against synthetic histories: legal oddities, broken promises, random sound runs.

mod broken;
mod legal;
mod perfect;
mod rebuilt;
mod surface;
