//! Templated requests: rendered for every exchange. And the check of their responses.

use std::sync::Arc;

use regex::bytes::Regex;
use tare_record::load::template::Delimiter;
use tare_record::load::{Body, Expect, ExpectBody, LoadPlan, RequestSpec, TemplateMode};

use super::body_scan::BodyScan;
use super::codec::{BodyCheck, ContentCoding, Head, RequestKind};
use super::mismatch::ResponseMismatch;
use super::request::{
    Expected, RequestError, body_bytes, body_check, check, default_headers, has_header, kind,
    method_expects_body,
};
use super::requests::{Outgoing, RequestSource};
use crate::client::DueExchange;
use crate::generator::PlanError;
use crate::template::{Escaping, Filler, FillerStart, Names, RenderContext, RenderError, Template};

/// Largest compiled regular expression.
const PATTERN_BYTES_MAX: usize = 1 << 20;

/// A request with placeholders.
#[derive(Debug, Clone)]
pub struct TemplatedRequest {
    /// Request line and configured headers.
    head: Template,
    /// Offset of a path that begins with a placeholder: the rendered value must begin with a slash.
    templated_path_at: Option<usize>,
    /// End of the head and the body, if the body has no placeholders.
    tail: Box<[u8]>,
    /// A body with placeholders.
    body: Option<Template>,
    /// Determines the framing of the response.
    pub kind: RequestKind,
    /// The expected response.
    pub check: ResponseCheck,
}

/// The expected response.
#[derive(Debug, Clone)]
pub struct ResponseCheck {
    expected: Expected,
    pattern: Option<(Regex, u32)>,
}

impl ResponseCheck {
    fn new(expect: &Expect) -> Result<Self, RequestError> {
        let mut pattern = None;
        let body = match &expect.body {
            ExpectBody::Matches {
                pattern: text,
                match_limit_bytes,
            } => {
                pattern = Some((regex(text)?, *match_limit_bytes));
                BodyCheck::Anything
            }
            _ => body_check(expect)?,
        };
        Ok(Self {
            expected: Expected {
                status: expect.status.clone(),
                body,
            },
            pattern,
        })
    }

    /// The expected body.
    #[must_use]
    pub fn body(&self) -> &BodyCheck {
        &self.expected.body
    }

    /// Bytes of the body that the check needs: those that the pattern is matched against, and an encoded body that must equal
    /// another one.
    #[must_use]
    pub fn keep_bytes(&self, coding: ContentCoding) -> usize {
        match (&self.pattern, &self.expected.body) {
            (Some((_, bytes)), _) => *bytes as usize,
            (None, BodyCheck::Exact(body)) if coding != ContentCoding::Identity => body.len(),
            (None, _) => 0,
        }
    }

    /// Checks a complete response.
    ///
    /// # Errors
    /// The first difference from what is expected.
    #[inline]
    pub fn judge(&self, scan: &mut BodyScan, status: u16) -> Result<(), ResponseMismatch> {
        if !self.expected.status.accepts(status) {
            return Err(ResponseMismatch::Status(status));
        }
        if self.keep_bytes(scan.coding()) > 0 {
            scan.decode(&self.expected.body)?;
        }
        scan.finish(&self.expected.body)?;
        if let Some((pattern, match_limit_bytes)) = &self.pattern {
            let seen = &scan.kept[..scan.kept.len().min(*match_limit_bytes as usize)];
            if !pattern.is_match(seen) {
                return Err(ResponseMismatch::NoMatch {
                    match_limit_bytes: *match_limit_bytes,
                });
            }
        }
        Ok(())
    }
}

/// Compiles a regular expression, with a size limit.
///
/// # Errors
/// When it is not valid, or too large.
pub fn regex(pattern: &str) -> Result<Regex, RequestError> {
    regex::bytes::RegexBuilder::new(pattern)
        .size_limit(PATTERN_BYTES_MAX)
        .build()
        .map_err(|error| RequestError::Pattern {
            pattern: pattern.to_owned(),
            why: error.to_string(),
        })
}

