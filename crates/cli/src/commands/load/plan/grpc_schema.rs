//! A method's schema, by the program `tare-proto`: what compiles `.proto` files stays out of the first build.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, bail};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use tare_record::grpc_schema::{
    MethodDescription, ReflectionAnswer, SCHEMA_LINE_BYTES_MAX, SchemaQuestion, SchemaReply,
};

use super::super::grpc_server::GrpcServer;
use crate::commands::own_program;

/// Asks the program; its calls of reflection are made to the server.
pub(super) fn ask(
    question: &SchemaQuestion,
    server: &GrpcServer,
) -> anyhow::Result<MethodDescription> {
    let program = own_program("proto")?;
    let started = Command::new(&program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let mut child =
        Conversation(started.with_context(|| format!("cannot start {}", program.display()))?);
    child.write(question)?;
    loop {
        match child.read()? {
            SchemaReply::Reflect(messages) => child.write(&answer(&messages, server))?,
            SchemaReply::Described(method) => return Ok(method),
            SchemaReply::Error(error) => bail!(error),
        }
    }
}

/// One call of reflection.
fn answer(messages: &[String], server: &GrpcServer) -> ReflectionAnswer {
    let messages = messages.iter().map(|one| STANDARD.decode(one));
    let messages: Result<Vec<_>, _> = messages.collect();
    let answers = server.reflect(&messages.map_err(|error| error.to_string())?)?;
    Ok(answers.iter().map(|one| STANDARD.encode(one)).collect())
}

/// The running program; it ends when this is dropped.
struct Conversation(Child);

impl Conversation {
    fn write(&mut self, what: &impl Serialize) -> anyhow::Result<()> {
        let mut line = serde_json::to_vec(what)?;
        line.push(b'\n');
        let input = self.0.stdin.as_mut().context("no pipe to tare-proto")?;
        input.write_all(&line).context("tare-proto has ended")
    }

    fn read(&mut self) -> anyhow::Result<SchemaReply> {
        let output = self.0.stdout.as_mut().context("no pipe from tare-proto")?;
        let mut line = String::new();
        // There is never more than one line on its way.
        BufReader::new(output.take(SCHEMA_LINE_BYTES_MAX)).read_line(&mut line)?;
        serde_json::from_str(&line).context("tare-proto has ended without a reply")
    }
}

impl Drop for Conversation {
    fn drop(&mut self) {
        // An error means that it has ended already.
        self.0.kill().ok();
        self.0.wait().ok();
    }
}
