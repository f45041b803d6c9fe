import { useState } from 'preact/hooks'
import { usePage } from '../frame/page-context.ts'
import { type RemoteRollback, visibleName } from '../libero.ts'
import { ConfirmButton } from '../parts/confirm-button.tsx'
import { ProblemLine } from '../parts/problem-line.tsx'
import { Shown } from '../parts/shown.tsx'
import { useAction } from '../parts/use-action.ts'
import { useAnswer } from '../parts/use-answer.ts'

/** What a rollback of a turn would do to files, then what it did, with a way back. */
export function RollbackOffer({ agent, message }: { readonly agent: string; readonly message: string }) {
  const { client } = usePage()
  const plan = useAnswer(() => client.agents.planRollback(agent, message), [agent, message])
  const { isBusy, problem, run } = useAction()
  const [done, setDone] = useState<RemoteRollback>()
  const act = (work: () => Promise<RemoteRollback>): void => void run(async () => setDone(await work()))
  if (done)
    return (
      <div class="panel">
        <Paths words="Restored" paths={done.restored} />
        <Paths words="Deleted" paths={done.deleted} />
        <Paths words="Left as they are" paths={[...done.conflicts.map(({ path }) => path), ...done.failed]} />
        <button type="button" disabled={isBusy} onClick={() => act(() => client.agents.undoRollback(agent, message))}>
          Undo
        </button>
        <ProblemLine problem={problem} />
      </div>
    )
  return (
    <div class="panel">
      <Shown answer={plan} what="rollbacks">
        {({ restore, delete: remove, conflicts }) => (
          <>
            {restore.length + remove.length + conflicts.length === 0 && <p class="facts">No file was changed since.</p>}
            <Paths words="Would restore" paths={restore} />
            <Paths words="Would delete" paths={remove} />
            <Paths
              words="Changed by others since, left as they are"
              paths={conflicts.map(({ path, why }) => `${path}: ${why}`)}
            />
            {restore.length + remove.length > 0 && (
              <ConfirmButton
                label="Roll back"
                sure="Roll back now"
                disabled={isBusy}
                onConfirm={() => act(() => client.agents.rollback(agent, message))}
              />
            )}
          </>
        )}
      </Shown>
      <ProblemLine problem={problem} />
    </div>
  )
}

function Paths({ words, paths }: { readonly words: string; readonly paths: readonly string[] }) {
  if (paths.length === 0) return null
  return (
    <p class="facts">
      {`${words}: `}
      {paths.map(visibleName).join(', ')}
    </p>
  )
}
