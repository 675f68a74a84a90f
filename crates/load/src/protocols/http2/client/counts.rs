//! HTTP/2 counters: control frames and resent exchanges.

/// Counters over all connections of one slot, or of a client.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Streams begun.
    pub streams_opened: u64,
    /// SETTINGS received, without acknowledgements.
    pub settings_received: u64,
    /// PINGs received; all of them were answered.
    pub pings_received: u64,
    /// GOAWAYs received.
    pub goaways_received: u64,
    /// Streams that the server reset.
    pub resets_received: u64,
    /// Streams that the client reset: timed out, malformed, or no longer needed.
    pub resets_sent: u64,
    /// WINDOW_UPDATEs received.
    pub window_updates_received: u64,
    /// Exchanges sent again because a GOAWAY reported them as not processed.
    pub exchanges_resent: u64,
    /// gRPC messages sent completely.
    pub messages_sent: u64,
    /// gRPC messages received completely.
    pub messages_received: u64,
}

impl Counts {
    /// Adds other counts.
    pub fn add(&mut self, other: &Counts) {
        let Counts {
            streams_opened,
            settings_received,
            pings_received,
            goaways_received,
            resets_received,
            resets_sent,
            window_updates_received,
            exchanges_resent,
            messages_sent,
            messages_received,
        } = other;
        self.streams_opened += streams_opened;
        self.settings_received += settings_received;
        self.pings_received += pings_received;
        self.goaways_received += goaways_received;
        self.resets_received += resets_received;
        self.resets_sent += resets_sent;
        self.window_updates_received += window_updates_received;
        self.exchanges_resent += exchanges_resent;
        self.messages_sent += messages_sent;
        self.messages_received += messages_received;
    }

    /// The counts with their names in a result.
    #[must_use]
    pub fn named(&self) -> [(&'static str, u64); 10] {
        [
            ("streams-opened", self.streams_opened),
            ("settings-received", self.settings_received),
            ("pings-received", self.pings_received),
            ("goaways-received", self.goaways_received),
            ("resets-received", self.resets_received),
            ("resets-sent", self.resets_sent),
            ("window-updates-received", self.window_updates_received),
            ("exchanges-resent", self.exchanges_resent),
            ("messages-sent", self.messages_sent),
            ("messages-received", self.messages_received),
        ]
    }
}
