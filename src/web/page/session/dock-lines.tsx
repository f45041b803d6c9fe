import { useEffect, useState } from 'preact/hooks'
import { usePage } from '../frame/page-context.ts'
import { formatDuration, pluralize, visibleName, visibleText } from '../libero.ts'
import { useModel } from '../model/model.ts'
import { wordsOf } from '../parts/use-action.ts'
import { useOpened, useSessionScreen } from './session-context.ts'

/** What the agent does, its list of steps, its jobs, and what the page said last. */
export function DockLines() {
  return (
    <>
      <SaidLine />
      <StateLine />
      <Todos />
      <Jobs />
    </>
  )
}

/** What the page said last. */
export function SaidLine() {
  const { said } = useSessionScreen()
  const now = useModel(said)
  if (!now) return null
  return (
    <div class={now.isBad ? 'dock-line said is-bad' : 'dock-line said'} role={now.isBad ? 'alert' : 'status'}>
      <p class="plain">{visibleText(now.text)}</p>
      {now.action && (
        <button type="button" class="quiet" onClick={now.action.run}>
          {now.action.label}
        </button>
      )}
      <button type="button" class="quiet" aria-label="Close" onClick={() => said.set(undefined)}>
        ✕
      </button>
    </div>
  )
}

/** One line: works, tries again, was interrupted, is parked. */
function StateLine() {
  const { client, sessions } = usePage()
  const { session, said } = useSessionScreen()
  const run = useModel(session, ({ view }) => view.run)
  const retry = useModel(session, ({ view }) => view.retry)
  const isWithoutDeltas = useModel(session, (state) => state.isWithoutDeltas)
  const listed = useModel(sessions, (all) => all.sessions?.find(({ id }) => id === session.id)?.status)
  const status = useModel(session, ({ summary }) => summary?.status)
  const now = listed ?? status
  const act = (work: () => Promise<unknown>) => (): void =>
    void work().catch((error: unknown) => said.set({ text: wordsOf(error), isBad: true }))
  if (now === 'parked')
    return (
      <p class="dock-line is-bad">
        <span>✗ Parked after crashes: no run may begin.</span>
        <button type="button" class="quiet" onClick={act(() => client.sessions.unpark(session.id))}>
          Let it run
        </button>
      </p>
    )
  if (now === 'interrupted')
    return (
      <p class="dock-line">
        <span>· The run was interrupted; nothing of it is lost.</span>
        <button type="button" class="quiet" onClick={act(() => client.continue(session.id))}>
          Continue
        </button>
      </p>
    )
  if (retry)
    return (
      <p class="dock-line">{`· The model call failed: ${visibleText(retry.reason)}. Try ${retry.attempt + 1}${
        retry.delayMs === undefined ? '' : ` in ${formatDuration(retry.delayMs)}`
      }.`}</p>
    )
  if (!run || now === 'waiting') return null
  return (
    <p class="dock-line">
      <WorksSince at={run.startedAt} />
      {isWithoutDeltas && (
        <span class="facts">It runs in another program: its text comes here when each reply is complete.</span>
      )}
    </p>
  )
}

function WorksSince({ at }: { readonly at: number }) {
  const [now, setNow] = useState(Date.now)
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000)
    return () => clearInterval(timer)
  }, [])
  const seconds = Math.floor(Math.max(0, now - at) / 1000)
  return <span class="works">{`works · ${formatDuration(seconds * 1000).replace('.0 s', ' s')}`}</span>
}

function Todos() {
  const { session } = useSessionScreen()
  const todos = useModel(session, ({ view }) => view.todos)
  const [isOpen, toggle] = useOpened('todos')
  const done = todos.filter(({ status }) => status === 'completed').length
  if (todos.length === 0 || done === todos.length) return null
  const current =
    todos.find(({ status }) => status === 'in_progress') ?? todos.find(({ status }) => status === 'pending')
  return (
    <div class="dock-todos">
      <button type="button" class="fold" aria-expanded={isOpen} onClick={toggle}>
        <span class="chevron" aria-hidden="true">
          {isOpen ? '▾' : '▸'}
        </span>
        {`todo ${done + 1} of ${todos.length}${current && !isOpen ? `: ${visibleName(current.content)}` : ''}`}
      </button>
      {isOpen && (
        <ul>
          {todos.map(({ content, status }, i) => (
            <li key={i} class={`todo-${status}`}>
              <span class="mark" role="img" aria-label={status.replace('_', ' ')}>
                {status === 'completed' ? '☑' : '☐'}
              </span>
              {visibleName(content)}
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}

function Jobs() {
  const { session } = useSessionScreen()
  const jobs = useModel(session, ({ view }) => view.jobs)
  if (jobs.length === 0) return null
  return (
    <p class="dock-line facts one-line">
      {`${pluralize(jobs.length, 'job')} in the background: ${jobs.map(({ job, command }) => `${job} ${visibleName(command)}`).join(', ')}`}
    </p>
  )
}
