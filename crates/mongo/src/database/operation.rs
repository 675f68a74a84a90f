//! Kinds of operations, for counters.

/// A kind of operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// hello, isMaster.
    Hello,
    /// insert.
    Insert,
    /// find.
    Find,
    /// getMore.
    GetMore,
    /// update.
    Update,
    /// delete.
    Delete,
    /// findAndModify.
    FindAndModify,
    /// count, distinct.
    Count,
    /// aggregate.
    Aggregate,
    /// Every other command, known or not.
    Command,
}

impl Operation {
    /// All kinds, by index.
    pub const ALL: [Self; 10] = [
        Self::Hello,
        Self::Insert,
        Self::Find,
        Self::GetMore,
        Self::Update,
        Self::Delete,
        Self::FindAndModify,
        Self::Count,
        Self::Aggregate,
        Self::Command,
    ];

    /// The name in counters.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Hello => "hello",
            Self::Insert => "insert",
            Self::Find => "find",
            Self::GetMore => "getMore",
            Self::Update => "update",
            Self::Delete => "delete",
            Self::FindAndModify => "findAndModify",
            Self::Count => "count",
            Self::Aggregate => "aggregate",
            Self::Command => "command",
        }
    }

    /// The kind of a command; `None` if it is only a [`Operation::Command`].
    #[must_use]
    pub fn of(command: &str) -> Option<Self> {
        Some(match command {
            "hello" | "isMaster" | "ismaster" => Self::Hello,
            "insert" => Self::Insert,
            "find" => Self::Find,
            "getMore" => Self::GetMore,
            "update" => Self::Update,
            "delete" => Self::Delete,
            "findAndModify" | "findandmodify" => Self::FindAndModify,
            "count" | "distinct" => Self::Count,
            "aggregate" => Self::Aggregate,
            _ => return None,
        })
    }
}
