import type { ComponentChildren } from 'preact'

interface WideTableProps {
  readonly label: string
  /** Of the columns; the first one names the row, the others are numbers unless they are in `texts`. */
  readonly head: readonly string[]
  readonly texts?: readonly string[]
  readonly children: ComponentChildren
}

/** A table that is scrolled where it is wider than the screen, also with the keyboard. */
export function WideTable({ label, head, texts = [], children }: WideTableProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it is scrolled with the keyboard
    <section class="table-scroll" tabIndex={0} aria-label={label}>
      <table class="table">
        <thead>
          <tr>
            {head.map((name, i) => (
              <th key={name} scope="col" class={i === 0 || texts.includes(name) ? '' : 'number'}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </section>
  )
}
