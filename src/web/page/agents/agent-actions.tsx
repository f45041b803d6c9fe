import { usePage } from '../frame/page-context.ts'
import { navigate } from '../frame/router.ts'
import type { RemoteAgentInstance, RemoteAgentState } from '../libero.ts'
import { ConfirmButton } from '../parts/confirm-button.tsx'
import { ProblemLine } from '../parts/problem-line.tsx'
import { useAction } from '../parts/use-action.ts'

interface AgentActionsProps {
  readonly agent: RemoteAgentInstance & RemoteAgentState
  readonly onChanged: () => void
}

/** Stops, closes or deletes an agent. */
export function AgentActions({ agent: { id, closed, status }, onChanged }: AgentActionsProps) {
  const { client, base, sessions } = usePage()
  const { isBusy, problem, run } = useAction()
  const act = async (work: () => Promise<void>): Promise<void> => {
    if (await run(work)) onChanged()
  }
  const remove = async (): Promise<void> => {
    if (!(await run(() => client.agents.delete(id)))) return
    sessions.forget(id)
    navigate(base, { screen: 'agents' })
  }
  const isAtWork = status.state === 'working' || status.state === 'input-required' || status.state === 'submitted'
  return (
    <span class="row-buttons">
      {isAtWork && (
        <button type="button" disabled={isBusy} onClick={() => act(() => client.agents.stop(id))}>
          Stop
        </button>
      )}
      {!closed && (
        <ConfirmButton
          label="Close"
          sure="Close for good"
          disabled={isBusy}
          onConfirm={() => act(() => client.agents.close(id))}
        />
      )}
      <ConfirmButton label="Delete" sure="Delete for good" disabled={isBusy} onConfirm={remove} />
      <ProblemLine problem={problem} />
    </span>
  )
}
