import { useState } from 'preact/hooks'
import { AgentDefaults } from '../agents/agent-defaults.tsx'
import { NewAgent } from '../agents/new-agent.tsx'
import { Link } from '../frame/link.tsx'
import { usePage } from '../frame/page-context.ts'
import { visibleName } from '../libero.ts'
import { useModel } from '../model/model.ts'
import { Empty } from '../parts/empty.tsx'
import { RelativeTime } from '../parts/relative-time.tsx'
import { SessionMark } from '../parts/session-mark.tsx'
import { Shown } from '../parts/shown.tsx'
import { useAnswer } from '../parts/use-answer.ts'
import '../agents/agents.css'

const examples = [
  'Keep the changelog up to date',
  'Look through the open issues every morning',
  'Watch the tests, and tell me when one begins to fail',
]

/** The agents of the workflow: those that live on between tasks. */
export function AgentsScreen() {
  const { client, sessions } = usePage()
  const [open, setOpen] = useState<'new' | 'defaults'>()
  const [message, setMessage] = useState<string>()
  const [closed, setClosed] = useState(false)
  const changes = useModel(sessions, (state) => state.sessions)
  const [limit, setLimit] = useState(100)
  const answer = useAnswer(() => client.agents.list({ limit, ...(closed && { closed }) }), [closed, limit, changes])
  const toggle = (part: NonNullable<typeof open>) => () => setOpen(open === part ? undefined : part)
  return (
    <section class="sheet">
      <div class="sheet-head">
        <h1>Agents</h1>
        <span class="row-buttons">
          <button type="button" aria-expanded={open === 'defaults'} onClick={toggle('defaults')}>
            Approval and retries
          </button>
          <button type="button" class="primary" aria-expanded={open === 'new'} onClick={toggle('new')}>
            New agent
          </button>
        </span>
      </div>
      {open === 'new' && <NewAgent key={message} {...(message !== undefined && { message })} />}
      {open === 'defaults' && (
        <section class="panel" aria-label="For all agents">
          <h2>For all agents</h2>
          <AgentDefaults />
        </section>
      )}
      <label class="check facts">
        <input type="checkbox" checked={closed} onChange={(event) => setClosed(event.currentTarget.checked)} />
        Closed ones too
      </label>
      <Shown answer={answer} what="agents">
        {({ agents, next }) =>
          agents.length === 0 ? (
            <Empty
              title="No agents yet"
              examples={open === 'new' ? [] : examples}
              onChoose={(example) => {
                setMessage(example)
                setOpen('new')
              }}
            >
              <p>An agent lives on between tasks: it keeps its messages, wakes on schedules and may make others.</p>
            </Empty>
          ) : (
            <>
              <ul class="session-list">
                {agents.map(({ id, title, status, definitionId, modified, closed: isClosed, isSubAgent }) => (
                  <li key={id}>
                    <Link to={{ screen: 'agent', id }}>
                      <SessionMark status={status} />
                      <span class="one-line">{visibleName(title ?? id)}</span>
                      <span class="facts">
                        {[visibleName(definitionId), isSubAgent && 'sub-agent', isClosed && 'closed']
                          .filter(Boolean)
                          .join(' · ')}
                      </span>
                      <RelativeTime at={modified} />
                    </Link>
                  </li>
                ))}
              </ul>
              {next !== undefined && (
                <button type="button" onClick={() => setLimit(limit + 100)}>
                  More agents
                </button>
              )}
            </>
          )
        }
      </Shown>
    </section>
  )
}