impl TemplatedRequest {
    /// Prepares a request to a host.
    ///
    /// # Errors
    /// When a part contains characters that it cannot have on the wire, or a placeholder is not valid.
    pub fn new(
        spec: &RequestSpec,
        host: &str,
        names: &mut Names<'_>,
    ) -> Result<Self, RequestError> {
        check(spec, host)?;
        let mut head = Template::default();
        head.text(format!("{} ", spec.method).as_bytes());
        add(&mut head, &spec.path, spec.template, Escaping::Path, names)?;
        head.text(b" HTTP/1.1\r\n");
        let mut own = String::new();
        default_headers(spec, host, &mut own);
        head.text(own.as_bytes());
        for (name, value) in &spec.headers {
            head.text(format!("{name}: ").as_bytes());
            add(&mut head, value, spec.template, Escaping::Header, names)?;
            head.text(b"\r\n");
        }
        let body = body(spec, names)?;
        let mut tail = Vec::new();
        if let Some(fixed) = body.fixed() {
            if method_expects_body(spec) || !fixed.is_empty() {
                tail.extend_from_slice(format!("Content-Length: {}\r\n", fixed.len()).as_bytes());
            }
            tail.extend_from_slice(b"\r\n");
            tail.extend_from_slice(fixed);
        }
        Ok(Self {
            head,
            templated_path_at: (!spec.path.starts_with(['/', '*']))
                .then_some(spec.method.len() + 1),
            tail: tail.into_boxed_slice(),
            body: body.fixed().is_none().then_some(body),
            kind: kind(spec),
            check: ResponseCheck::new(&spec.expect)?,
        })
    }

    /// Renders the whole request into `out`, which is cleared first. `fields` is given the head written so far and may add
    /// header lines, each with its line break.
    ///
    /// # Errors
    /// When a variable has no value, or one that is not valid in its position.
    pub fn write(
        &self,
        scene: &mut RenderContext<'_>,
        fields: impl FnOnce(&[u8], &mut Vec<u8>),
        scratch: &mut Vec<u8>,
        out: &mut Vec<u8>,
    ) -> Result<(), RenderError> {
        out.clear();
        self.head.render(scene, out)?;
        if let Some(at) = self.templated_path_at
            && out.get(at) != Some(&b'/')
        {
            return Err(RenderError::Unsendable("path".into()));
        }
        scratch.clear();
        fields(out.as_slice(), scratch);
        out.extend_from_slice(scratch);
        match &self.body {
            None => out.extend_from_slice(&self.tail),
            Some(body) => {
                scratch.clear();
                body.render(scene, scratch)?;
                out.extend_from_slice(b"Content-Length: ");
                crate::template::put_number(scratch.len() as u64, out);
                out.extend_from_slice(b"\r\n\r\n");
                out.extend_from_slice(scratch);
            }
        }
        Ok(())
    }
}

fn add(
    template: &mut Template,
    text: &str,
    mode: TemplateMode,
    escaping: Escaping,
    names: &mut Names<'_>,
) -> Result<(), RequestError> {
    match mode {
        TemplateMode::None => template.text(&escaping.own_text(text)),
        TemplateMode::Random => template.add(text, Delimiter::Single, escaping, names)?,
        TemplateMode::Session => template.add(text, Delimiter::Double, escaping, names)?,
    }
    Ok(())
}

fn body(spec: &RequestSpec, names: &mut Names<'_>) -> Result<Template, RequestError> {
    let mut body = Template::default();
    match &spec.body {
        Body::None => {}
        Body::Text { text } => add(&mut body, text, spec.template, Escaping::Text, names)?,
        Body::Json { text } => add(&mut body, text, spec.template, Escaping::Json, names)?,
        Body::Form { fields } => {
            for (at, (name, value)) in fields.iter().enumerate() {
                if at > 0 {
                    body.text(b"&");
                }
                body.text(&Escaping::Form.own_text(name));
                body.text(b"=");
                add(&mut body, value, spec.template, Escaping::Form, names)?;
            }
        }
        fixed @ (Body::Base64 { .. } | Body::Messages { .. } | Body::Filler { .. }) => {
            body.text(&body_bytes(fixed)?)
        }
    }
    Ok(body)
}

