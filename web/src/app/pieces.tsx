// What all views are made of: title, states of what is loaded, buttons that ask the server, questions before something is lost.
import { signal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { ServerInfo } from "../api";
import { Gone, reason } from "./client";
import type { Resource } from "./resource";

/** The server, once it is known. */
export const server = signal<ServerInfo | null>(null);

/** Whether things can be started, stopped, deleted and imported. */
export function mayChange(): boolean {
  return server.value?.read_only === false;
}

/** Style that comes with the views that need it, not with the list of runs. */
export function adopt(style: string): void {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(style);
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
}

/** The heading of a view, and what can be done there. `name` is for the browser's window. */
export function Heading({ title, name, lead, tools }: { title: ComponentChildren; name: string; lead?: ComponentChildren; tools?: ComponentChildren }): JSX.Element {
  useTitle(name);
  return (
    <header class="heading">
      <div class="bar">
        <h1>{title}</h1>
        {tools !== undefined && <div class="tools">{tools}</div>}
      </div>
      {lead !== undefined && <p class="question">{lead}</p>}
    </header>
  );
}

/** Names the browser's window. */
export function useTitle(name: string): void {
  useEffect(() => {
    document.title = `${name} · Tare`;
  }, [name]);
}

/** What cannot be shown, and why. */
export function Problem({ children, again }: { children: ComponentChildren; again?: () => void }): JSX.Element {
  return (
    <p class="caution" role="alert">
      <b aria-hidden="true">▲</b> {children} {again !== undefined && <button type="button" onClick={again}>Try again</button>}
    </p>
  );
}

/** Something that is loaded: a word while it is, why it is not, or what is made of it. */
export function Await<T>({ of, what, back, children }: { of: Resource<T>; what: string; back?: JSX.Element; children: (data: T) => ComponentChildren }): JSX.Element {
  if (of.isMissing) {
    return (
      <>
        <Heading title="Not found" name="Not found" />
        <p class="none">There is no such {what}: it was deleted, the address is wrong, or it cannot be read now. {back ?? <a href="/">All runs</a>}</p>
      </>
    );
  }
  return (
    <>
      {of.problem !== null && <Problem again={of.reload}>{of.problem}</Problem>}
      {of.data !== null ? children(of.data) : of.problem === null && <p class="none" role="status">Loading the {what} …</p>}
    </>
  );
}

/** Something that is asked of the server, and how that went. */
export interface Action {
  isBusy: boolean;
  problem: string | null;
  run: (action: () => Promise<void>) => void;
}

/** An action of a button or a form. */
export function useAction(): Action {
  const [state, setState] = useState<{ isBusy: boolean; problem: string | null }>({ isBusy: false, problem: null });
  const run = (action: () => Promise<void>) => {
    setState({ isBusy: true, problem: null });
    action().then(
      () => setState({ isBusy: false, problem: null }),
      (error: unknown) => setState({ isBusy: false, problem: error instanceof Gone ? "The server does not answer: nothing was changed as far as this page knows." : reason(error) }),
    );
  };
  return { ...state, run };
}

/** A button that asks the server for something. */
export function Do({ action, run, children, strong = false, ...rest }: {
  action: Action; run: () => Promise<void>; children: ComponentChildren; strong?: boolean; title?: string; disabled?: boolean;
}): JSX.Element {
  return (
    <button type="button" class={strong ? "strong" : "plain"} disabled={action.isBusy || rest.disabled === true} title={rest.title} onClick={() => action.run(run)}>
      {children}
    </button>
  );
}

/** Asks before something is done, with the fields that it needs. */
export function Confirm({ title, yes, onYes, onNo, action, isBlocked = false, isWide = false, no = "Cancel", extra, children }: {
  title: string; yes: string; onYes: () => Promise<void>; onNo: () => void; action: Action; isBlocked?: boolean; isWide?: boolean; no?: string; extra?: ComponentChildren; children: ComponentChildren;
}): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const opener = document.activeElement;
    dialog.current?.showModal();
    return () => {
      // A dialog that is taken away without being closed gives the focus to nobody.
      if (opener instanceof HTMLElement) queueMicrotask(() => document.activeElement === document.body && opener.focus());
    };
  }, []);
  return (
    <dialog ref={dialog} class={isWide ? "broad" : undefined} onClose={onNo} aria-labelledby="confirm-title">
      <h2 id="confirm-title">{title}</h2>
      <form
        class="form" onSubmit={(event) => {
          event.preventDefault();
          if (!isBlocked && !action.isBusy) action.run(onYes);
        }}
      >
        {children}
        {action.problem !== null && <Problem>{action.problem}</Problem>}
        <div class="tools">
          {extra}
          <button type="button" class="plain" onClick={() => dialog.current?.close()}>{no}</button>
          <button type="submit" class="strong" disabled={isBlocked || action.isBusy}>{action.isBusy ? "Waiting …" : yes}</button>
        </div>
      </form>
    </dialog>
  );
}

