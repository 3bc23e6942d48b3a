//! The broker's own tests: worked cases of the rules, told as stories of a small cluster.

mod cluster;
mod requests;
mod smoke;
