//! The transport of the arguments, and what is exchanged over TCP or with MongoDB.

use std::path::Path;

use anyhow::{Context, bail};
use tare_load::protocols::mongodb::MongoData;
use tare_load::protocols::tcp::{TcpContent, TcpExchange};
use tare_record::load::{
    Body, Expect, ExpectBody, ExpectStatus, Identity, RequestSpec, Resumption, TlsSpec, Transport,
    Trust,
};

use super::super::args::{Args, MongodbArgs, TcpArgs, TlsArgs};
use super::super::target::LoadUrl;

/// Default bytes of an exchange.
const SEND_BYTES: u64 = 100;
/// Default bytes of a block: small enough for many per second, large enough that the bytes dominate the cost.
const BLOCK_BYTES: u64 = 1 << 20;

/// The transport of the URL and the arguments.
pub(super) fn transport(args: &Args, target: &LoadUrl) -> anyhow::Result<Transport> {
    let tls = &args.tls;
    if !target.is_secure {
        let given = tls_flag(tls).or(args.protocol.handshakes.then_some("--handshakes"));
        if let Some(flag) = given {
            let url = &target.url;
            let Some(secured) = target.scheme.secured else {
                bail!(
                    "{flag} is for TLS, and there is none over {}",
                    target.protocol
                );
            };
            bail!("{flag} is for TLS, but {url} is plaintext: write {secured}");
        }
        return Ok(Transport::Tcp);
    }
    let trust = match (&tls.cacert, tls.insecure) {
        (_, true) => Trust::Any,
        (Some(path), false) => Trust::File { path: text(path)? },
        (None, false) => Trust::System,
    };
    let identity = match &tls.cert {
        Some(certificate) => Some(Identity {
            certificate: text(certificate)?,
            key: text(tls.key.as_ref().unwrap_or(certificate))?,
        }),
        None => None,
    };
    Ok(Transport::Tls(TlsSpec {
        trust,
        identity,
        server_name: tls.sni.clone(),
        alpn: tls.alpn.as_deref().map(offers),
        oldest: tls.tls_min,
        newest: tls.tls_max,
        resumption: tls.tls_resume,
    }))
}

/// The first given flag that is for TLS only.
fn tls_flag(tls: &TlsArgs) -> Option<&'static str> {
    let flags = [
        (tls.cacert.is_some(), "--cacert"),
        (tls.insecure, "--insecure"),
        (tls.cert.is_some(), "--cert"),
        (tls.sni.is_some(), "--sni"),
        (tls.alpn.is_some(), "--alpn"),
        (tls.tls_resume == Resumption::On, "--tls-resume"),
    ];
    let given = flags.into_iter().find(|(is_given, _)| *is_given);
    given.map(|(_, flag)| flag)
}

pub(super) fn text(path: &Path) -> anyhow::Result<String> {
    let path = path
        .to_str()
        .with_context(|| format!("{} is not UTF-8: rename it", path.display()))?;
    Ok(path.to_owned())
}

fn offers(list: &str) -> Vec<String> {
    list.split(',')
        .map(str::trim)
        .filter(|offer| !offer.is_empty())
        .map(str::to_owned)
        .collect()
}

/// The exchange of the URL and the arguments; `None` for another protocol.
pub(super) fn tcp_exchange(args: &Args, target: &LoadUrl) -> anyhow::Result<Option<TcpExchange>> {
    if args.protocol.connect_only || args.protocol.handshakes {
        return Ok(None);
    }
    if target.is("tcp") {
        return Ok(Some(exchange(&args.tcp)));
    }
    match args.options.first_flag("TcpArgs") {
        Some(flag) => bail!(
            "{flag} is for TCP alone: write tcp://{0} or tls://{0}",
            target.host
        ),
        None => Ok(None),
    }
}

fn exchange(args: &TcpArgs) -> TcpExchange {
    let content = match args.any_content {
        true => TcpContent::Any,
        false => TcpContent::Pattern,
    };
    let send_bytes = args.send.map(|size| size.0);
    let expect_bytes = args.expect_size.map(|size| size.0);
    match (args.throughput, args.half_close) {
        (Some(direction), _) => TcpExchange::Throughput {
            direction,
            block_bytes: send_bytes.unwrap_or(BLOCK_BYTES),
        },
        (None, true) => TcpExchange::HalfClose {
            send_bytes: send_bytes.unwrap_or(SEND_BYTES),
            expect_bytes,
            content,
        },
        (None, false) => {
            let send_bytes = send_bytes.unwrap_or(SEND_BYTES);
            TcpExchange::Echo {
                send_bytes,
                expect_bytes: expect_bytes.unwrap_or(send_bytes),
                content,
            }
        }
    }
}

/// Data and operations of the URL and the arguments; `None` for another protocol.
pub(super) fn mongodb_load(
    args: &Args,
    target: &LoadUrl,
) -> anyhow::Result<Option<(MongoData, Vec<RequestSpec>)>> {
    if !target.is("mongodb") {
        return match args.options.first_flag("MongodbArgs") {
            Some(flag) => bail!(
                "{flag} is for MongoDB alone: write mongodb://{}/database.collection",
                target.host
            ),
            None => Ok(None),
        };
    }
    if args.protocol.connect_only || args.protocol.handshakes {
        return Ok(None);
    }
    Ok(Some((
        data(&args.mongodb, target)?,
        requests(&args.mongodb),
    )))
}

fn data(args: &MongodbArgs, target: &LoadUrl) -> anyhow::Result<MongoData> {
    let defaults = MongoData::default();
    let path = target.path.split('?').next().unwrap_or_default();
    let (database, collection) = match path.trim_start_matches('/') {
        "" => (defaults.database, defaults.collection),
        name => match name.split_once('.') {
            Some((database, collection)) if !database.is_empty() && !collection.is_empty() => {
                (database.to_owned(), collection.to_owned())
            }
            _ => bail!(
                "{}: {name} names no collection; write mongodb://{}/database.collection",
                target.url,
                target.host
            ),
        },
    };
    let document_bytes = match args.mongodb_document_size {
        Some(size) => u32::try_from(size.0).unwrap_or(u32::MAX),
        None => defaults.document_bytes,
    };
    Ok(MongoData {
        database,
        collection,
        documents: args.mongodb_documents.unwrap_or(defaults.documents),
        document_bytes,
    })
}

fn requests(args: &MongodbArgs) -> Vec<RequestSpec> {
    let only_find = vec![("find".to_owned(), 1.0)];
    let mix = args
        .mongodb_mix
        .as_ref()
        .map_or(only_find, |mix| mix.0.clone());
    let one = |(operation, weight): (String, f64)| RequestSpec {
        name: operation.clone(),
        weight,
        method: operation,
        path: "/".into(),
        headers: Vec::new(),
        body: Body::None,
        template: Default::default(),
        expect: Expect {
            status: ExpectStatus::Success,
            body: ExpectBody::Any,
        },
    };
    mix.into_iter().map(one).collect()
}