/// Templated requests of one worker, outside of sessions: rendered one after the other into the same buffer.
#[derive(Debug)]
pub struct TemplatedRequests {
    requests: Arc<[TemplatedRequest]>,
    filler: Filler,
    rows: Vec<u32>,
    body: Vec<u8>,
    bytes: Vec<u8>,
}

impl TemplatedRequests {
    /// The requests of one worker.
    #[must_use]
    pub fn new(requests: Arc<[TemplatedRequest]>, filler: Filler) -> Self {
        Self {
            rows: vec![0; filler.tables().len()],
            requests,
            filler,
            body: Vec::new(),
            bytes: Vec::new(),
        }
    }

    #[inline]
    fn at(&self, due: DueExchange) -> &TemplatedRequest {
        &self.requests[due.request as usize % self.requests.len()]
    }
}

impl RequestSource for TemplatedRequests {
    type Progress = BodyScan;

    const READS_HEADS: bool = true;

    #[inline]
    fn outgoing(&mut self, due: DueExchange) -> Outgoing<'_> {
        for table in 0..self.rows.len() {
            self.rows[table] = self.filler.take_row(table);
        }
        let request = &self.requests[due.request as usize % self.requests.len()];
        let mut scene = RenderContext {
            filler: &mut self.filler,
            rows: &self.rows,
            variables: &[],
        };
        let written = request.write(&mut scene, |_, _| {}, &mut self.body, &mut self.bytes);
        // All values were checked when the template was compiled, and there are no variables.
        assert!(written.is_ok(), "a plain request can always be filled");
        Outgoing {
            bytes: &self.bytes,
            kind: request.kind,
        }
    }

    #[inline]
    fn restart(scan: &mut BodyScan) {
        scan.restart();
    }

    #[inline]
    fn head(&mut self, _due: DueExchange, scan: &mut BodyScan, head: &Head, _kept: &[u8]) {
        scan.begin(head.coding);
    }

    #[inline]
    fn body(&mut self, due: DueExchange, scan: &mut BodyScan, slice: &[u8]) {
        let check = &self.at(due).check;
        scan.push(&check.expected.body, check.keep_bytes(scan.coding()), slice);
    }

    #[inline]
    fn judge(
        &mut self,
        due: DueExchange,
        scan: &mut BodyScan,
        status: u16,
        _seen_ns: u64,
    ) -> Result<(), ResponseMismatch> {
        self.at(due).check.judge(scan, status)
    }
}

/// Whether any request cannot be prepared in advance, or the body of its response must be kept: for a pattern, or to decode it
/// before it is compared.
pub(super) fn is_needed(requests: &[RequestSpec]) -> bool {
    requests.iter().any(|request| {
        let decoded = || has_header(request, "accept-encoding");
        request.template != TemplateMode::None
            || match &request.expect.body {
                ExpectBody::Matches { .. } => true,
                ExpectBody::Text(_) | ExpectBody::Base64(_) => decoded(),
                ExpectBody::Any | ExpectBody::Length(_) => false,
            }
    })
}

/// Compiles the requests of a plan; the function makes those of a worker.
///
/// # Errors
/// When a request cannot be sent.
pub(super) fn compile(
    plan: &LoadPlan,
    workers: u32,
) -> Result<impl Fn(u32) -> TemplatedRequests, PlanError> {
    let mut start = FillerStart::of(plan);
    let mut requests = Vec::new();
    for spec in &plan.load.requests {
        let mut names = Names {
            tables: &plan.load.mix.tables,
            variables: None,
            cycles: &mut start.cycles,
        };
        let request = TemplatedRequest::new(spec, &plan.endpoint.host, &mut names);
        requests.push(request.map_err(|why| PlanError::request(&spec.name, &why))?);
    }
    let requests: Arc<[TemplatedRequest]> = requests.into();
    Ok(move |worker| TemplatedRequests::new(Arc::clone(&requests), start.filler(worker, workers)))
}
