import { wordsOf } from './use-action.ts'

interface FailureProps {
  readonly error: unknown
  readonly todo: string
  /** Tries again. */
  readonly again?: () => void
}

/** What failed, why, and what to do. */
export function Failure({ error, todo, again }: FailureProps) {
  return (
    <div class="failure" role="alert">
      <p>{wordsOf(error)}</p>
      <p>{todo}</p>
      {again && (
        <button type="button" onClick={again}>
          Try again
        </button>
      )}
    </div>
  )
}
