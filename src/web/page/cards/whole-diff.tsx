import { fullyVisible } from '../libero.ts'
import { DiffView } from '../parts/diff-view.tsx'

/** A diff that a person decides about: no line is folded, and no character is hidden. */
export function WholeDiff({ diff }: { readonly diff: string }) {
  return <DiffView diff={fullyVisible(diff, { lines: 'kept' })} most={Number.POSITIVE_INFINITY} />
}
