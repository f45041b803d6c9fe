import { RemoteProblem } from '../libero.ts'
import { Empty } from '../parts/empty.tsx'
import { Failure } from '../parts/failure.tsx'

const examples = [
  'Explain what this project does, and where to begin reading.',
  'Run the tests and fix what fails.',
  'Find what is slow in src, and measure before you change it.',
]

export interface NothingYetProps {
  readonly onChoose: (text: string) => void
}

/** A session in which nothing was said yet. */
export function NothingYet({ onChoose }: NothingYetProps) {
  return (
    <div class="conversation-frame nothing-yet">
      <Empty title="Nothing was said yet." examples={examples} onChoose={onChoose}>
        <p>Write what is to be done. For example:</p>
      </Empty>
    </div>
  )
}

export interface GoneProps {
  readonly problem: unknown
}

/** A session that is not there, or cannot be read. */
export function Gone({ problem }: GoneProps) {
  const isMissing = problem instanceof RemoteProblem && problem.status === 404
  return (
    <section class="sheet">
      <h1>{isMissing ? 'There is no such session' : 'This session cannot be shown'}</h1>
      <Failure error={problem} todo="Go back to the list of sessions, or reload the page." />
    </section>
  )
}
