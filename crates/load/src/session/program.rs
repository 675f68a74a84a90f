//! A compiled session: a flat list of operations with jumps, and its requests with their captures.

use std::sync::Arc;

use tare_record::load::session::{
    Branch, CaptureSource, Condition, Cookies, OnFailure, OnMissing, RequestStep, SessionStep,
    StepAction,
};
use tare_record::load::template::Delimiter;
use tare_record::load::{DataTable, SessionSpec};

use super::json::Pointer;
use crate::protocols::http1::codec::Keep;
use crate::protocols::http1::request::RequestError;
use crate::protocols::http1::templated::{TemplatedRequest, regex};
use crate::template::{Escaping, Names, Template, variable};

/// A compiled session.
#[derive(Debug)]
pub struct Program {
    pub(super) ops: Vec<Op>,
    pub(super) steps: Vec<CompiledRequest>,
    /// Names of the variables, by index.
    pub(super) variables: Vec<String>,
    /// Number of loop counters.
    pub(super) counters: usize,
    pub(super) cookies: Cookies,
    /// Number of cycles in its templates.
    pub cycles: usize,
}

/// A request of a session.
#[derive(Debug)]
pub(super) struct CompiledRequest {
    pub made: TemplatedRequest,
    pub captures: Vec<CaptureSpec>,
    /// Which part of the response head is kept.
    pub keep: Keep,
    /// Bytes of the body that captures need; 0 if none reads the body.
    pub body_bytes_max: u32,
    pub on_failure: OnFailure,
    /// Whether the request sets its `Cookie` header itself.
    pub own_cookies: bool,
    pub name: String,
}

#[derive(Debug)]
pub(super) struct CaptureSpec {
    pub variable: usize,
    pub name: Arc<str>,
    pub from: CompiledSource,
    pub missing: OnMissing,
}

#[derive(Debug)]
pub(super) enum CompiledSource {
    Body,
    Json(Pointer),
    JsonAll { pointer: Pointer, skip: u32 },
    Header(String),
    Cookie(String),
    Regex(regex::bytes::Regex),
}

#[derive(Debug)]
pub(super) enum Op {
    /// Jumps unless the random draw and the condition both hold.
    Unless {
        probability: f64,
        test: Option<Test>,
        to: usize,
    },
    Request(u16),
    Set {
        variable: usize,
        template: Template,
    },
    Think {
        from_ns: u64,
        to_ns: u64,
    },
    LoopBegin {
        counter: usize,
        least: u32,
        most: u32,
    },
    LoopTest {
        counter: usize,
        test: Option<Test>,
        to: usize,
    },
    EachBegin {
        counter: usize,
    },
    EachTest {
        counter: usize,
        item: usize,
        list: usize,
        to: usize,
    },
    Choose {
        sums: Vec<f64>,
        targets: Vec<usize>,
    },
    Jump(usize),
    End,
}

#[derive(Debug, Clone)]
pub(super) enum Test {
    Has(usize),
    HasNot(usize),
    Is { variable: usize, value: Vec<u8> },
}

/// Name and error of a request that cannot be sent.
pub type StepError = (String, RequestError);

impl Program {
    /// Compiles a session for a host.
    ///
    /// # Errors
    /// The first request that cannot be sent.
    pub fn new(spec: &SessionSpec, tables: &[DataTable], host: &str) -> Result<Self, StepError> {
        let mut compiler = Compiler {
            program: Program {
                ops: Vec::new(),
                steps: Vec::new(),
                variables: Vec::new(),
                counters: 0,
                cookies: spec.cookies,
                cycles: 0,
            },
            tables,
            host,
        };
        compiler.compile_steps(&spec.steps)?;
        compiler.program.ops.push(Op::End);
        Ok(compiler.program)
    }

    #[must_use]
    pub fn requests(&self) -> usize {
        self.steps.len()
    }
}

struct Compiler<'a> {
    program: Program,
    tables: &'a [DataTable],
    host: &'a str,
}

