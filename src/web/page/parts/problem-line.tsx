/** Why an action failed, in one line; nothing while it has not. */
export function ProblemLine({ problem }: { readonly problem?: string | undefined }) {
  if (problem === undefined) return null
  return (
    <p class="problem-line" role="alert">
      {problem}
    </p>
  )
}
