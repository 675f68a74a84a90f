//! The target folders: their rendered configurations, and the real software started with them.
//!
//! | module | ring |
//! | --- | --- |
//! | `admin` | real: an administration page that can change a proxy is for its own user |
//! | `golden` | pure: every template against committed text; `TARE_UPDATE_GOLDEN=1` refreshes it |
//! | `outside` | pure and real: a target from a folder outside the repository |
//! | `validate` | real: the software accepts every rendered configuration |
//! | `chain` | real: requests through two sidecars are counted exactly, and their TLS is as told |
//! | `names` | real: a proxy that routes by TLS server name refuses others, and counts what its open connections carried |
//! | `filters` | real: authorisation in a proxy lets through, turns away and asks as often as it is told to |

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "what a test's helpers unwrap is the test's own failure"
)]

mod admin;
mod chain;
mod filters;
mod golden;
mod names;
mod outside;
mod place;
mod rig;
mod validate;
