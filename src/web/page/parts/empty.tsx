import type { ComponentChildren } from 'preact'

interface EmptyProps {
  readonly title: string
  /** Some things to begin with, each of which is done by `onChoose`. */
  readonly examples?: readonly string[]
  readonly onChoose?: (example: string, index: number) => void
  readonly children?: ComponentChildren
}

/** A screen without content: it says so, and what the person can do. */
export function Empty({ title, examples = [], onChoose, children }: EmptyProps) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children}
      {examples.length > 0 && (
        <div class="examples">
          {examples.map((example, i) => (
            <button key={example} type="button" onClick={() => onChoose?.(example, i)}>
              {example}
            </button>
          ))}
        </div>
      )}
    </div>
  )
}
