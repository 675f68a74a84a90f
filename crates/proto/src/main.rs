//! The program behind `tare load --grpc-call`: answers one question about a method, of its standard input, on its standard output.

use std::io::{self, BufRead, Read, Write};
use std::process::ExitCode;

use anyhow::Context;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tare_proto::{Method, ServiceDescriptors};
use tare_record::files::{USER_FILE_BYTES_MAX, read_user_file};
use tare_record::grpc_schema::{
    MethodDescription, MethodName, ReflectionAnswer, SCHEMA_LINE_BYTES_MAX,
    SCHEMA_QUESTION_VERSION, SchemaQuestion, SchemaReply, SchemaSource,
};

fn main() -> ExitCode {
    let reply = match answer() {
        Ok(described) => SchemaReply::Described(described),
        Err(error) => SchemaReply::Error(format!("{error:#}")),
    };
    match say(&reply) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn answer() -> anyhow::Result<MethodDescription> {
    const START: &str = "start this program with `tare load URL --grpc-call METHOD`";
    let question: serde_json::Value = serde_json::from_str(&line()?).context(START)?;
    if question["version"] != SCHEMA_QUESTION_VERSION {
        anyhow::bail!(
            "tare and tare-proto are of different versions: install both from one package, or build both again"
        );
    }
    let question: SchemaQuestion = serde_json::from_value(question).context(START)?;
    let method = method(&question.source, &question.method)?;
    let messages = question.data.map(|data| method.encode(&data)).transpose()?;
    Ok(MethodDescription {
        kind: method.kind(),
        messages: messages
            .map(|messages| messages.iter().map(|one| STANDARD.encode(one)).collect()),
    })
}

fn method(source: &SchemaSource, name: &MethodName) -> anyhow::Result<Method> {
    let descriptors = match source {
        SchemaSource::Set(file) => {
            let bytes = read_user_file(file, USER_FILE_BYTES_MAX).map_err(anyhow::Error::msg)?;
            ServiceDescriptors::from_set(&bytes).with_context(|| file.display().to_string())?
        }
        SchemaSource::Files {
            files,
            import_paths,
        } => {
            // The compiler opens the files itself, without these checks.
            for file in files {
                read_user_file(file, USER_FILE_BYTES_MAX).map_err(anyhow::Error::msg)?;
            }
            ServiceDescriptors::from_files(files, import_paths)?
        }
        SchemaSource::Server => ServiceDescriptors::from_server(&name.service, &mut reflect)?,
    };
    Ok(descriptors.method(name)?)
}

/// Has the other program make one call of reflection.
fn reflect(messages: &[Vec<u8>]) -> Result<Vec<Vec<u8>>, String> {
    let messages = messages.iter().map(|one| STANDARD.encode(one)).collect();
    say(&SchemaReply::Reflect(messages)).map_err(|error| error.to_string())?;
    let line = line().map_err(|error| error.to_string())?;
    let answer: ReflectionAnswer =
        serde_json::from_str(&line).map_err(|error| error.to_string())?;
    let decoded = answer?.into_iter().map(|one| STANDARD.decode(one));
    let decoded: Result<_, _> = decoded.collect();
    decoded.map_err(|error| error.to_string())
}

fn line() -> io::Result<String> {
    let mut line = String::new();
    let input = io::stdin().lock();
    input.take(SCHEMA_LINE_BYTES_MAX).read_line(&mut line)?;
    Ok(line)
}

fn say(reply: &SchemaReply) -> io::Result<()> {
    let mut output = io::stdout().lock();
    serde_json::to_writer(&mut output, reply)?;
    output.write_all(b"\n")?;
    output.flush()
}
