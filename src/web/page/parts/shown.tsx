import type { ComponentChildren } from 'preact'
import { RemoteProblem } from '../libero.ts'
import { Failure } from './failure.tsx'
import { Skeleton } from './skeleton.tsx'
import type { Answer } from './use-answer.ts'

interface ShownProps<T> {
  readonly answer: Answer<T>
  /** What is read, as in "This server does not offer agents." */
  readonly what: string
  readonly children: (value: T) => ComponentChildren
}

/** An answer of the server in each of its states: being read, there, refused, or not offered by this server; or there and not read anew. */
export function Shown<T>({ answer: { value, error, again }, what, children }: ShownProps<T>) {
  if (value === undefined && error === undefined) return <Skeleton lines={4} />
  return (
    <>
      {error !== undefined && <NotRead error={error} again={again} what={what} />}
      {value !== undefined && children(value)}
    </>
  )
}

function NotRead({ error, again, what }: Pick<Answer<unknown>, 'error' | 'again'> & { readonly what: string }) {
  if (error instanceof RemoteProblem && (error.status === 501 || error.code === 'no_route'))
    return <p class="facts">{`This server does not offer ${what}.`}</p>
  if (error instanceof RemoteProblem && error.status === 403)
    return <p class="facts">{`Your token may not see ${what}: ${error.detail}`}</p>
  return <Failure error={error} todo={`The ${what} could not be read.`} again={again} />
}
