//! Counts frames that bring no exchange nearer to its end, which a client could send for ever.

use tare_wire::frame::Kind;

use super::fault::Fault;

/// Frames that each cost an answer or a stream: PING, SETTINGS, RST_STREAM (CVE-2023-44487), streams refused.
const COSTLY_MAX: u32 = 1000;

/// Others, which cost no more than reading them.
const IDLE_MAX: u32 = 10_000;

/// Frames since an answer was complete or went on; bytes of bodies forgive those that cost little.
#[derive(Debug, Default)]
pub(super) struct Floods {
    costly: u32,
    idle: u32,
}

impl Floods {
    pub(super) fn progressed(&mut self) {
        *self = Self::default();
    }

    /// One that costs something.
    pub(super) fn costly(&mut self) -> Result<(), Fault> {
        self.costly += 1;
        if self.costly > COSTLY_MAX {
            return Err(Fault::FLOOD);
        }
        Ok(())
    }

    /// Any frame.
    pub(super) fn frame(&mut self, kind: Kind, payload_bytes: u32) -> Result<(), Fault> {
        match kind {
            Kind::Ping | Kind::Settings | Kind::RstStream => self.costly(),
            Kind::Data if payload_bytes > 0 => {
                self.idle = 0;
                Ok(())
            }
            _ => {
                self.idle += 1;
                if self.idle > IDLE_MAX {
                    return Err(Fault::FLOOD);
                }
                Ok(())
            }
        }
    }
}
