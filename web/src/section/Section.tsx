// A section of the page with its heading, and the small pieces that sections use.
import type { ComponentChildren, JSX } from "preact";

/** A section that the contents line can point at. */
export function Section(props: { id: string; title: string; lead?: string; tools?: ComponentChildren; children: ComponentChildren }): JSX.Element {
  return (
    <section id={props.id} aria-labelledby={`${props.id}-title`}>
      <header class="bar">
        <h2 id={`${props.id}-title`}>{props.title}</h2>
        {props.tools}
      </header>
      {props.lead !== undefined && <p class="lead">{props.lead}</p>}
      {props.children}
    </section>
  );
}

/** One of a few choices, as buttons that work with the arrow keys. */
export function Choice<T extends string>(props: {
  legend: string;
  name: string;
  options: readonly { value: T; label: string }[];
  value: T;
  choose: (value: T) => void;
}): JSX.Element {
  return (
    <fieldset class="choice">
      <legend>{props.legend}</legend>
      {props.options.map((option) => (
        <label key={option.value}>
          <input
            type="radio"
            name={props.name}
            value={option.value}
            checked={option.value === props.value}
            onChange={() => props.choose(option.value)}
          />
          <span>{option.label}</span>
        </label>
      ))}
    </fieldset>
  );
}

/** A table that scrolls within itself when the page is narrow. */
export function Table(props: { label: string; children: ComponentChildren; class?: string }): JSX.Element {
  return (
    <div class="scroll" role="group" aria-label={props.label} tabIndex={0}>
      <table class={props.class}>{props.children}</table>
    </div>
  );
}
