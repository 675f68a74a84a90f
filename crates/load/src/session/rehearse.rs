//! Goes through one session without sending anything: what would be sent, for people to look at.

use super::machine::Next;
use super::program::From;
use super::scripted::Scripted;
use crate::client::Ticket;

/// Requests shown at most.
const REQUESTS_MAX: usize = 1000;

/// Items that every captured list is taken to have.
const ITEMS: usize = 3;

/// One thing that a session would do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rehearsed {
    /// It would send this.
    Sends {
        /// Name of the request.
        name: String,
        /// Every byte.
        bytes: Vec<u8>,
    },
    /// It would pause so long.
    Pauses {
        /// How long.
        ns: u64,
    },
    /// It would fail.
    Fails {
        /// Why.
        why: String,
    },
    /// It would do more than is shown.
    GoesOn,
}

/// Goes through one session. Every capture finds something: text that names it, and lists of three.
#[must_use]
pub fn rehearse(mut sessions: Scripted) -> Vec<Rehearsed> {
    let session = Ticket(0);
    let mut shown = Vec::new();
    if !sessions.begin(session) {
        let why = "a table has no row left that is the session's own".to_owned();
        return vec![Rehearsed::Fails { why }];
    }
    while shown.len() < REQUESTS_MAX {
        match sessions.next(session, 0) {
            Next::Send(step) => {
                shown.push(Rehearsed::Sends {
                    name: sessions.program.steps[usize::from(step)].name.clone(),
                    bytes: sessions.user(session).bytes.clone(),
                });
                pretend(&mut sessions, session, step);
            }
            Next::Pause(ns) => shown.push(Rehearsed::Pauses { ns }),
            Next::End => return shown,
            Next::Unsendable(_, why) | Next::Unset(why) => {
                shown.push(Rehearsed::Fails {
                    why: why.to_string(),
                });
                return shown;
            }
            Next::Runaway => {
                let why = "its loops go round without sending anything".to_owned();
                shown.push(Rehearsed::Fails { why });
                return shown;
            }
        }
    }
    shown.push(Rehearsed::GoesOn);
    shown
}

fn pretend(sessions: &mut Scripted, session: Ticket, step: u16) {
    let program = std::sync::Arc::clone(&sessions.program);
    let user = sessions.user(session);
    for capture in &program.steps[usize::from(step)].captures {
        let value = &mut user.variables[capture.variable];
        match capture.from {
            From::JsonAll { .. } => {
                value.begin_list();
                for item in 1..=ITEMS {
                    let text = format!("<{}-{item}>", capture.name);
                    let added: Result<(), ()> = value.item(|out| {
                        out.extend_from_slice(text.as_bytes());
                        Ok(())
                    });
                    debug_assert!(added.is_ok(), "nothing can fail");
                }
            }
            _ => {
                let text = format!("<{}>", capture.name);
                value.begin_text().extend_from_slice(text.as_bytes());
            }
        }
    }
}
