import type { RemoteExplanation } from '../libero.ts'

type VerdictName = RemoteExplanation['verdict']

const marks: Readonly<Record<VerdictName, readonly [mark: string, kind: string, words: string]>> = {
  allow: ['✓', 'good', 'allowed'],
  ask: ['?', 'waits', 'asks you'],
  deny: ['⊘', 'bad', 'denied'],
}

/** What the rules say about a call, as a mark with a word. */
export function VerdictTag({ verdict }: { readonly verdict: VerdictName }) {
  const [mark, kind, words] = marks[verdict]
  return (
    <span class="tag" data-kind={kind}>
      {`${mark} ${words}`}
    </span>
  )
}