/** Chooses a file and gives it away. */
export function FileButton({ label, accept, take, disabled }: { label: string; accept: string; take: (file: File) => void; disabled?: boolean }): JSX.Element {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <button type="button" class="plain" disabled={disabled} onClick={() => input.current?.click()}>{label}</button>
      <input
        ref={input} type="file" accept={accept} class="hidden" tabIndex={-1} aria-hidden="true"
        onChange={(event) => {
          const file = event.currentTarget.files?.[0];
          // So that the same file can be chosen again after an error.
          event.currentTarget.value = "";
          if (file !== undefined) take(file);
        }}
      />
    </>
  );
}

/** Downloads what is at an address. */
export function download(href: string): void {
  const link = document.createElement("a");
  link.href = href;
  link.download = "";
  link.click();
}

/** Rows that are drawn at once, and how many more each time when the end of them comes into sight. */
const ROWS = { first: 60, more: 100 };

/** A long list, drawn as far as the reader has come; from the start again when `of`, what it is a list of, changes. */
export function Growing<T>({ all, of, row, look = "run-list" }: { all: readonly T[]; of: string; row: (item: T) => JSX.Element; look?: string }): JSX.Element {
  const [shown, setShown] = useState({ of, rows: ROWS.first });
  const end = useRef<HTMLButtonElement>(null);
  const rows = shown.of === of ? shown.rows : ROWS.first;
  const more = () => setShown({ of, rows: rows + ROWS.more });
  useEffect(() => {
    const button = end.current;
    if (button === null) return;
    const observer = new IntersectionObserver((seen) => seen.some((one) => one.isIntersecting) && more(), { rootMargin: "1500px" });
    observer.observe(button);
    return () => observer.disconnect();
  }, [of, rows, all.length > rows]);
  return (
    <>
      <ul class={look}>{all.slice(0, rows).map(row)}</ul>
      {all.length > rows && <button type="button" class="plain" ref={end} onClick={more}>Show more</button>}
    </>
  );
}

/** A view whose code is fetched when it is first shown. */
export function Lazy<P extends object>({ load, props, what }: { load: () => Promise<(props: P) => JSX.Element | null>; props: P; what: string }): JSX.Element {
  const [view, setView] = useState<{ draw: ((props: P) => JSX.Element | null) | null; problem: string | null; asked: number }>({ draw: null, problem: null, asked: 0 });
  useEffect(() => {
    let isHere = true;
    load().then(
      (draw) => isHere && setView((before) => ({ ...before, draw, problem: null })),
      (error: unknown) => isHere && setView((before) => ({ ...before, problem: reason(error) })),
    );
    return () => {
      isHere = false;
    };
  }, [view.asked]);
  if (view.problem !== null) return <Problem again={() => location.reload()}>{`The ${what} cannot be loaded: ${view.problem}`}</Problem>;
  const Draw = view.draw;
  return Draw === null ? <p class="none" role="status">Loading …</p> : <Draw {...props} />;
}