impl Compiler<'_> {
    fn compile_steps(&mut self, steps: &[SessionStep]) -> Result<(), StepError> {
        steps.iter().try_for_each(|step| self.compile_step(step))
    }

    fn compile_step(&mut self, step: &SessionStep) -> Result<(), StepError> {
        let test = step
            .condition
            .as_ref()
            .map(|condition| self.test(condition));
        let guard = (step.probability < 1.0 || test.is_some()).then(|| {
            let probability = step.probability;
            self.push(Op::Unless {
                probability,
                test,
                to: 0,
            })
        });
        self.compile_action(&step.action)?;
        if let Some(guard) = guard {
            self.patch_target(guard);
        }
        Ok(())
    }

    fn compile_action(&mut self, action: &StepAction) -> Result<(), StepError> {
        match action {
            StepAction::Request(step) => {
                let number = self.program.steps.len() as u16;
                let compiled = self.compile_request(step)?;
                self.program.steps.push(compiled);
                self.push(Op::Request(number));
            }
            StepAction::Set { values } => {
                for (name, text) in values {
                    let mut template = Template::default();
                    let mut names = names(self.tables, &mut self.program);
                    let added = template.add(text, Delimiter::Double, Escaping::Text, &mut names);
                    added.map_err(|error| (format!("set {name}"), error.into()))?;
                    let variable = self.variable(name);
                    self.push(Op::Set { variable, template });
                }
            }
            &StepAction::Think { from_ns, to_ns } => {
                self.push(Op::Think { from_ns, to_ns });
            }
            StepAction::Group { steps } => self.compile_steps(steps)?,
            StepAction::Loop {
                least,
                most,
                condition,
                steps,
            } => {
                let counter = self.counter();
                let (least, most) = (*least, *most);
                self.push(Op::LoopBegin {
                    counter,
                    least,
                    most,
                });
                let test = condition.as_ref().map(|condition| self.test(condition));
                let head = self.push(Op::LoopTest {
                    counter,
                    test,
                    to: 0,
                });
                self.loop_body(head, steps)?;
            }
            StepAction::Each { item, list, steps } => {
                let counter = self.counter();
                let (item, list) = (self.variable(item), self.variable(list));
                self.push(Op::EachBegin { counter });
                let head = self.push(Op::EachTest {
                    counter,
                    item,
                    list,
                    to: 0,
                });
                self.loop_body(head, steps)?;
            }
            StepAction::Choose { branches } => self.choose(branches)?,
        }
        Ok(())
    }

    /// Compiles the body of a loop, the jump back to its head, and the target of the head's exit.
    fn loop_body(&mut self, head: usize, steps: &[SessionStep]) -> Result<(), StepError> {
        self.compile_steps(steps)?;
        self.push(Op::Jump(head));
        self.patch_target(head);
        Ok(())
    }

    fn choose(&mut self, branches: &[Branch]) -> Result<(), StepError> {
        let mut sum = 0.0;
        let sums = branches.iter().map(|branch| {
            sum += branch.weight;
            sum
        });
        let sums = sums.collect();
        let choice = self.push(Op::Choose {
            sums,
            targets: Vec::new(),
        });
        let mut starts = Vec::new();
        let mut leaves = Vec::new();
        for branch in branches {
            starts.push(self.program.ops.len());
            self.compile_steps(&branch.steps)?;
            leaves.push(self.push(Op::Jump(0)));
        }
        for leave in leaves {
            self.patch_target(leave);
        }
        if let Op::Choose { targets, .. } = &mut self.program.ops[choice] {
            *targets = starts;
        }
        Ok(())
    }

    fn push(&mut self, op: Op) -> usize {
        self.program.ops.push(op);
        self.program.ops.len() - 1
    }

    /// Sets the target of a jump to the next operation.
    fn patch_target(&mut self, jump: usize) {
        let here = self.program.ops.len();
        match &mut self.program.ops[jump] {
            Op::Unless { to, .. }
            | Op::LoopTest { to, .. }
            | Op::EachTest { to, .. }
            | Op::Jump(to) => *to = here,
            _ => {}
        }
    }

    fn variable(&mut self, name: &str) -> usize {
        variable(&mut self.program.variables, name)
    }

    fn counter(&mut self) -> usize {
        self.program.counters += 1;
        self.program.counters - 1
    }

    fn test(&mut self, condition: &Condition) -> Test {
        match condition {
            Condition::Has(name) => Test::Has(self.variable(name)),
            Condition::HasNot(name) => Test::HasNot(self.variable(name)),
            Condition::Is { name, value } => Test::Is {
                variable: self.variable(name),
                value: value.clone().into_bytes(),
            },
        }
    }

    fn compile_request(&mut self, step: &RequestStep) -> Result<CompiledRequest, StepError> {
        let named = |error| (step.request.name.clone(), error);
        let mut names = names(self.tables, &mut self.program);
        let made = TemplatedRequest::new(&step.request, self.host, &mut names).map_err(named)?;
        let mut captures = Vec::new();
        for capture in &step.captures {
            let from = match &capture.from {
                CaptureSource::Body => CompiledSource::Body,
                CaptureSource::Json { pointer } => CompiledSource::Json(Pointer::new(pointer)),
                CaptureSource::JsonAll { pointer, skip } => CompiledSource::JsonAll {
                    pointer: Pointer::new(pointer),
                    skip: *skip,
                },
                CaptureSource::Header { name } => CompiledSource::Header(name.clone()),
                CaptureSource::Cookie { name } => CompiledSource::Cookie(name.clone()),
                CaptureSource::Regex { pattern } => {
                    CompiledSource::Regex(regex(pattern).map_err(named)?)
                }
            };
            captures.push(CaptureSpec {
                variable: self.variable(&capture.name),
                name: capture.name.as_str().into(),
                from,
                missing: capture.missing,
            });
        }
        let of_fields = captures
            .iter()
            .any(|c| matches!(c.from, CompiledSource::Header(_)));
        let of_cookies = captures
            .iter()
            .any(|c| matches!(c.from, CompiledSource::Cookie(_)));
        let of_body = captures.iter().any(|c| {
            !matches!(
                c.from,
                CompiledSource::Header(_) | CompiledSource::Cookie(_)
            )
        });
        Ok(CompiledRequest {
            made,
            keep: match (
                of_fields,
                of_cookies || self.program.cookies == Cookies::Kept,
            ) {
                (true, _) => Keep::Fields,
                (false, true) => Keep::Cookies,
                (false, false) => Keep::Nothing,
            },
            body_bytes_max: if of_body { step.capture_bytes_max } else { 0 },
            captures,
            on_failure: step.on_failure,
            own_cookies: step
                .request
                .headers
                .iter()
                .any(|(name, _)| name.eq_ignore_ascii_case("cookie")),
            name: step.request.name.clone(),
        })
    }
}

fn names<'a>(tables: &'a [DataTable], program: &'a mut Program) -> Names<'a> {
    Names {
        tables,
        variables: Some(&mut program.variables),
        cycles: &mut program.cycles,
    }
}
