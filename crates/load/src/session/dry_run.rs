//! Dry run of one session: shows what would be sent, sends nothing.

use super::interpreter::Next;
use super::program::CompiledSource;
use super::scripted::SessionRequests;
use crate::client::ExchangeId;

/// Actions shown at most.
const ACTIONS_MAX: usize = 1000;

/// Items of every captured list.
const ITEMS: usize = 3;

/// One action of a dry run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DryRunStep {
    /// It would send this request.
    Sends {
        /// Name of the request.
        name: String,
        /// The whole request.
        bytes: Vec<u8>,
    },
    /// It would pause.
    Pauses {
        /// How long.
        ns: u64,
    },
    /// It would fail.
    Fails { why: String },
    /// The session would continue; the rest is not shown.
    GoesOn,
}

/// Runs one session without sending. Every capture gets a placeholder: text with its name, or a list of three such texts.
#[must_use]
pub fn dry_run(mut sessions: SessionRequests) -> Vec<DryRunStep> {
    let session = ExchangeId(0);
    let mut shown = Vec::new();
    if !sessions.begin(session) {
        let why = "a table has no row left that is the session's own".to_owned();
        return vec![DryRunStep::Fails { why }];
    }
    while shown.len() < ACTIONS_MAX {
        match sessions.next(session, 0) {
            Next::Send(step) => {
                shown.push(DryRunStep::Sends {
                    name: sessions.program.steps[usize::from(step)].name.clone(),
                    bytes: sessions.state(session).bytes.clone(),
                });
                fill_captures(&mut sessions, session, step);
            }
            Next::Pause(ns) => shown.push(DryRunStep::Pauses { ns }),
            Next::End => return shown,
            Next::RenderFailed(_, why) | Next::SetFailed(why) => {
                shown.push(DryRunStep::Fails {
                    why: why.to_string(),
                });
                return shown;
            }
            Next::EndlessLoop => {
                let why = "endless loop: it sends no request".to_owned();
                shown.push(DryRunStep::Fails { why });
                return shown;
            }
        }
    }
    shown.push(DryRunStep::GoesOn);
    shown
}

fn fill_captures(sessions: &mut SessionRequests, session: ExchangeId, step: u16) {
    let program = std::sync::Arc::clone(&sessions.program);
    let state = sessions.state(session);
    for capture in &program.steps[usize::from(step)].captures {
        let value = &mut state.variables[capture.variable];
        match capture.from {
            CompiledSource::JsonAll { .. } => {
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
