//! Files → plans, with the real folders of the repository and those beside this test.
//!
//! | module | ring |
//! | --- | --- |
//! | `ext_authz` | pure: authorization servers of proxies
//! | `assertions` | pure: what an experiment claims of its result |
//! | `events` | pure: what is done to a test bed during a trial, and what is read back |
//! | `external` | pure: parts that run already |
//! | `golden` | pure: the plan of the first experiment, whole; `TARE_UPDATE_GOLDEN=1` refreshes it |
//! | `hostile` | pure: experiments and workloads put no lines, directives or foreign files anywhere
//! | `kafka` | pure: brokers, what is sent to them, and the topic of each trial |
//! | `logins` | pure: TLS and logins of parts that run already |
//! | `mesh` | pure: meshes, their control planes and gateways |
//! | `sites` | pure: who stands where, and how far that is |
//! | `sketches` | pure: the model beyond the first experiment |
//! | `mistakes` | pure: what is said about a wrong file, and where |
//! | `mutations` | pure: no file, however broken, makes a panic or a problem without a place |
//! | `published` | pure: published figures with their units |
//! | `versions` | pure: versions of targets, and experiments over versions |
//! | `waterfall` | pure: orders of arms
//! | `names` | pure: experiments by path, study and stem |
//! | `schemas` | pure: committed schemas are fresh, and real files follow them |

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on should stop where it stands"
)]

mod assertions;
mod bench;
mod ext_authz;
mod external;
mod faults;
mod golden;
mod hostile;
mod kafka;
mod logins;
mod mesh;
mod mistakes;
mod mutations;
mod names;
mod published;
mod schemas;
mod session;
mod sites;
mod sketches;
mod versions;
mod waterfall;
