import { RemoteProblem } from '../libero.ts'

/** What failed, why, and what to do. */
export function Failure({ error, todo }: { readonly error: unknown; readonly todo: string }) {
  const why = error instanceof RemoteProblem ? error.detail : error instanceof Error ? error.message : String(error)
  return (
    <div class="failure" role="alert">
      <p>{why}</p>
      <p>{todo}</p>
    </div>
  )
}
