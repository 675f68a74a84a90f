//! Command errors, with MongoDB's codes.

use std::fmt;

use crate::bson::{Doc, OwnedDoc, Writer};

macro_rules! codes {
    ($($name:ident = $number:literal,)*) => {
        /// Codes of MongoDB (src/mongo/base/error_codes.yml) that this database returns.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Code { $($name,)* }

        impl Code {
            /// The number in replies.
            #[must_use]
            pub fn number(self) -> i32 {
                match self { $(Self::$name => $number,)* }
            }

            /// The name in replies.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => stringify!($name),)* }
            }
        }
    };
}

codes! {
    BadValue = 2,
    UnknownError = 8,
    FailedToParse = 9,
    TypeMismatch = 14,
    IllegalOperation = 20,
    ConflictingUpdateOperators = 40,
    CursorNotFound = 43,
    DollarPrefixedFieldName = 52,
    InvalidIdField = 53,
    EmptyFieldName = 56,
    CommandNotFound = 59,
    ImmutableField = 66,
    CannotCreateIndex = 67,
    InvalidOptions = 72,
    InvalidNamespace = 73,
    IndexOptionsConflict = 85,
    IndexKeySpecsConflict = 86,
    InvalidPipelineOperator = 168,
    NotImplemented = 238,
    QueryExceededMemoryLimitNoDiskUseAllowed = 292,
    UnsupportedOpQueryCommand = 352,
    BSONObjectTooLarge = 10334,
    DuplicateKey = 11000,
    OutOfDiskSpace = 14031,
    IDLFailedToParse = 40414,
}

/// The result of a command, or of a part of it.
pub(crate) type Result<T, E = CommandError> = std::result::Result<T, E>;

/// The error of a command, or of one write in it.
#[derive(Debug, Clone, PartialEq)]
pub struct CommandError {
    /// MongoDB's code.
    pub code: Code,
    /// The message; drivers show it unchanged.
    pub message: String,
    /// Further fields, such as the key of a duplicate.
    pub details: Option<OwnedDoc>,
}

impl Code {
    /// An error with this code.
    pub(crate) fn error(self, message: impl Into<String>) -> CommandError {
        CommandError {
            code: self,
            message: message.into(),
            details: None,
        }
    }
}

impl CommandError {
    /// A feature of MongoDB that this database does not have.
    pub(crate) fn unsupported(what: impl fmt::Display) -> Self {
        Code::NotImplemented.error(format!(
            "{what} is not supported by the in-memory database; use mongod"
        ))
    }

    /// Writes it as the reply to a command.
    pub(crate) fn write(&self, w: &mut Writer<'_>) {
        w.f64("ok", 0.0).str("errmsg", &self.message);
        w.i32("code", self.code.number())
            .str("codeName", self.code.name());
        self.write_details(w);
    }

    /// Writes it as an element of `writeErrors`.
    pub(crate) fn write_as_write_error(&self, index: usize, w: &mut Writer<'_>) {
        w.count("index", index).i32("code", self.code.number());
        self.write_details(w);
        w.str("errmsg", &self.message);
    }

    fn write_details(&self, w: &mut Writer<'_>) {
        if let Some(details) = &self.details {
            w.append_all(Doc::trusted(details));
        }
    }
}
