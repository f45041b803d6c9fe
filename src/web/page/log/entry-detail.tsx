import { useMemo } from 'preact/hooks'
import { Link } from '../frame/link.tsx'
import { usePage } from '../frame/page-context.ts'
import { navigate } from '../frame/router.ts'
import { createViewHistory, pluralize, type SessionView } from '../libero.ts'
import { CodeBlock } from '../parts/code-block.tsx'
import { Failure } from '../parts/failure.tsx'
import { dollars, shortCount } from '../parts/numbers.ts'
import { ProblemLine } from '../parts/problem-line.tsx'
import { useAction } from '../parts/use-action.ts'
import { useAnswer } from '../parts/use-answer.ts'
import type { LogSource } from './log-model.ts'

interface EntryDetailProps {
  readonly source: LogSource
  readonly seq: number
  /** Absent for a file. */
  readonly session?: string
}

/** An entry as the log has it, and the state of the session after it. */
export function EntryDetail({ source, seq, session }: EntryDetailProps) {
  const { client, base } = usePage()
  const { isBusy, problem, run } = useAction()
  const entry = useAnswer(async () => (await source.read(seq - 1, seq))[0], [seq, source])
  const history = useMemo(() => createViewHistory((after, to) => readAll(source, after, to)), [source])
  const view = useAnswer(() => history.at(seq), [seq, history])
  const fork = (): Promise<boolean> =>
    run(async () => {
      const copy = await client.sessions.fork(session!, { at: seq })
      navigate(base, { screen: 'session', id: copy.id, part: 'chat' })
    })
  return (
    <section class="entry-detail" aria-label={`Entry ${seq}`}>
      <header>
        <h2>{`Entry ${seq}`}</h2>
        {entry.value && <time class="facts">{new Date(entry.value.at).toLocaleString()}</time>}
        {session !== undefined && (
          <>
            <Link to={{ screen: 'session', id: session, part: 'chat', seq }}>In the conversation</Link>
            <button type="button" disabled={isBusy} onClick={fork}>
              Fork from here
            </button>
          </>
        )}
      </header>
      <ProblemLine problem={problem} />
      {view.value && <ViewFacts view={view.value} />}
      {entry.error !== undefined && <Failure error={entry.error} todo="Choose another entry." />}
      {entry.value && <CodeBlock code={JSON.stringify(entry.value, null, 2)} language="json" />}
    </section>
  )
}

async function readAll(source: LogSource, after: number, to: number) {
  const entries = [...(await source.read(after, to))]
  while (entries.length > 0 && entries.at(-1)!.seq < to) {
    const more = await source.read(entries.at(-1)!.seq, to)
    if (more.length === 0) break
    entries.push(...more)
  }
  return entries
}

/** The session as it was then, in one line. */
function ViewFacts({ view: { status, rows, usage, queue, todos, fold } }: { readonly view: SessionView }) {
  const done = todos.filter((todo) => todo.status === 'completed').length
  const facts = [
    status,
    pluralize(rows.length, 'row'),
    fold.open.size > 0 && `${pluralize(fold.open.size, 'call')} open`,
    queue.length > 0 && `${queue.length} queued`,
    todos.length > 0 && `todo ${done} of ${todos.length}`,
    `${shortCount(usage.input + usage.output + usage.cacheRead + usage.cacheCreation)} tokens`,
    usage.cost !== undefined && dollars(usage.cost),
  ]
  return <p class="facts">{`Then: ${facts.filter(Boolean).join(' · ')}`}</p>
}
