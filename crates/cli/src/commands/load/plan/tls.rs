//! The transport of the arguments: TCP or TLS.

use std::path::Path;

use anyhow::{Context, bail};
use tare_schema::load::{Identity, Resumption, TlsSpec, TlsVersion, Transport, Trust};

use super::super::args::{Args, Resume, TlsArgs, TlsVersionArg};
use super::super::target::LoadUrl;

/// The transport of the URL and the arguments.
pub(super) fn transport(args: &Args, target: &LoadUrl) -> anyhow::Result<Transport> {
    let tls = &args.tls;
    if !target.is_secure {
        let given = given(tls).or(args.protocol.handshakes.then_some("--handshakes"));
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
        (_, true) => Trust::Anybody,
        (Some(path), false) => Trust::File { path: text(path)? },
        (None, false) => Trust::System,
    };
    let identity = match (&tls.cert, &tls.key) {
        (Some(certificate), Some(key)) => Some(Identity {
            certificate: text(certificate)?,
            key: text(key)?,
        }),
        _ => None,
    };
    Ok(Transport::Tls(TlsSpec {
        trust,
        identity,
        server_name: tls.sni.clone(),
        alpn: tls.alpn.as_deref().map(offers),
        oldest: version(tls.tls_min),
        newest: version(tls.tls_max),
        resumption: match tls.tls_resume {
            Resume::On => Resumption::On,
            Resume::Off => Resumption::Off,
        },
    }))
}

/// The first given flag that is for TLS only.
fn given(tls: &TlsArgs) -> Option<&'static str> {
    let flags = [
        (tls.cacert.is_some(), "--cacert"),
        (tls.insecure, "--insecure"),
        (tls.cert.is_some(), "--cert"),
        (tls.sni.is_some(), "--sni"),
        (tls.alpn.is_some(), "--alpn"),
        (tls.tls_resume == Resume::On, "--tls-resume"),
    ];
    flags
        .iter()
        .find(|(given, _)| *given)
        .map(|(_, flag)| *flag)
}

fn text(path: &Path) -> anyhow::Result<String> {
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

fn version(version: TlsVersionArg) -> TlsVersion {
    match version {
        TlsVersionArg::V1_2 => TlsVersion::V1_2,
        TlsVersionArg::V1_3 => TlsVersion::V1_3,
    }
}
