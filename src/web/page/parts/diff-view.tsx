import { fullyVisible } from '../libero.ts'

/** A unified diff, line by line. */
export function DiffView({ diff }: { readonly diff: string }) {
  return (
    <pre class="diff">
      {fullyVisible(diff, { lines: 'kept' })
        .split('\n')
        .map((line, i) => (
          <span key={i} data-kind={kinds[line[0] ?? '']}>{`${line}\n`}</span>
        ))}
    </pre>
  )
}

const kinds: Readonly<Record<string, string>> = { '+': 'added', '-': 'removed', '@': 'place' }
